"""Phases: a fixed sequence of tool calls, instead of a model that decides."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_core import to_jsonable_python

from engine.agents import activities, completion
from engine.agents.actions import record_results
from engine.agents.chart import (
    apply_permission,
    give_up,
    names_calls,
    needs_approval,
    record_denial,
    store_answer,
    store_question,
)
from engine.agents.criteria import Evidence
from engine.agents.spec import AgentSpec
from engine.errors import EngineError
from engine.records import ANSWER, Event
from engine.records.message import Message, Text, ToolCall, message_of
from engine.runtime.activity import Activity
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import FINAL_STATES, edge
from engine.statechart.run_state import AgentState
from engine.tools.artifacts import load_artifacts

Calls = Sequence[tuple[str, Mapping[str, Any]]]
"""Tool names with their arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Phase:
    """A phase of the fixed sequence: the tools that it calls."""

    name: str
    calls: Callable[[Any, Mapping[str, Any]], Calls]
    """The tools to call, from memory and the artifacts so far; empty if there is nothing to do."""
    optional: bool = False
    """Whether the sequence continues after a tool fails."""


def phase_sequence(
    name: str, spec: AgentSpec, phases: Sequence[Phase], then: str | Callable[[CallbackContext, Event], None]
) -> dict[str, Any]:
    """Make a state that runs phases in order, with an agent's tools, artifacts and conversation.

    Each phase proposes tool calls as an agent's reply would; they need a person's approval where an
    agent's would.

    Args:
        name: the state's name.
        spec: the tools, folder and criteria; the criteria must hold before the last phase.
        phases: the phases, in order.
        then: the action after the last phase.

    It ends in `done`, or in `failed` if a tool of a phase that is not optional fails.
    """
    record_criteria = partial(completion.record_criteria, spec)
    edges: list[dict[str, Any]] = []
    for number, phase in enumerate(phases, 1):
        last = number == len(phases)
        after, end = ('done', [record_criteria, then]) if last else (phases[number].name, [record_criteria])
        is_here = _after(phase.name, number)
        edges += [
            edge('done', phase.name, after, has_nothing_to_do, after=[store_calls, *end]),
            edge('done', phase.name, 'approving', needs_approval, after=store_calls),
            edge('done', phase.name, 'using_tools', after=store_calls),
            edge('deny', 'approving', after, is_here, after=[record_denial, *end]),
        ]
        if not phase.optional:
            on_failure = [record_results, record_criteria, _record_failed_call]
            edges.append(edge('done', 'using_tools', 'failed', [is_here, broke], after=on_failure))
        edges.append(edge('done', 'using_tools', after, is_here, after=[record_results, *end]))
    phase_names = [phase.name for phase in phases]
    return {
        'name': name,
        'agent': spec,
        'initial': phases[0].name,
        'on_enter': partial(begin_phases, spec),
        'children': [
            *(
                {'name': phase.name, 'invoke': partial(propose_calls, spec, phase, phases[-1])}
                for phase in phases
            ),
            {'name': 'using_tools', 'invoke': partial(activities.call_tools, spec)},
            {'name': 'approving', 'waits': 'approval'},
            {'name': 'asking', 'waits': 'answer'},
            *FINAL_STATES,
        ],
        'transitions': [
            *edges,
            edge('asked', 'using_tools', 'asking', after=store_question),
            edge(ANSWER, 'asking', 'using_tools', after=store_answer),
            edge('approve', 'approving', 'using_tools', names_calls, after=apply_permission),
            edge('failed', [*phase_names, 'using_tools'], 'failed', after=give_up),
        ],
    }


async def propose_calls(
    spec: AgentSpec, phase: Phase, last: Phase, scope: CallbackContext, activity: Activity
) -> dict[str, Any]:
    """Propose a phase's tool calls. The last one publishes or promotes, so the criteria must hold before it.

    Returns:
        `message`, as if an agent had made the calls, and `approval`, the calls that need a person's approval.

    Raises:
        EngineError: a criterion does not hold before the last phase.
    """
    agent = scope.state.agents[scope.path]
    artifact_store = await load_artifacts(
        agent.artifacts, agent.artifacts, activity.workspace(spec.folder or scope.path)
    )
    if phase is last:
        _check_criteria(spec, artifact_store.values)
    proposed = phase.calls(scope.state.copy_memory(), artifact_store.values)
    calls = tuple(
        ToolCall(id=f'call-{activity.since}-{number}', name=tool, arguments=json.dumps(dict(arguments)))
        for number, (tool, arguments) in enumerate(proposed, 1)
    )
    nothing = Text(text=f'{phase.name.capitalize()}: nothing to do.')
    message = Message(role='assistant', parts=calls or (nothing,))
    waiting = await activities.find_calls_to_approve(spec, scope, activity, message)
    return {'message': to_jsonable_python(message), 'approval': waiting}


def _check_criteria(spec: AgentSpec, artifacts: Mapping[str, Any]) -> None:
    """Raise `EngineError` for unmet criteria."""
    evidence = Evidence(artifacts=artifacts, text='')
    missing = [check.missing for check in spec.until.all if not check.holds(evidence)] if spec.until else []
    if missing:
        raise EngineError(f'the phases did not produce what was asked for; missing: {"; ".join(missing)}')


def begin_phases(spec: AgentSpec, scope: CallbackContext, event: Event) -> None:
    """Start the conversation with the user's request."""
    request = str(getattr(scope.state.memory, 'request', ''))
    scope.state.agents[scope.path] = AgentState(role=spec.role, messages=[Message.of('user', request)])


def store_calls(scope: CallbackContext, event: Event) -> None:
    """Add a phase's calls to the conversation; they do not count as a model's turn."""
    scope.state.agents[scope.path].messages.append(message_of(event.data['message']))


def has_nothing_to_do(scope: CallbackContext, event: Event) -> bool:
    """The phase calls no tool."""
    return not message_of(event.data['message']).calls


def broke(scope: CallbackContext, event: Event) -> bool:
    """One of the tools failed."""
    return bool(_describe_failed_call(event))


def _after(name: str, number: int) -> Callable[[CallbackContext, Event], bool]:
    """Return a guard: phase `number` is the latest, since each phase adds one assistant message."""

    def after(scope: CallbackContext, event: Event) -> bool:
        messages = scope.state.agents[scope.path].messages
        return sum(message.role == 'assistant' for message in messages) == number

    after.__name__ = f'after_{name}'
    return after


def _record_failed_call(scope: CallbackContext, event: Event) -> None:
    scope.state.agents[scope.path].problem = _describe_failed_call(event)


def _describe_failed_call(event: Event) -> str:
    results = event.data['results']
    return next((f'{item["name"]}: {item["text"]}' for item in results if not item['ok']), '')
