"""Seats of reviewers: a person speaks in their place."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import BaseModel, Field

from engine.charts.seats import Action, Seat, seat_inputs
from engine.patterns.debate.candidate_names import resolve_name, resolve_names
from engine.patterns.debate.position_parser import parse_position
from engine.patterns.debate.records import Answer, DebateMemory, LineComment, Position, Verdict
from engine.patterns.form_fields import LongText
from engine.records import Event
from engine.records.frozen import Form
from engine.statechart.decision_cache import CallbackContext

OPTIONAL_GROUP: dict[str, Any] = {'group': 'More of your position'}
Points = Annotated[tuple[str, ...], Field(json_schema_extra=OPTIONAL_GROUP)]
VERDICTS: dict[str, Any] = {
    'APPROVE': 'Approve',
    'REVISE_BEST': 'Revise the best',
    'REVISE_ALL': 'Revise all',
    'UNDECIDED': 'Undecided',
}


class HumanTurn(Form):
    """A person's turn in a reviewer's seat."""

    reviewer: str = Field(
        '', title='Reviewer', description='Whose seat it is; leave empty for the current reviewer'
    )
    text: LongText = Field(
        min_length=1, max_length=20_000, title='Message', description='What you tell the others'
    )
    verdict: Verdict | None = Field(
        None,
        title='Verdict',
        description='Leave empty to have it read from the message',
        json_schema_extra={'labels': VERDICTS},
    )
    best: str = Field('', title='Best', description='The implementation you prefer')
    agrees: bool = Field(
        False, title='Agree', description='Whether you agree with the others and want to close'
    )
    ranking: Points = Field((), title='Ranking', description='The best first')
    concedes: Points = Field((), title='Conceded', description='Points of others that you accept')
    insists: Points = Field((), title='Insisted on', description='Points you do not give up')
    changes: Points = Field((), title='Changes', description='What must be changed')
    rests_on: Points = Field((), title='Rests on', description='Facts that your verdict rests on')
    answers: tuple[Answer, ...] = Field(
        (), title='Answers', description='To points of others, by their ids', json_schema_extra=OPTIONAL_GROUP
    )
    comments: tuple[LineComment, ...] = Field(
        (), title='Comments', description='On single lines, for the coders', json_schema_extra=OPTIONAL_GROUP
    )


SHARED = {'answers', 'comments', 'best', 'agrees', 'ranking', 'concedes', 'insists', 'changes', 'rests_on'}
INPUTS: dict[str, type[BaseModel]] = {
    **seat_inputs(str, 'Whose seat', title='Seat', examples=['reviewer1']),
    'say': HumanTurn,
}
"""Event inputs for seats, for a pattern's `inputs`."""


def debate_memory(scope: CallbackContext) -> DebateMemory:
    """Return the run's memory as a `DebateMemory`."""
    memory = scope.state.memory
    assert isinstance(memory, DebateMemory)
    return memory


def reviewer_seat(name: str, answer: Action, **more: Any) -> Seat:
    """Return a reviewer's seat; `more` is about the state it is added to."""
    is_mine = partial(is_word, name)
    return Seat(name=name, event='say', waits='word', answer=answer, conditions=is_mine, **more)


def is_word(reviewer: str, scope: CallbackContext, event: Event) -> bool:
    """The turn is for this reviewer, and its best candidate, if named, is in play."""
    best, names = str(event.data.get('best') or ''), debate_memory(scope).names()
    return event.data.get('reviewer') in ('', reviewer) and (
        not best or resolve_name(best, names) in names.values()
    )


def parse_turn(data: Mapping[str, Any], names: Mapping[str, str]) -> Position:
    """Parse a person's turn; without a verdict, keywords count as in a model's text."""
    turn = HumanTurn.model_validate(dict(data))
    if turn.verdict is None:
        parsed = parse_position(turn.text, names)
        shared = turn.model_dump(include=SHARED, exclude_defaults=True)
        return resolve_names(Position.model_validate({**parsed.model_dump(), **shared}), names)
    return resolve_names(Position(**turn.model_dump(exclude={'reviewer'})), names)
