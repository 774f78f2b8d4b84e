"""Compared: two ways to do the same work beside each other, as a typed record."""

from __future__ import annotations

from typing import Any

from engine.activity import Activity
from engine.course import Scope
from engine.dynamic.artifacts import as_text
from engine.frozen import Record
from engine.state import AgentState


class Side(Record):
    """How one of them did."""

    way: str
    """`dynamic` or `fixed`."""
    done: bool
    problem: str = ''
    """Why it failed, if it did."""
    output: str = ''
    artifacts: tuple[str, ...] = ()
    steps: int = 0
    """Replies, and batches of tools."""
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None
    """Dollars; None where a part of it is not known. A model that only plays costs nothing."""


async def weigh(answer: str, scope: Scope, activity: Activity) -> dict[str, Any]:
    """An activity: the sides of a run whose agents are at `both.<way>.working`."""
    found = []
    for path, agent in sorted(scope.state.agents.items()):
        first, _, rest = path.partition('.')
        if first == 'both' and rest.endswith('.working'):
            found.append(_side(rest.partition('.')[0], agent, answer))
    return {'sides': [side.model_dump() for side in found]}


def _side(way: str, agent: AgentState, answer: str) -> Side:
    made = agent.artifacts.get(answer)
    return Side(
        way=way,
        done=not agent.problem and made is not None,
        problem=agent.problem,
        output=as_text(made.value) if made else '',
        artifacts=tuple(agent.artifacts),
        steps=sum(message.role in ('assistant', 'tool') for message in agent.messages),
        tool_calls=sum(len(message.calls) for message in agent.messages),
        input_tokens=agent.input_tokens,
        output_tokens=agent.output_tokens,
        seconds=agent.seconds,
        cost=None if agent.unpriced else round(agent.cost, 6),
    )
