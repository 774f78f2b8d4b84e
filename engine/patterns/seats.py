"""Seats: a person may answer in place of an agent, and hand the seat back."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, cast

from engine.records import Event
from engine.records.message import Message
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import edge

PERSON = 'person'
"""The substate of an agent in which a person answers for it."""

Action = Callable[[CallbackContext, Event], None]


class SeatMemory(Protocol):
    """Memory that tracks which seats people have taken."""

    seats: tuple[str, ...]


def build_seat(  # noqa: PLR0913  (its edges need them all)
    state: dict[str, Any],
    seat: str,
    *,
    trigger: str,
    waits: str,
    answer: Action,
    take_seat: Action,
    hand_back: Action,
    conditions: Any = None,
) -> dict[str, Any]:
    """Add a seat for a person to an agent's state.

    Args:
        state: the state, as `agent` returns it.
        seat: the seat's name.
        trigger: the event that carries a person's answer.
        waits: the input that the run waits for meanwhile.
        answer: the action for that event.
        take_seat: the action that gives the seat to a person.
        hand_back: the action that hands it back to the agent.
        conditions: the guards that an answer must satisfy.
    """
    is_for_seat, taken = partial(names_seat, seat), partial(is_taken, seat)
    edges = [
        edge('always', 'thinking', PERSON, taken),
        edge('take_seat', 'thinking', PERSON, is_for_seat, after=take_seat),
        edge('hand_back', PERSON, 'thinking', is_for_seat, after=hand_back),
        edge(trigger, PERSON, 'done', conditions, after=answer),
    ]
    return {
        **state,
        'children': [*state['children'], {'name': PERSON, 'waits': waits, 'seat': seat}],
        'transitions': [*state['transitions'], *edges],
    }


def names_seat(seat: str, scope: CallbackContext, event: Event) -> bool:
    """The event is for this seat."""
    return event.data.get('seat') == seat


def is_taken(seat: str, scope: CallbackContext, event: Event) -> bool:
    """A person sits in this seat."""
    return seat in _memory(scope).seats


def is_free(scope: CallbackContext, event: Event) -> bool:
    """No person sits in that seat."""
    return event.data.get('seat') not in _memory(scope).seats


def is_held(scope: CallbackContext, event: Event) -> bool:
    """A person sits in that seat."""
    return event.data.get('seat') in _memory(scope).seats


def take_seat(memory: SeatMemory, seat: str) -> None:
    """Note that a person has taken the seat."""
    memory.seats = tuple(dict.fromkeys((*memory.seats, seat)))


def hand_back(memory: SeatMemory, seat: str) -> None:
    """Note that the agent has its seat back."""
    memory.seats = tuple(name for name in memory.seats if name != seat)


def record_answer(scope: CallbackContext, text: str) -> None:
    """Add a person's answer to the agent's conversation, as if the agent had given it."""
    agent = scope.state.agents[scope.path]
    agent.messages.append(Message.of('assistant', text))
    agent.turns += 1


def _memory(scope: CallbackContext) -> SeatMemory:
    return cast(SeatMemory, scope.state.memory)
