"""Control events: when they are rejected, how they are validated, and how memory edits are applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from engine.errors import EventRefused, InvalidInput
from engine.journal.projection import RunProjection
from engine.records import Change, Event, RunId, Shape
from engine.records.breakpoint import dump_breakpoints
from engine.records.document import apply_patch, escape_token, split_pointer
from engine.records.payloads import StepMode
from engine.records.shape import is_within
from engine.runtime.debugger.breakpoint_validation import validate_breakpoints
from engine.runtime.debugger.regions import innermost_common, region_of
from engine.statechart.memory import MemoryMisuse
from engine.statechart.pattern import validation_problems
from engine.statechart.run_state import RunState

ALARM = Event(name='alarm')
"""Posted to the mailbox when the passing of time may have made something due; never journaled."""
CHANGES: TypeAdapter[tuple[Change, ...]] = TypeAdapter(tuple[Change, ...])


def resolve_target(event: Event, projection: RunProjection, shape: Shape) -> Event:
    """Return a pause, resume or step as journaled: addressed to the region of the given state.

    Raises:
        InvalidInput: unknown step mode.
    """
    if event.name not in ('pause', 'resume', 'step'):
        return event
    at = region_of(shape, event.at)
    if event.name != 'step':
        reason = event.data.get('reason')
        return replace(event, at=at, data={'reason': str(reason)} if reason else {})
    how = event.data.get('how', 'in')
    if how not in get_args(StepMode):
        raise InvalidInput({'how': f'must be in, over or out, not {how!r}'})
    leaves = [leaf for leaf in projection.active if is_within(leaf, at)]
    # Stepping out of a single-state region means leaving the region itself, once its siblings have ended.
    until = {'until': max(innermost_common(leaves), at, key=len)} if how == 'out' else {}
    return replace(event, at=at, data={'how': how, **until})


def rejection_reason(event: Event, projection: RunProjection) -> str:
    """Return why a control event cannot be accepted now, or ''."""
    at, overrides = event.at, projection.pauses.overrides
    if (
        event.name == 'pause'
        and overrides.get(at)
        and not any(is_within(path, at) for path in overrides if not overrides[path])
    ):
        return 'it is already paused'
    if event.name == 'resume':
        leaves = [leaf for leaf in projection.active if is_within(leaf, at)]
        if not any(map(projection.pauses.holds, leaves)):
            return 'it is not paused'
    if event.name == 'step' and projection.meter.exhausted:
        return f'{projection.meter.reason}: extend it'
    if event.name == 'step' and event.data['how'] == 'out' and not event.data['until']:
        return f'there is nothing around {", ".join(projection.active)} to step out of'
    return ''


def validate_control(
    event: Event, run: RunId, projection: RunProjection, shape: Shape, state: RunState
) -> Event:
    """Return a control event as journaled.

    Raises:
        EventRefused: it cannot be accepted now.
        InvalidInput: its data is invalid.
    """
    event = resolve_target(event, projection, shape)
    problem = rejection_reason(event, projection)
    if problem:
        raise EventRefused(run, event.name, problem)
    if event.name == 'breakpoints':
        breakpoints = validate_breakpoints(
            event.data.get('breakpoints'), shape, type(state.pattern).Memory.model_fields
        )
        return replace(event, data={'breakpoints': dump_breakpoints(breakpoints)})
    if event.name == 'extend':
        budget = projection.meter.raise_limits(event.data, projection.usage)
        return replace(event, data={**event.data, 'budget': asdict(budget)})
    return event


def apply_edit(state: RunState, event: Event) -> tuple[RunState, tuple[Change, ...]]:
    """Return the run's data after a person's edit, and the changes to journal.

    Raises:
        InvalidInput: a change does not fit the document, or the result does not fit the memory.
    """
    try:
        changes = CHANGES.validate_python(event.data.get('changes', ()))
    except ValidationError as error:
        raise InvalidInput(validation_problems(error)) from None
    document: dict[str, Any] = state.dump()
    for change in changes:
        if split_pointer(change.path)[:1] not in (['memory'], ['agents']):
            raise InvalidInput({change.path or 'path': 'a path must begin with /memory or /agents'})
        try:
            document = apply_patch(document, [change])
        except (KeyError, IndexError, ValueError, TypeError):
            raise InvalidInput({change.path or 'path': 'there is nothing at this path'}) from None
    for part in ('memory', 'agents'):
        if not isinstance(document.get(part), Mapping):
            raise InvalidInput({part: 'must remain a mapping'})
    removed = set(state.agents) - set(document['agents'])
    if removed:
        raise InvalidInput({f'/agents/{min(removed)}': 'an agent cannot be removed'})
    try:
        loaded = RunState.load(state.pattern, document)
    except ValidationError as error:
        raise InvalidInput(validation_problems(error)) from None
    except MemoryMisuse as error:
        raise InvalidInput({'changes': str(error)}) from None
    loaded.notices = state.notices
    return loaded, (*changes, *_normalization_changes(document, loaded.dump()))


def _normalization_changes(edited: Mapping[str, Any], loaded: Mapping[str, Any]) -> Iterator[Change]:
    """Yield the changes that validation made: '3' became 3, a missing field got its default."""
    for part in ('memory', 'agents'):
        for name, value in loaded[part].items():
            if name not in edited[part] or edited[part][name] != value:
                yield Change(op='add', path=f'/{part}/{escape_token(name)}', value=value)
