"""The protocol of a model: a request gives a stream of events, one attempt a call."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel

from engine.message import Message
from engine.records import Usage

if TYPE_CHECKING:
    from engine.wire.taped import Taped


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model is told of it. `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]
    nullable: bool = False
    """Whether it takes null for what may be left out, as strict providers have it."""


@lru_cache(maxsize=1_000)
def schema_of(record: type[BaseModel]) -> Mapping[str, Any]:
    """The JSON schema of a record, made once: every turn of an agent tells the model those of its tools."""
    return record.model_json_schema()


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
class Timeouts:
    """Seconds a call may take; what keeps a connection alive and says nothing does not count as an event."""

    first: float = 300.0
    """Until the first event: a model on a slow machine reads a long request for minutes."""
    idle: float = 120.0
    """Between two events."""
    total: float = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """One call of a model."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    schema: Mapping[str, Any] | None = None
    """The JSON schema that the answer must fit, if it is to be structured."""
    choice: str = 'auto'
    """Which tool to call: `auto`, `none`, `required` (any), or the name of one."""
    most_tokens: int | None = None
    """The longest reply; where None, the endpoint's or the provider's own limit."""
    temperature: float | None = None
    seed: int | None = None
    """For providers that can repeat themselves."""
    stop: tuple[str, ...] = ()
    """Texts that end the reply."""
    timeouts: Timeouts = field(default_factory=Timeouts)
    hints: Hints = field(default_factory=Hints)
    taped: Taped | None = field(default=None, compare=False, repr=False)
    """Where its exchange is recorded, or comes from; models on the wire heed it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The provider answers: with this model, which may be another than was asked for, and under this id."""

    model: str = ''
    id: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A model that only plays takes its time: as long as this, by the engine's clock."""

    seconds: float


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
    id: str = ''
    """The provider's; it may be empty, or the same as another's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentPiece:
    """A fragment of the arguments of the call `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaquePiece:
    """Something that goes back to the provider with the next request, whole and unchanged."""

    provider: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """Tokens used up to now; a later report replaces it."""

    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The end mark. A stream without it was cut short."""

    reason: Literal['stop', 'tools', 'length', 'filter'] = 'stop'
    usage: Usage = field(default_factory=Usage)
    finish: str = ''
    """The provider's own word for the reason; some have none."""
    cost: float | None = None
    """Dollars, where they are known."""


ModelEvent = (
    Started
    | Thinking
    | TextPiece
    | ReasoningPiece
    | CallStarted
    | ArgumentPiece
    | OpaquePiece
    | UsageReport
    | Completed
)


class Model(Protocol):
    """A provider's model, or one that only plays.

    One that has a price has a method `price(usage) -> float | None` as well: dollars, None where not known.
    """

    simulated: bool

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Answer piece by piece; cancelling the reader stops the call. Raises `ModelError`."""
