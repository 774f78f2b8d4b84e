"""Phases: the rigid sequence in place of a dynamic agent. Each calls known tools, and nobody decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_core import to_jsonable_python

from engine import converse
from engine.activity import Activity
from engine.agent import (
    AgentSpec,
    give_up,
    keep_denial,
    keep_permission,
    message_of,
    names_calls,
    needs_approval,
)
from engine.course import Scope
from engine.dynamic import criteria
from engine.dynamic.artifacts import whole
from engine.edge import ENDS, edge
from engine.message import Message, Text, ToolCall
from engine.records import Event
from engine.state import AgentState
from engine.taking import keep_results

Calls = Sequence[tuple[str, Mapping[str, Any]]]
"""Tools with their arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """One phase."""

    name: str
    calls: Callable[[Any, Mapping[str, Any]], Calls]
    """Which tools to call, from memory and the artifacts so far; none, where there is nothing to do."""
    optional: bool = False
    """Whether the sequence goes on where a tool says no."""


def sequence(
    name: str, spec: AgentSpec, phases: Sequence[Phase], then: str | Callable[[Scope, Event], None]
) -> dict[str, Any]:
    """Make a state that does one phase after another, with an agent's tools, artifacts and conversation.

    Each phase says which tools to call, as an agent's reply would; they wait for a person's word where an
    agent's would.

    Args:
        name: the state's name.
        spec: whose tools, folder and criteria; the criteria are looked at and do not stop it.
        phases: in their order.
        then: the action after the last of them.

    It ends in `done`, or in `failed` where a tool of a phase said no.
    """
    noted = partial(criteria.note, spec)
    edges: list[dict[str, Any]] = []
    for number, phase in enumerate(phases, 1):
        last = number == len(phases)
        after, end = ('done', [noted, then]) if last else (phases[number].name, [noted])
        here = _after(phase.name, number)
        edges += [
            edge('done', phase.name, after, has_nothing_to_do, after=[keep_calls, *end]),
            edge('done', phase.name, 'approving', needs_approval, after=keep_calls),
            edge('done', phase.name, 'using_tools', after=keep_calls),
            edge('deny', 'approving', after, here, after=[keep_denial, *end]),
        ]
        if not phase.optional:
            lost = [keep_results, noted, _say_what_broke]
            edges.append(edge('done', 'using_tools', 'failed', [here, broke], after=lost))
        edges.append(edge('done', 'using_tools', after, here, after=[keep_results, *end]))
    ways = [phase.name for phase in phases]
    return {
        'name': name,
        'agent': spec,
        'initial': phases[0].name,
        'on_enter': partial(begin_phases, spec),
        'children': [
            *({'name': phase.name, 'invoke': partial(propose, spec, phase)} for phase in phases),
            {'name': 'using_tools', 'invoke': partial(converse.use_tools, spec)},
            {'name': 'approving', 'waits': 'approval'},
            *ENDS,
        ],
        'transitions': [
            *edges,
            edge('approve', 'approving', 'using_tools', names_calls, after=keep_permission),
            edge('failed', [*ways, 'using_tools'], 'failed', after=give_up),
        ],
    }


async def propose(spec: AgentSpec, phase: Phase, scope: Scope, activity: Activity) -> dict[str, Any]:
    """Say which tools a phase calls.

    Returns:
        `message`, as if an agent had asked for them, and `approval`, those that need a person's word.
    """
    agent = scope.state.agents[scope.path]
    shelf = await whole(agent.artifacts, agent.artifacts, activity.workspace(spec.folder or scope.path))
    asked = phase.calls(scope.state.detached(), shelf.values)
    calls = tuple(
        ToolCall(id=f'call-{activity.since}-{number}', name=tool, arguments=json.dumps(dict(arguments)))
        for number, (tool, arguments) in enumerate(asked, 1)
    )
    nothing = Text(text=f'{phase.name.capitalize()}: there is nothing to do.')
    message = Message(role='assistant', parts=calls or (nothing,))
    waiting = await converse.awaiting(spec, scope, activity, message)
    return {'message': to_jsonable_python(message), 'approval': waiting}


def begin_phases(spec: AgentSpec, scope: Scope, event: Event) -> None:
    """A conversation that begins with what the user asked for."""
    request = str(getattr(scope.state.memory, 'request', ''))
    scope.state.agents[scope.path] = AgentState(role=spec.role, messages=[Message.of('user', request)])


def keep_calls(scope: Scope, event: Event) -> None:
    """Add a phase's calls to the conversation; it took no turn of a model's."""
    scope.state.agents[scope.path].messages.append(message_of(event.data['message']))


def has_nothing_to_do(scope: Scope, event: Event) -> bool:
    """The phase calls no tool."""
    return not message_of(event.data['message']).calls


def broke(scope: Scope, event: Event) -> bool:
    """One of the tools said no."""
    return bool(_wrong(event))


def _after(name: str, number: int) -> Callable[[Scope, Event], bool]:
    """A guard: the phase of this number is the latest. Each phase has said one thing."""

    def after(scope: Scope, event: Event) -> bool:
        messages = scope.state.agents[scope.path].messages
        return sum(message.role == 'assistant' for message in messages) == number

    after.__name__ = f'after_{name}'
    return after


def _say_what_broke(scope: Scope, event: Event) -> None:
    scope.state.agents[scope.path].problem = _wrong(event)


def _wrong(event: Event) -> str:
    results = event.data['results']
    return next((f'{item["name"]}: {item["text"]}' for item in results if not item['ok']), '')
