"""The protocol of a model: a request gives a stream of events, one attempt a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from engine.errors import ModelError
from engine.message import Message, Part, Reasoning, Text, ToolCall
from engine.records import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is told of it. `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """Who is asking, for models that play a part: real providers ignore it."""

    pattern: str = ''
    role: str = ''
    state: str = ''
    task: str = ''
    visit: int = 1
    turn: int = 0
    attempt: int = 1
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call of a model."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    schema: Mapping[str, Any] | None = None
    """The JSON schema that the answer must fit, if it is to be structured."""
    hints: Hints = field(default_factory=Hints)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningPiece:
    """A piece of shown thinking."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """The model begins to ask for a tool. `index` tells parallel calls apart."""

    index: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentPiece:
    """A fragment of the arguments of the call `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The end mark. A stream without it was cut short."""

    reason: Literal['stop', 'tools', 'length'] = 'stop'
    usage: Usage = field(default_factory=Usage)


ModelEvent = TextPiece | ReasoningPiece | CallStarted | ArgumentPiece | Completed


class Model(Protocol):
    """A provider's model, or one that only plays."""

    simulated: bool

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer piece by piece; cancelling the reader stops the call. Raises `ModelError`."""


class Gathered:
    """Puts a stream's pieces together to one message."""

    def __init__(self) -> None:
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._calls: dict[int, tuple[str, list[str]]] = {}
        self.completed: Completed | None = None

    def add(self, event: ModelEvent) -> None:
        """Take the next piece."""
        match event:
            case TextPiece(text=text):
                self._text.append(text)
            case ReasoningPiece(text=text):
                self._reasoning.append(text)
            case CallStarted(index=index, name=name):
                self._calls[index] = (name, [])
            case ArgumentPiece(index=index, text=text):
                self._calls[index][1].append(text)
            case Completed():
                self.completed = event

    def message(self, call_id: str) -> Message:
        """The whole reply; its calls get ids made from `call_id`, for providers repeat or omit theirs.

        Raises:
            ModelError: the stream ended without its end mark.
        """
        if self.completed is None:
            raise ModelError('the answer was cut short', kind='truncated', retryable=True)
        parts: list[Part] = []
        if self._reasoning:
            parts.append(Reasoning(text=''.join(self._reasoning)))
        if self._text:
            parts.append(Text(text=''.join(self._text)))
        for index, (name, pieces) in sorted(self._calls.items()):
            parts.append(ToolCall(id=f'{call_id}-{index + 1}', name=name, arguments=''.join(pieces)))
        return Message(role='assistant', parts=tuple(parts))
