"""Scenarios: the scripted model's replies by role, visit and turn."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from engine.errors import Kind, ModelError
from engine.records.frozen import FrozenModel


class Call(FrozenModel):
    """A tool call that the scripted model makes."""

    tool: str = Field(min_length=1)
    arguments: dict[str, Any] = Field(default_factory=dict)
    gives: str = ''
    """The tool's result, checked by the tests to catch scenarios with wrong numbers."""


class Failure(FrozenModel):
    """How a model call fails."""

    kind: Kind
    message: str = Field(min_length=1)
    attempts: int | None = Field(None, ge=1)
    """Number of attempts that fail; all of them if omitted."""
    retryable: bool = True
    retry_after: float | None = Field(None, ge=0)
    """Seconds."""
    after: int = Field(0, ge=0)
    """Pieces streamed before the failure."""

    def error(self) -> ModelError:
        """Return the exception to raise."""
        return ModelError(
            self.message, kind=self.kind, retryable=self.retryable, retry_after=self.retry_after
        )


class Turn(FrozenModel):
    """One reply of the model, or `cases` of which one is chosen by the messages to the model."""

    when: str = ''
    """For a case: a regular expression searched for in the messages since the model's last reply.
    Matches of its named groups replace `<<name>>` in the case's text."""
    cases: tuple[Turn, ...] = ()
    """The first case that fits is used; the last one always fits."""
    seconds: float = Field(0, ge=0, le=3600)
    """Thinking time before the first output, by the engine's clock."""
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
            raise ValueError(f'is not a regular expression: {error}') from None
        return value

    @model_validator(mode='after')
    def _has_one_content(self) -> Self:
        if self.cases:
            if self.text or self.calls or self.fail or self.reasoning or self.answer is not None:
                raise ValueError('cases must stand alone: each holds its own text')
            if self.cases[-1].when or not all(case.when for case in self.cases[:-1]):
                raise ValueError('every case but the last needs a when')
            return self
        if self.answer is not None and (self.text or self.calls):
            raise ValueError('answer must stand alone, without text and calls')
        for_ever = self.fail is not None and self.fail.attempts is None
        if not (self.text or self.calls or self.answer is not None or for_ever):
            raise ValueError('needs text, calls, an answer, or a fail without attempts')
        return self

    @cached_property
    def said(self) -> str:
        """The text, or the answer as JSON text."""
        return self.text if self.answer is None else json.dumps(self.answer, ensure_ascii=False, indent=2)

    def select_case(self, received: str) -> Turn:
        """Return the turn to play for a model that has `received` these messages."""
        for case in self.cases:
            if match := re.search(case.when, received, re.MULTILINE):
                return case.fill(match.groupdict()).select_case(received)
        return self

    def fill(self, values: Mapping[str, str | None]) -> Turn:
        """Return the turn with matched text in place of `<<name>>`."""
        if not values:
            return self
        return Turn.model_validate(_fill(self.model_dump(exclude={'when'}), values))

    @property
    def may_call(self) -> bool:
        """Whether any case calls tools."""
        return bool(self.calls) or any(case.may_call for case in self.cases)

    def failure(self, attempt: int) -> Failure | None:
        """Return the failure to simulate at this attempt (from 1), if any."""
        fails = self.fail is not None and (self.fail.attempts is None or attempt <= self.fail.attempts)
        return self.fail if fails else None


Visit = Annotated[tuple[Turn, ...], Field(min_length=1)]


class Expect(FrozenModel):
    """How a run of the scenario ends; the tests play every scenario to its end."""

    status: Literal['done', 'failed']
    error: str = ''
    """Part of the run's error."""
    memory: dict[str, Any] = Field(default_factory=dict)
    """Memory fields and their expected values."""
    counts: dict[str, int] = Field(default_factory=dict)
    """List fields of memory and their expected lengths."""


class Scenario(FrozenModel):
    """One file of assets/scenarios."""

    name: str = Field(pattern=r'^[a-z0-9-]+$')
    title: str = Field(min_length=1)
    about: str = Field(min_length=1)
    pattern: str = Field(min_length=1)
    task: str = Field(min_length=1)
    field: str = 'task'
    """The pattern parameter that takes the task."""
    parameters: dict[str, Any] = Field(default_factory=dict)
    """The sample run's other parameters."""
    models: dict[str, str] = Field(default_factory=dict)
    """The models of the sample's roles, in place of the scripted model; '' stands for all roles."""
    order: int = 10
    """Its position among its pattern's samples; new users run the first."""
    match: tuple[str, ...] = Field(min_length=1)
    """Words that must all occur in the task, ignoring case."""
    roles: dict[str, Annotated[tuple[Visit, ...], Field(min_length=1)]]
    """Per role, or per state path if agents share a role: visits, each a list of turns."""
    expect: Expect

    @model_validator(mode='after')
    def _fits_its_task(self) -> Self:
        if not self.fits(self.pattern, self.task):
            raise ValueError('match: not all of its words occur in the task')
        for role, visits in self.roles.items():
            for number, visit in enumerate(visits, start=1):
                if visit[-1].may_call:
                    # It is repeated if the engine asks again: with calls, that would loop forever.
                    raise ValueError(f'roles.{role}: the last turn of visit {number} must not call tools')
        return self

    def fits(self, pattern: str, task: str) -> bool:
        """Return whether this scenario covers the task."""
        if pattern != self.pattern:
            return False
        text = task.casefold()
        return all(word.casefold() in text for word in self.match)

    def turn(self, state: str, role: str, visit: int, turn: int) -> Turn | None:
        """Return the turn to play; past the end, the last visit and a visit's last turn repeat."""
        visits = self.roles.get(state) or self.roles.get(role)
        if visits is None:
            return None
        turns = visits[min(visit, len(visits)) - 1]
        return turns[min(turn, len(turns) - 1)]


def _fill(value: Any, values: Mapping[str, str | None]) -> Any:
    if isinstance(value, str):
        return re.sub(r'<<(\w+)>>', lambda name: values.get(name[1]) or '', value)
    if isinstance(value, Mapping):
        return {key: _fill(item, values) for key, item in value.items()}
    return [_fill(item, values) for item in value] if isinstance(value, list | tuple) else value
