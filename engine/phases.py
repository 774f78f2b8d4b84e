"""Phases: the rigid sequence in place of a dynamic agent. Each calls known tools, and nobody decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_core import to_jsonable_python

from engine import converse, criteria
from engine.activity import Activity
from engine.agent import AgentSpec, give_up, message_of
from engine.artifacts import whole
from engine.course import Scope
from engine.message import Message, ToolCall
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

    Args:
        name: the state's name.
        spec: whose tools, folder and criteria; the criteria are looked at and do not stop it.
        phases: in their order.
        then: the action after the last of them.

    It ends in `done`, or in `failed` where a tool of a phase said no.
    """
    noted = partial(criteria.note, spec)
    edges: list[dict[str, Any]] = []
    for phase, after in zip(phases, [*(phase.name for phase in phases[1:]), 'done'], strict=True):
        kept: list[Any] = [keep_phase, noted]
        lost = {'trigger': 'done', 'source': phase.name, 'dest': 'failed', 'conditions': broke}
        edges += [] if phase.optional else [{**lost, 'after': [*kept, give_up]}]
        kept += [then] if after == 'done' else []
        edges.append({'trigger': 'done', 'source': phase.name, 'dest': after, 'after': kept})
    ways = [phase.name for phase in phases]
    return {
        'name': name,
        'agent': spec,
        'initial': phases[0].name,
        'on_enter': partial(begin_phases, spec),
        'children': [
            *({'name': phase.name, 'invoke': partial(run_phase, spec, phase)} for phase in phases),
            {'name': 'done', 'final': True},
            {'name': 'failed', 'final': True, 'outcome': 'failed'},
        ],
        'transitions': [
            *edges,
            {'trigger': 'failed', 'source': ways, 'dest': 'failed', 'after': give_up},
        ],
    }


async def run_phase(spec: AgentSpec, phase: Phase, scope: Scope, activity: Activity) -> dict[str, Any]:
    """Call the tools of a phase.

    Returns:
        `message` (the calls, as if an agent had asked for them), what `use_tools` gives, and `error` where
        one of the tools said no.
    """
    agent = scope.state.agents[scope.path]
    workspace = activity.workspace(spec.folder or scope.path)
    shelf = await whole(agent.artifacts, agent.artifacts, workspace)
    asked = phase.calls(scope.state.detached(), shelf.values)
    calls = tuple(
        ToolCall(id=f'call-{activity.since}-{number}', name=tool, arguments=json.dumps(dict(arguments)))
        for number, (tool, arguments) in enumerate(asked, 1)
    )
    message = to_jsonable_python(Message(role='assistant', parts=calls))
    if not calls:
        return {'message': message, 'results': [], 'store': dict(agent.store)}
    done = await converse.run_batch(spec, scope, activity, calls)
    wrong = [f'{result["name"]}: {result["text"]}' for result in done['results'] if not result['ok']]
    return {'message': message, **done} | ({'error': f'{phase.name}: {wrong[0]}'} if wrong else {})


def begin_phases(spec: AgentSpec, scope: Scope, event: Event) -> None:
    """A conversation that begins with what the user asked for."""
    request = str(getattr(scope.state.memory, 'request', ''))
    scope.state.agents[scope.path] = AgentState(role=spec.role, messages=[Message.of('user', request)])


def keep_phase(scope: Scope, event: Event) -> None:
    """Add a phase's calls and their results to the conversation; it took no turn of a model's."""
    if event.data['results']:
        scope.state.agents[scope.path].messages.append(message_of(event.data['message']))
        keep_results(scope, event)


def broke(scope: Scope, event: Event) -> bool:
    """One of the phase's tools said no."""
    return bool(event.data.get('error'))
