"""Scenarios: what the scripted model says, role by role, visit by visit, turn by turn."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from engine.errors import Kind, ModelError
from engine.frozen import Record


class Call(Record):
    """One tool call."""

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    gives: str = ''
    """What the tool answers, for the tests: a scenario whose numbers are wrong is a broken one."""


class Failure(Record):
    """How a model call breaks off."""

    kind: Kind
    message: str = Field(min_length=1)
    attempts: int | None = Field(None, ge=1)
    """How many attempts fail; all of them when it is left out."""
    retryable: bool = True
    retry_after: float | None = Field(None, ge=0)
    """Seconds."""
    after: int = Field(0, ge=0)
    """Pieces that are streamed first."""

    def error(self) -> ModelError:
        """The exception that the engine sees."""
        return ModelError(
            self.message, kind=self.kind, retryable=self.retryable, retry_after=self.retry_after
        )


class Turn(Record):
    """One reply of the model, or `cases` of which one is chosen by what the model was told."""

    when: str = ''
    """For a case: a regular expression that is looked for in what the model was told since its last reply.
    What its named groups found stands in the case's texts for `<<name>>`."""
    cases: tuple[Turn, ...] = ()
    """Of which the first that fits is said; the last one fits always."""
    seconds: float = Field(0, ge=0, le=3600)
    """How long the model thinks before it says anything, by the engine's clock."""
    reasoning: str = ''
    text: str = ''
    calls: tuple[Call, ...] = ()
    answer: dict[str, Any] | None = None
    """The structured answer; sent as JSON text."""
    fail: Failure | None = None

    @field_validator('when')
    @classmethod
    def _is_a_pattern(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f'is no regular expression: {error}') from None
        return value

    @model_validator(mode='after')
    def _says_one_thing(self) -> Self:
        if self.cases:
            if self.text or self.calls or self.fail or self.reasoning or self.answer is not None:
                raise ValueError('cases stand alone: what is said is in them')
            if self.cases[-1].when or not all(case.when for case in self.cases[:-1]):
                raise ValueError('every case but the last needs a when')
            return self
        if self.answer is not None and (self.text or self.calls):
            raise ValueError('answer stands alone: no text and no calls beside it')
        for_ever = self.fail is not None and self.fail.attempts is None
        if not (self.text or self.calls or self.answer is not None or for_ever):
            raise ValueError('needs text, calls, an answer, or a fail without attempts')
        return self

    def for_news(self, news: str) -> Turn:
        """What is said to one who was told `news`."""
        for case in self.cases:
            if found := re.search(case.when, news, re.MULTILINE):
                return case.filled(found.groupdict()).for_news(news)
        return self

    def filled(self, found: Mapping[str, str | None]) -> Turn:
        """The same, with what was found in place of `<<name>>`."""
        if not found:
            return self
        return Turn.model_validate(_filled(self.model_dump(exclude={'when'}), found))

    @property
    def may_call(self) -> bool:
        """Whether it asks for tools, in any case."""
        return bool(self.calls) or any(case.may_call for case in self.cases)

    def failure(self, attempt: int) -> Failure | None:
        """How this attempt fails, if it does."""
        fails = self.fail is not None and (self.fail.attempts is None or attempt <= self.fail.attempts)
        return self.fail if fails else None


Visit = Annotated[tuple[Turn, ...], Field(min_length=1)]


class Expect(Record):
    """How a run of the scenario ends; the tests play every scenario to its end."""

    status: Literal['done', 'failed']
    error: str = ''
    """A part of the run's error."""
    memory: dict[str, Any] = Field(default_factory=dict)
    """Fields of memory and their values."""
    counts: dict[str, int] = Field(default_factory=dict)
    """Fields of memory that are lists and their lengths."""


class Scenario(Record):
    """One file of assets/scenarios."""

    name: str = Field(pattern=r'^[a-z0-9-]+$')
    title: str = Field(min_length=1)
    about: str = Field(min_length=1)
    pattern: str = Field(min_length=1)
    task: str = Field(min_length=1)
    field: str = 'task'
    """The pattern's parameter that takes the task."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The other parameters of the sample run."""
    order: int = 10
    """Its place among the samples of its pattern; the first is the one that newcomers run."""
    match: tuple[str, ...] = Field(min_length=1)
    """Words that must all occur in a task for the scenario to be played; case does not matter."""
    roles: dict[str, Annotated[tuple[Visit, ...], Field(min_length=1)]]
    """Per role, or per state's path where agents share a role: visits, each of them a list of turns."""
    expect: Expect

    @model_validator(mode='after')
    def _fits_its_task(self) -> Self:
        if not self.fits(self.pattern, self.task):
            raise ValueError('match: not all of its words occur in the task')
        for role, visits in self.roles.items():
            for number, visit in enumerate(visits, start=1):
                if visit[-1].may_call:
                    # It is repeated when the engine asks on: with calls, that would go round for ever.
                    raise ValueError(f'roles.{role}: the last turn of visit {number} must not call tools')
        return self

    def fits(self, pattern: str, task: str) -> bool:
        """Whether this scenario knows the task."""
        said = task.casefold()
        return pattern == self.pattern and all(word.casefold() in said for word in self.match)

    def turn(self, state: str, role: str, visit: int, turn: int) -> Turn | None:
        """What to say; past its end the last visit, and the last turn of a visit, are repeated."""
        visits = self.roles.get(state) or self.roles.get(role)
        if visits is None:
            return None
        turns = visits[min(visit, len(visits)) - 1]
        return turns[min(turn, len(turns) - 1)]


def _filled(value: Any, found: Mapping[str, str | None]) -> Any:
    if isinstance(value, str):
        return re.sub(r'<<(\w+)>>', lambda name: found.get(name[1]) or '', value)
    if isinstance(value, Mapping):
        return {key: _filled(item, found) for key, item in value.items()}
    return [_filled(item, found) for item in value] if isinstance(value, list | tuple) else value
