"""Prepared replies: what an agent is made to answer, turn by turn, by a scenario or a stub."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Self, TypeVar

from pydantic import Field, field_validator, model_validator

from engine.errors import Kind, ModelError
from engine.records.frozen import FrozenModel
from engine.records.message import Message, Text, ToolResult

V = TypeVar('V')


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


def turns_at(visits: Sequence[V], visit: int) -> V:
    """Return a visit, counted from 1; past the end, the last one repeats."""
    return visits[min(visit, len(visits)) - 1]


def turn_at(turns: Visit, turn: int) -> Turn:
    """Return a turn of a visit, counted from 0; past the end, the last one repeats."""
    return turns[min(turn, len(turns) - 1)]


def unseen_text(messages: Sequence[Message]) -> str:
    """Return the messages to a model since its last reply."""
    texts: list[str] = []
    for message in reversed(messages):
        if message.role == 'assistant':
            break
        texts += [part.text for part in reversed(message.parts) if isinstance(part, Text | ToolResult)]
    return '\n'.join(reversed(texts))


def _fill(value: Any, values: Mapping[str, str | None]) -> Any:
    if isinstance(value, str):
        return re.sub(r'<<(\w+)>>', lambda name: values.get(name[1]) or '', value)
    if isinstance(value, Mapping):
        return {key: _fill(item, values) for key, item in value.items()}
    return [_fill(item, values) for item in value] if isinstance(value, list | tuple) else value
