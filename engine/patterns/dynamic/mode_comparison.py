"""Compares two modes of doing the same work, as typed records."""

from __future__ import annotations

from typing import Any

from engine.records.frozen import FrozenModel
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.run_state import AgentState
from engine.tools.artifacts import as_text


class ModeResult(FrozenModel):
    """How one mode did: its output, and what it used."""

    way: str
    """`dynamic` or `fixed`."""
    done: bool
    problem: str = ''
    """Why it failed, if it did."""
    output: str = ''
    artifacts: tuple[str, ...] = ()
    steps: int = 0
    """Replies and tool batches."""
    tool_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0
    cost: float | None = None
    """Dollars; None if partly unknown. A scripted model costs nothing."""


async def compare_modes(answer: str, scope: CallbackContext, activity: Activity) -> dict[str, Any]:
    """Compare the sides of a run whose agents are at `both.<way>.working` (an activity)."""
    results = []
    for path, agent in sorted(scope.state.agents.items()):
        first, _, rest = path.partition('.')
        if first == 'both' and rest.endswith('.working'):
            results.append(_measure_mode(rest.partition('.')[0], agent, answer))
    return {'sides': [side.model_dump() for side in results]}


def _measure_mode(mode: str, agent: AgentState, answer: str) -> ModeResult:
    artifact = agent.artifacts.get(answer)
    return ModeResult(
        way=mode,
        done=not agent.problem and artifact is not None,
        problem=agent.problem,
        output=as_text(artifact.value) if artifact else '',
        artifacts=tuple(agent.artifacts),
        steps=sum(message.role in ('assistant', 'tool') for message in agent.messages),
        tool_calls=sum(len(message.calls) for message in agent.messages),
        input_tokens=agent.input_tokens,
        output_tokens=agent.output_tokens,
        seconds=agent.seconds,
        cost=None if agent.unpriced else round(agent.cost, 6),
    )
