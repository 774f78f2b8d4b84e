"""A step in one sentence: what moved, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engine import Transition
from engine.agents import GUARD_PHRASES
from engine.records import (
    ENGINE_EVENTS,
    RecoverData,
    ReplyData,
    ResultData,
    Shape,
    StateShape,
    calls_of,
    clip,
    payload,
    reply_of,
    results_of,
)
from ui.formatting.steps import (
    decisive_guards,
    duration,
    edge_name,
    edge_outcomes,
    edges_text,
    guard_phrase,
    negated,
    path_text,
    reason_text,
    role_title,
    short_json,
)
from ui.formatting.values import capitalize

MAX_RESULT = 60
"""Maximum characters of a tool's result in a sentence."""
MAX_CAUSE = 200
MIN_DURATION = 0.05
"""Minimum seconds between two steps to be named: less would read as 0.0 s."""


def step_sentence(step: Transition, shape: Shape) -> str:
    """Return a step in one sentence: what moved, and why.

    Such as `pending → researching (automatic)`, `reviewing → complete: the reviewer approved`. Terminal,
    pages and exports all use it.
    """
    moved, cause = edges_text(map(edge_name, step.edges)), clip(cause_text(step, shape), MAX_CAUSE)
    if not moved and step.event.name == 'retry':
        moved = path_text(step.event.at)
    if not moved:
        return capitalize(cause) or capitalize(step.event.name.replace('_', ' '))
    if cause:
        return f'{moved}: {cause.removeprefix(f"{path_text(step.event.at)} ")}'
    by_itself = {'always': ' (automatic)', 'done': ' (finished)'}
    return moved + by_itself.get(step.event.name, '')


def step_facts(step: Transition, since: float | None) -> str:
    """Return when a step happened, and which attempt it was; `since` is in seconds after the step before."""
    after = [f'{duration(since)} after the previous step'] if since and since >= MIN_DURATION else []
    return ' · '.join([*after, *([f'attempt {step.event.attempt}'] if step.event.attempt > 1 else [])])


def cause_text(step: Transition, shape: Shape) -> str:
    """Return why a step happened, in a few words; '' if there is nothing to add to what moved."""
    event, text = step.event, ''
    match event.name:
        case 'start':
            pass
        case 'done':
            text = _work_text(step, shape)
        case 'always':
            text = ', '.join(_decided(step, shape))
        case 'asked':
            question = event.data.get('question') or {}
            text = short_json(f'{question.get("server", "")} asks: {question.get("message", "")}')
        case 'recover':
            text = recovery_text(payload(RecoverData, event))
        case 'warn' | 'exhausted' | 'failed' | 'expired' | 'abort' | 'exhaust' | 'retry':
            text = failure_text(step)
        case _:
            who = '' if is_by_engine(step) else f'{event.who or "a person"} '
            text = f'{who}{action_text(step)}'
    return text


def _work_text(step: Transition, shape: Shape) -> str:
    """Return what an agent or another activity has done."""
    event = step.event
    if reply := reply_of(event):
        return _reply_text(step, reply, shape)
    if results := results_of(event):
        return _results_text(results)
    phrases = _decided(step, shape)
    state = shape.state(event.at)
    if not state or not state.role:
        return ', '.join(phrases)
    agent = _agent_text(state)
    if verdict := VERDICTS.get(next(iter(phrases), '')):
        return ', '.join([f'{agent} {verdict}', *phrases[1:]])
    return ', '.join(phrases) or f'{agent} finished'


def _agent_text(state: StateShape) -> str:
    name = 'agent' if state.roles else role_title(state.role).lower()
    return name if name[-1:].isdigit() else f'the {name}'


def _reply_text(step: Transition, reply: ReplyData, shape: Shape) -> str:
    if calls := list(dict.fromkeys(call['name'] for call in calls_of(step.event))):
        waits = any((state := shape.state(path)) and state.waits for path in step.entered)
        return f'{"asks to call" if waits else "called"} {", ".join(calls)}'
    if unfit := reply.get('unfit'):
        return f'{GUARD_PHRASES["is_unfit"]}: {unfit}'
    return verdict_text(reply.get('output')) or 'answered'


def _decided(step: Transition, shape: Shape) -> list[str]:
    return [
        phrase if guard.value else negated(phrase)
        for edge, guard in decisive_guards(edge_outcomes(step, shape))
        if (phrase := guard_phrase(guard.name, edge))
    ]


