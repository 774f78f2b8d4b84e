"""The audit trail of a stage's agent: history entries for calls, tools, approvals and failures."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from engine.patterns.pipeline.task_state import AgentMessage, TaskState
from engine.records import Event, Transition
from engine.records.jsonable import shorten
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.shape_builder import listify

Entry = tuple[str, str, str, str]
"""Sender, recipient, kind and content."""


def with_audit_trail(state: dict[str, Any]) -> dict[str, Any]:
    """Make each transition of an agent's state first record what the agent did."""
    edges = [{**edge, 'after': [note_action, *listify(edge.get('after'))]} for edge in state['transitions']]
    return {**state, 'transitions': edges}


def audit_trail(transitions: Iterable[Transition]) -> list[AgentMessage]:
    """Return a pipeline's messages, each with its time and step, from the run's journal.

    Args:
        transitions: all steps of the run, in order.
    """
    messages: list[AgentMessage] = []
    for step in transitions:
        if step.event.name == 'start':
            messages += map(
                AgentMessage.model_validate, step.event.data.get('memory', {}).get('messages', ())
            )
        for change in step.changes:
            if change.path == '/memory/messages/-':
                message = AgentMessage.model_validate(change.value)
                messages.append(message.model_copy(update={'time': step.time, 'seq': step.seq}))
    return messages


def note_action(scope: CallbackContext, event: Event) -> None:
    """Record what an agent, its model, its tools or a person did."""
    _note(scope, _entries(scope, event))


def note_failure(scope: CallbackContext, event: Event) -> None:
    """Record that a stage's callable failed."""
    name = scope.path.rpartition('.')[2]
    _note(scope, [(name, 'orchestrator', 'error', _problem(event))])


def _note(scope: CallbackContext, entries: list[Entry]) -> None:
    memory = scope.state.memory
    assert isinstance(memory, TaskState)
    for entry in entries:
        memory.note(*entry)


def _entries(scope: CallbackContext, event: Event) -> list[Entry]:
    role = scope.state.agents[scope.path].role
    if event.name == 'failed':
        return [(role, 'orchestrator', 'error', _problem(event))]
    if event.name in ('approve', 'deny'):
        text = (
            'allowed'
            if event.name == 'approve'
            else f'denied: {event.data.get("reason") or "no reason given"}'
        )
        return [('person', role, 'approval', text)]
    if event.at.endswith('.using_tools'):
        return list(_tool_calls(scope, event, role))
    return [(role, str(event.data.get('model', 'model')), 'model_call', _reply(event))]


def _reply(event: Event) -> str:
    parts = event.data['message']['parts']
    called = [str(part['name']) for part in parts if part['kind'] == 'call']
    if called:
        text = f'calls {", ".join(called)}'
    else:
        text = f'an invalid answer: {event.data["unfit"]}' if event.data.get('unfit') else 'an answer'
    return f'{text} (attempt {event.attempt})' if event.attempt > 1 else text


def _tool_calls(scope: CallbackContext, event: Event, role: str) -> Iterator[Entry]:
    messages = scope.state.agents[scope.path].messages
    calls = {call.id: call for message in messages for call in message.calls}
    for result in event.data['results']:
        call = calls.get(result['id'])
        ended = 'ok' if result.get('ok', True) else 'failed'
        arguments = shorten(call.arguments) if call else ''
        yield role, str(result['name']), 'tool_call', f'{arguments}: {ended}: {shorten(result["text"])}'


def _problem(event: Event) -> str:
    return str(event.data.get('error') or event.data.get('unfit') or event.name)
