"""The engine's own events: when they are refused, and what an edit of memory does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from engine.errors import EventRefused, InvalidInput
from engine.memory import MemoryMisuse
from engine.patch import patched
from engine.path import within
from engine.pattern import problems
from engine.pointer import escape, parts_of
from engine.records import Change, Event, RunId, Shape
from engine.state import RunState
from engine.stepping.breakpoint import dumped
from engine.stepping.checking import checked
from engine.stepping.halts import How
from engine.stepping.regions import around, region_of
from engine.view import Ledger

ALARM = Event(name='alarm')
"""Put into the mailbox when time may have made something due; never journaled."""
CHANGES: TypeAdapter[tuple[Change, ...]] = TypeAdapter(tuple[Change, ...])


def addressed(event: Event, ledger: Ledger, shape: Shape) -> Event:
    """A pause, resume or step as it is journaled: addressed to the region of the state that somebody named.

    Raises:
        InvalidInput: it is no way to step.
    """
    if event.name not in ('pause', 'resume', 'step'):
        return event
    at = region_of(shape, event.at)
    if event.name != 'step':
        reason = event.data.get('reason')
        return replace(event, at=at, data={'reason': str(reason)} if reason else {})
    how = event.data.get('how', 'in')
    if how not in get_args(How):
        raise InvalidInput({'how': f'must be in, over or out, not {how!r}'})
    leaves = [leaf for leaf in ledger.active if within(leaf, at)]
    # A region that is one state has nothing around it but the others: it ends when they have.
    until = {'until': max(around(leaves), at, key=len)} if how == 'out' else {}
    return replace(event, at=at, data={'how': how, **until})


def refusal(event: Event, ledger: Ledger) -> str:
    """Why a control event cannot be taken now, or ''."""
    at, says = event.at, ledger.halts.says
    if (
        event.name == 'pause'
        and says.get(at)
        and not any(within(path, at) for path in says if not says[path])
    ):
        return 'it is paused already'
    if event.name == 'resume':
        leaves = [leaf for leaf in ledger.active if within(leaf, at)]
        if not any(map(ledger.halts.holds, leaves)):
            return 'it is not paused'
    if event.name == 'step' and ledger.meter.exhausted:
        return f'{ledger.meter.reason}: extend it'
    if event.name == 'step' and event.data['how'] == 'out' and not event.data['until']:
        return f'there is nothing around {", ".join(ledger.active)} to step out of'
    return ''


def allowed(event: Event, run: RunId, ledger: Ledger, shape: Shape, state: RunState) -> Event:
    """A control event as it is journaled.

    Raises:
        EventRefused: it cannot be taken now.
        InvalidInput: its data does not fit.
    """
    event = addressed(event, ledger, shape)
    problem = refusal(event, ledger)
    if problem:
        raise EventRefused(run, event.name, problem)
    if event.name == 'breakpoints':
        found = checked(event.data.get('breakpoints'), shape, type(state.pattern).Memory.model_fields)
        return replace(event, data={'breakpoints': dumped(found)})
    if event.name == 'extend':
        budget = ledger.meter.raised(event.data, ledger.usage)
        return replace(event, data={**event.data, 'budget': asdict(budget)})
    return event


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
        if parts_of(change.path)[:1] not in (['memory'], ['agents']):
            raise InvalidInput({change.path or 'path': 'a path begins with /memory or /agents'})
        try:
            document = patched(document, [change])
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
