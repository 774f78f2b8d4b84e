"""A reviewer's seat: a person may take it, speak in it, and hand it back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from engine.course import Scope
from engine.debate.records import DebateMemory, Position, Verdict
from engine.debate.words import position_of
from engine.fields import Form
from engine.records import Event

PERSON = 'person'


MORE: dict[str, Any] = {'group': 'More of your position'}
VERDICTS: dict[str, Any] = {
    'APPROVE': 'approve',
    'REVISE_BEST': 'revise the best',
    'REVISE_ALL': 'revise all',
    'UNDECIDED': 'undecided',
}


class Seat(BaseModel):
    """Which seat a person takes or hands back."""

    model_config = ConfigDict(extra='forbid')

    reviewer: str = Field(title='Reviewer', description='Whose seat', examples=['reviewer1'])


class Word(Form):
    """What a person says in a reviewer's seat."""

    reviewer: str = Field('', title='Reviewer', description='In whose seat; whose turn it is, if left out')
    text: str = Field(
        min_length=1,
        max_length=20_000,
        title='Your words',
        description='What you say to the others',
        json_schema_extra={'multiline': True},
    )
    verdict: Verdict | None = Field(
        None,
        title='Verdict',
        description='Read from the text, if left out',
        json_schema_extra={'labels': VERDICTS},
    )
    best: str = Field('', title='Best', description='The implementation that you hold for the best')
    agrees: bool = Field(
        False, title='Agree', description='Whether you agree with the others and want to close'
    )
    ranking: tuple[str, ...] = Field(
        (), title='Ranking', description='The best first', json_schema_extra=MORE
    )
    concedes: tuple[str, ...] = Field(
        (), title='Conceded', description='Points of others that you accept', json_schema_extra=MORE
    )
    insists: tuple[str, ...] = Field(
        (), title='Insisted on', description='Points you do not give up', json_schema_extra=MORE
    )
    changes: tuple[str, ...] = Field(
        (), title='Changes', description='What must be changed', json_schema_extra=MORE
    )
    rests_on: tuple[str, ...] = Field(
        (), title='Rests on', description='Facts that your verdict rests on', json_schema_extra=MORE
    )


SHARED = {'best', 'agrees', 'ranking', 'concedes', 'insists', 'changes', 'rests_on'}
INPUTS: dict[str, type[BaseModel]] = {'take_seat': Seat, 'hand_back': Seat, 'say': Word}
"""What the events of seats hold, for a pattern's `inputs`."""


def of(scope: Scope) -> DebateMemory:
    """The memory of the run, which holds a debate."""
    memory = scope.state.memory
    assert isinstance(memory, DebateMemory)
    return memory


def names_me(reviewer: str, scope: Scope, event: Event) -> bool:
    """The event is for this reviewer."""
    return event.data.get('reviewer') == reviewer


def is_taken(reviewer: str, scope: Scope, event: Event) -> bool:
    """A person sits in this reviewer's seat."""
    return reviewer in of(scope).seats


def may_sit(reviewers: tuple[str, ...], scope: Scope, event: Event) -> bool:
    """There is such a reviewer, and nobody sits in the seat yet."""
    reviewer = event.data.get('reviewer')
    return reviewer in reviewers and reviewer not in of(scope).seats


def may_rise(scope: Scope, event: Event) -> bool:
    """A person sits in that seat."""
    return event.data.get('reviewer') in of(scope).seats


def sit(scope: Scope, event: Event) -> None:
    """Give the seat to a person; a reviewer who had failed is back with it."""
    memory, reviewer = of(scope), str(event.data['reviewer'])
    if reviewer not in memory.seats:
        memory.seats = (*memory.seats, reviewer)
    if reviewer in memory.debate.absent:
        del memory.debate.absent[reviewer]


def rise(scope: Scope, event: Event) -> None:
    """Hand the seat back to the agent."""
    memory, reviewer = of(scope), event.data['reviewer']
    memory.seats = tuple(seat for seat in memory.seats if seat != reviewer)


def is_word(reviewer: str, scope: Scope, event: Event) -> bool:
    """It is for this reviewer, and names what there is."""
    best = event.data.get('best')
    return event.data.get('reviewer') in ('', reviewer) and (not best or best in of(scope).names())


def word(data: Mapping[str, Any], names: tuple[str, ...]) -> Position:
    """What a person said, as a position; without a verdict its keywords count, as in a model's text."""
    said = Word.model_validate(dict(data))
    if said.verdict is None:
        found = position_of(said.text, names)
        told = said.model_dump(include=SHARED, exclude_defaults=True)
        return found.model_copy(update=told)
    return Position(**said.model_dump(exclude={'reviewer'}))
