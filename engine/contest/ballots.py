"""Ballots of a vote: what is asked of a voter, how its answer is kept, and what counts as the same."""

from __future__ import annotations

import unicodedata
from typing import Any

from pydantic import Field

from engine.course import Scope
from engine.debate.fence import RULE, fenced
from engine.frozen import Record
from engine.records import Event


class Answer(Record):
    """What a voter answers."""

    answer: str = Field(
        min_length=1, max_length=2_000, description='The answer itself, as short as it can be'
    )
    why: str = Field(default='', description='The reason, in a few sentences')


class Ballot(Record):
    """One vote, as it was cast."""

    voter: str
    number: int
    """Of the ballot."""
    answer: str
    why: str = ''
    counted: str
    """The answer without what makes no difference: case, marks at its ends, white space."""


class Ruling(Record):
    """What the judge says."""

    answer: str = Field(description='The answer that is right, word for word as one of them gave it')
    why: str = Field(default='', description='Why, in a sentence')


OPENING, CLOSING = '"\'*_`([', '"\'*_`)].,;:!?'
"""What may stand around an answer without being part of it; a sign before a number is part of it."""


def normal(answer: str) -> str:
    """The answer as it is counted: two that differ in case, white space or marks at their ends are one."""
    text = ' '.join(unicodedata.normalize('NFKC', answer).casefold().split())
    return text.lstrip(OPENING).rstrip(CLOSING) or text


def question(memory: Any) -> str:
    """What a voter is asked; from the second ballot on with all answers of the one before."""
    before = [ballot for ballot in memory.ballots if ballot.number == memory.number - 1]
    if not before:
        return f'Question: {memory.task}'
    shown = [fenced(ballot.voter, f'{ballot.answer}\n{ballot.why}') for ballot in before]
    return '\n\n'.join(
        [f'Question: {memory.task}', 'The last ballot was tied:', RULE, *shown, 'Answer again.']
    )


def cast(name: str, scope: Scope, event: Event) -> None:
    """Keep a vote."""
    memory: Any = scope.state.memory
    said = Answer.model_validate(event.data['output'])
    memory.ballots.append(
        Ballot(
            voter=name, number=memory.number, answer=said.answer, why=said.why, counted=normal(said.answer)
        )
    )


def miss(name: str, scope: Scope, event: Event) -> None:
    """A voter gave no answer."""
    memory: Any = scope.state.memory
    memory.failed[name] = str(event.data.get('error') or 'it failed')
