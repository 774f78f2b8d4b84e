"""The engine's own events: when they are refused, and what an edit of memory does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter, ValidationError

from engine.errors import InvalidInput
from engine.memory import apply
from engine.pattern import problems
from engine.records import Change, Event
from engine.state import RunState
from engine.view import Ledger

CHANGES: TypeAdapter[tuple[Change, ...]] = TypeAdapter(tuple[Change, ...])


def refusal(event: Event, ledger: Ledger) -> str:
    """Why a control event cannot be taken now, or ''."""
    if event.name == 'pause' and ledger.paused:
        return 'it is paused already'
    if event.name == 'resume' and not ledger.paused:
        return 'it is not paused'
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
        try:
            apply(document, [change])
        except (KeyError, IndexError, ValueError, TypeError):
            raise InvalidInput({change.path or 'path': 'there is nothing at this place'}) from None
    if not isinstance(document.get('memory'), Mapping):
        raise InvalidInput({'memory': 'it must stay a mapping'})
    try:
        return RunState.load(state.pattern, document), changes
    except ValidationError as error:
        raise InvalidInput(problems(error)) from None