def _results_text(results: Sequence[ResultData]) -> str:
    failed = list(dict.fromkeys(result['name'] for result in results if not result['ok']))
    if len(results) == 1:
        verb = 'failed:' if failed else 'returned'
        return f'{results[0]["name"]} {verb} {short_json(results[0]["text"], MAX_RESULT)}'
    return ', '.join(
        [f'{len(results)} tool calls ended', *([f'{" and ".join(failed)} failed'] if failed else [])]
    )


APPROVED, SENT_BACK = 'approved', 'sent back'
VERDICTS = {APPROVED: APPROVED, f'not {APPROVED}': 'sent it back'}
"""A guard's phrase as what its agent has done."""


def verdict_text(output: Any) -> str:
    """Return the verdict in an agent's output; '' if it gives none."""
    if not isinstance(output, Mapping):
        return ''
    if isinstance(output.get('approved'), bool):
        return APPROVED if output['approved'] else SENT_BACK
    # In a debate it is only a position.
    return output['verdict'] if isinstance(output.get('verdict'), str) and 'agrees' not in output else ''


FAILURES = ('failed', 'expired', 'abort', 'exhaust', 'retry')
"""Events whose steps are marked as failures."""
HUMAN = {
    'cancel': 'cancelled the run',
    'edit': 'changed the memory',
    'approve': 'allowed the tools',
    'deny': 'did not allow the tools',
    'answer': 'answered the question of a tool',
    'extend': 'added to the budget',
}
"""What a person did, by event."""
PAUSES = {
    'pause': 'paused the run',
    'resume': 'resumed the run',
    'step': 'let the run take one step',
    'breakpoints': 'set the breakpoints',
}
STEPS = {'over': 'stepped over', 'out': 'stepped out'}
IN_REGION = {'pause': 'paused', 'resume': 'resumed', 'step': 'stepped'}
"""What was done to one region."""


def is_by_engine(step: Transition) -> bool:
    """Return whether the engine itself did it, such as a pause at a breakpoint."""
    event = step.event
    field = {'pause': 'reason', 'breakpoints': 'problems'}.get(event.name, '')
    return field in event.data or (event.name in ENGINE_EVENTS and event.name not in PAUSES | HUMAN)


def action_text(step: Transition) -> str:
    """Return what a person did, in their words if they gave any, or why the engine paused the run."""
    event = step.event
    if 'problems' in event.data and event.name == 'breakpoints':
        return '; '.join(f'breakpoint {number}: {why}' for number, why in event.data['problems'].items())
    if event.name == 'pause' and 'breakpoints' in event.data:
        reason = reason_text(str(event.data['reason']))
        return f'stopped at {reason}' if event.data['breakpoints'] else reason
    how = str(event.data.get('how', ''))
    if event.name in IN_REGION and (event.at or how in STEPS):
        where = f'{" in" if event.name == "step" else ""} {path_text(event.at)}' if event.at else ''
        return f'{STEPS.get(how, IN_REGION[event.name])}{where}'
    own = f'sent “{event.name.replace("_", " ")}”'
    words = reason_text(str(event.data.get('reason', ''))) or event.data.get('text')
    return (PAUSES | HUMAN).get(event.name, own) + (f': {words}' if words else '')


def recovery_text(data: RecoverData) -> str:
    """Return how a fork begins, or how a run continues after its process died."""
    if left := str(data.get('left', '')):
        return f'{reason_text(left)}: it continues on its own from here'
    run, _, at = str(data.get('forked', '')).rpartition('@')
    origin = f'{"retried" if data.get("retried") else "forked"} from run {run} at step {at}'
    if not run:
        origin = 'recovered: the work in flight was restarted'
    elif data.get('playing'):
        origin += ': later steps are replayed from the record'
    return f'{origin}; paused' if data.get('paused') else origin


def failure_text(step: Transition) -> str:
    """Return what failed, or what the budget warns of."""
    event, data = step.event, step.event.data
    if event.name == 'retry':
        return f'{data.get("error")}; attempt {event.attempt} in {data.get("delay", 0):.1f} s'
    reason = str(data.get('error') or data.get('reason') or f'{event.at} {event.name}')
    # The engine's own reasons begin with the state.
    return reason.replace(event.at, path_text(event.at), 1) if event.at and event.at in reason else reason
