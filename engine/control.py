"""The engine's own events: when they are refused, and what an edit of memory does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from engine.errors import InvalidInput
from engine.memory import MemoryMisuse, escape
from engine.patch import apply
from engine.pattern import problems
from engine.records import Change, Event
from engine.state import RunState
from engine.view import Ledger

ALARM = Event(name='alarm')
"""Put into the mailbox when time may have made something due; never journaled."""
CHANGES: TypeAdapter[tuple[Change, ...]] = TypeAdapter(tuple[Change, ...])


def refusal(event: Event, ledger: Ledger) -> str:
    """Why a control event cannot be taken now, or ''."""
    if event.name == 'pause' and ledger.paused:
        return 'it is paused already'
    if event.name == 'resume' and not ledger.paused:
        return 'it is not paused'
    if event.name == 'step' and ledger.meter.exhausted:
        return f'{ledger.meter.reason}: extend it'
    return ''


def edited(state: RunState, event: Event) -> tuple[RunState, tuple[Change, ...]]:
    """The run's data with the changes a person asked for.

    Raises:
        InvalidInput: a change does not fit the document, or what it makes does not fit the memory.
    """
    try:
        changes = CHANGES.validate_python(event.data.get('changes', ()))
    except ValidationError as error:
        raise InvalidInput(problems(error)) from None
    document: dict[str, Any] = state.dump()
    for change in changes:
        if change.path.split('/')[1:2] not in (['memory'], ['agents']):
            raise InvalidInput({change.path or 'path': 'a path begins with /memory or /agents'})
        try:
            apply(document, [change])
        except (KeyError, IndexError, ValueError, TypeError):
            raise InvalidInput({change.path or 'path': 'there is nothing at this place'}) from None
    for part in ('memory', 'agents'):
        if not isinstance(document.get(part), Mapping):
            raise InvalidInput({part: 'it must stay a mapping'})
    gone = set(state.agents) - set(document['agents'])
    if gone:
        raise InvalidInput({f'/agents/{min(gone)}': 'an agent cannot be taken out'})
    try:
        loaded = RunState.load(state.pattern, document)
    except ValidationError as error:
        raise InvalidInput(problems(error)) from None
    except MemoryMisuse as error:
        raise InvalidInput({'changes': str(error)}) from None
    loaded.notices = state.notices
    return loaded, (*changes, *_settled(document, loaded.dump()))


def _settled(given: Mapping[str, Any], loaded: Mapping[str, Any]) -> Iterator[Change]:
    """What reading the edited data made of it: '3' became 3, a field left out got its default."""
    for part in ('memory', 'agents'):
        for name, value in loaded[part].items():
            if name not in given[part] or given[part][name] != value:
                yield Change(op='add', path=f'/{part}/{escape(name)}', value=value)
