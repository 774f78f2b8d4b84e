"""Seats: a person may take an agent's seat, act in its place, and hand it back.

A pattern declares each `Seat`: the event that carries a person's answer, and what becomes of it. Its memory
is a `SeatMemory`, and its inputs include `seat_inputs` and the payload of that event.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

from pydantic import BaseModel, Field, create_model

from engine.records import Event
from engine.records.frozen import Input
from engine.records.message import Message
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.edges import edge

PERSON = 'person'
"""The substate of an agent in which a person answers for it."""

Action = Callable[[CallbackContext, Event], None]


class SeatMemory(Protocol):
    """Memory that tracks which seats people have taken."""

    seats: tuple[str, ...]
    """The agents in whose place a person acts."""

    def note_seat(self, seat: str, event: Event) -> None:
        """Note what else follows now that a seat has been taken or, if it is not in `seats`, handed back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A seat, and how a person acts in it."""

    name: str
    event: str
    """The event that carries a person's answer."""
    waits: str
    """The input that the run waits for meanwhile."""
    answer: Action
    """The action for that event; see `as_agent`."""
    conditions: Any = None
    """The guards that an answer must satisfy."""
    agent: str = 'thinking'
    """The substate in which the agent acts."""
    then: str = 'done'
    """The substate that follows an answer."""
    entry: str = ''
    """The substate that leads to the agent or the person; by default the agent's."""
    everywhere: bool = False
    """Whether it is taken by the edges for all seats only, see `edges_of_all`."""

    @property
    def state(self) -> dict[str, Any]:
        """The substate in which a person acts."""
        return {'name': PERSON, 'waits': self.waits, 'seat': self.name}

    @property
    def edges(self) -> list[Any]:
        """The edges into that substate and out of it."""
        is_here, taken = partial(names_seat, self.name), partial(is_taken, self.name)
        taking = edge('take_seat', self.agent, PERSON, is_here, after=take_seat)
        return [
            edge('always', self.entry or self.agent, PERSON, taken),
            *([edge('always', self.entry, self.agent, None, taken)] if self.entry else []),
            *([] if self.everywhere else [taking]),
            edge('hand_back', PERSON, self.agent, is_here, after=hand_back),
            edge(self.event, PERSON, self.then, self.conditions, after=self.answer),
        ]

    def add_to(self, state: dict[str, Any]) -> dict[str, Any]:
        """Add the seat to an agent's state, as `agent` returns it."""
        return {
            **state,
            'children': [*state['children'], self.state],
            'transitions': [*state['transitions'], *self.edges],
        }


def edges_of_all(states: Sequence[str], names: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the edges that take or hand back a seat when it is not that agent's turn.

    Args:
        states: the pattern's outermost states in which this is allowed.
        names: the seats there are; by default, the payload's schema ensures that there is such a seat.
    """
    may_take: Any = partial(may_sit, names) if names else is_free
    return [
        *(edge('take_seat', state, None, may_take, after=take_seat) for state in states),
        *(edge('hand_back', state, None, is_held, after=hand_back) for state in states),
    ]


def seat_inputs(
    names: Any, description: str = 'Whose seat you take', *, title: str = 'SeatInput', **field: Any
) -> dict[str, type[Input]]:
    """Return the payloads of the events that take and hand back a seat.

    Args:
        names: the type of the seats' names.
        description: what the field asks for.
        title: the title of its schema.
        field: more about the field.
    """
    record = create_model(
        title,
        __base__=Input,
        __doc__='The seat that a person takes or hands back.',
        seat=(names, Field(title='Seat', description=description, **field)),
    )
    return {'take_seat': record, 'hand_back': record}


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


def may_sit(names: tuple[str, ...], scope: CallbackContext, event: Event) -> bool:
    """There is such a seat, and no person sits in it."""
    return event.data.get('seat') in names and is_free(scope, event)


def take_seat(scope: CallbackContext, event: Event) -> None:
    """Give the seat to a person."""
    memory, seat = _memory(scope), str(event.data['seat'])
    memory.seats = tuple(dict.fromkeys((*memory.seats, seat)))
    memory.note_seat(seat, event)


def hand_back(scope: CallbackContext, event: Event) -> None:
    """Hand the seat back to the agent."""
    memory, seat = _memory(scope), str(event.data['seat'])
    memory.seats = tuple(name for name in memory.seats if name != seat)
    memory.note_seat(seat, event)


def as_agent(
    parse: Callable[[Mapping[str, Any]], BaseModel], store: Action, scope: CallbackContext, event: Event
) -> None:
    """Handle a person's answer as if the agent had given it, and add it to the agent's conversation.

    Args:
        parse: reads the payload as the record with which the agent would have answered.
        store: the action that handles the agent's answer.
        scope: where the seat is.
        event: the answer.
    """
    answer, agent = parse(event.data), scope.state.agents[scope.path]
    agent.messages.append(Message.of('assistant', answer.model_dump_json()))
    agent.turns += 1
    store(scope, replace(event, data={**event.data, 'output': answer.model_dump(mode='json')}))


def _memory(scope: CallbackContext) -> SeatMemory:
    return scope.state.memory  # type: ignore[return-value]  # The explanations of guards do not follow a cast.
