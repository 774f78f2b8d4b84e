"""The model protocol: a request returns a stream of events; one call is one attempt."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pydantic import BaseModel

from engine.records import Usage
from engine.records.frozen import fast_init
from engine.records.jsonable import clip
from engine.records.message import Message

if TYPE_CHECKING:
    import httpx

    from engine.models.endpoint import Endpoint


SCRIPTED = 'scripted'
"""The name of the simulated model, which answers where no other is chosen."""


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A tool as presented to a model. `schema` is the JSON schema of its arguments."""

    name: str
    description: str
    schema: Mapping[str, Any]
    nullable: bool = False
    """Whether optional arguments may be null, as strict providers require."""

    @cached_property
    def length(self) -> int:
        """Characters of the description and the schema."""
        return len(self.description) + len(json.dumps(dict(self.schema)))


@lru_cache(maxsize=1_000)
def schema_of(record: type[BaseModel]) -> Mapping[str, Any]:
    """Return a record's JSON schema, cached because every agent turn sends the schemas of its tools."""
    return record.model_json_schema()


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """The caller's identity, for scripted models; real providers ignore it."""

    pattern: str = ''
    role: str = ''
    state: str = ''
    task: str = ''
    visit: int = 1
    turn: int = 0
    attempt: int = 1
    seed: int = 0
    stubs: tuple[Any, ...] = ()
    """The visits that stubs have for the agent; see `engine.models.stubs`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeouts:
    """Call timeouts in seconds; bytes that only keep a connection alive do not count as events."""

    first: float = 300.0
    """Until the first event; a model on a slow machine may take minutes to read a long request."""
    idle: float = 120.0
    """Between two events."""
    total: float = 3600.0


Send = Callable[['httpx.Request'], Awaitable['httpx.Response']]
"""Sends a request; returns once the head of the response has arrived."""


class Carrier(Protocol):
    """Carries requests to an endpoint; implemented by recordings and by the scripted model."""

    async def send(
        self, send: Send, request: httpx.Request, endpoint: Endpoint, model: str, name: str
    ) -> httpx.Response:
        """Send the request with `send`, or answer it without sending."""


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRequest:
    """What a model is asked in one call."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    schema: Mapping[str, Any] | None = None
    """The JSON schema of a structured answer, if one is wanted."""
    choice: str = 'auto'
    """Which tool to call: `auto`, `none`, `required` (any), or the name of one."""
    most_tokens: int | None = None
    """Reply limit in tokens; None means the endpoint's or provider's own."""
    temperature: float | None = None
    images: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The images in the messages, in base64, by digest."""
    effort: str = ''
    """A level or a number of tokens, see `engine.records.effort`; '' means the endpoint's own."""
    seed: int | None = None
    """For providers that support reproducible output."""
    stop: tuple[str, ...] = ()
    """Sequences that end the reply."""
    timeouts: Timeouts | None = None
    """None means the endpoint's own."""
    hints: Hints = field(default_factory=Hints)
    carrier: Carrier | None = field(default=None, compare=False, repr=False)
    """Records the exchange or answers from a recording; models behind endpoints send through it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """The answer begins, with the provider's id and model, which may differ from the one requested."""

    model: str = ''
    id: str = ''


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """A scripted model pauses for this many seconds of the engine's clock."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The call has not been sent yet, because of a limit of its endpoint."""

    reason: str
    """The limit, such as `60 requests a minute`; '' means that the wait is over."""
    seconds: float = 0.0
    """The expected wait; 0 means unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPiece:
    """A piece of the answer's text."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasoningPiece:
    """A piece of the reasoning that the provider shows."""

    text: str


@dataclass(frozen=True, slots=True)
class TextWasReasoning:
    """All text of the answer so far turns out to be reasoning."""


MAX_TOOL_NAME = 200
"""Maximum characters of a called tool's name."""
UNNAMED = 'unnamed'
"""The name of a call without one: the model is told, and providers accept no empty name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallStarted:
    """The model begins a tool call. `index` distinguishes parallel calls."""

    index: int
    name: str
    id: str = ''
    """The provider's id; it may be empty or a duplicate."""

    def __post_init__(self) -> None:
        """Clip the name: no tool has a longer one, but a model may make one up, or leave it out."""
        object.__setattr__(self, 'name', clip(self.name.strip(), MAX_TOOL_NAME) or UNNAMED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentPiece:
    """A fragment of the arguments of call `index`."""

    index: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaquePiece:
    """Data that goes back to the provider with the next request, whole and unchanged."""

    provider: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageReport:
    """Tokens used so far; a later report replaces it."""

    usage: Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """The end of the answer. A stream without it was cut short."""

    reason: Literal['stop', 'tools', 'length', 'filter'] = 'stop'
    usage: Usage = field(default_factory=Usage)
    finish: str = ''
    """The provider's own finish reason, if it sends one."""
    cost: float | None = None
    """Dollars, if known."""
    written_hour: int | None = None
    """Tokens written to the cache for an hour, for which Anthropic charges more; None if not reported."""


ModelEvent = (
    Started
    | Thinking
    | Waiting
    | TextPiece
    | ReasoningPiece
    | TextWasReasoning
    | CallStarted
    | ArgumentPiece
    | OpaquePiece
    | UsageReport
    | Completed
)


class Model(Protocol):
    """A provider's model or a scripted one.

    Optional methods: `price(usage) -> float | None` returns dollars, None if unknown;
    `effort_problem(effort) -> str` returns why the model rejects a reasoning effort, or '';
    `cache_saving(usage) -> float | None` is for models whose provider caches prompts;
    `attempts` and `largest_call` bound what a call can use.
    """

    simulated: bool

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Stream the answer; cancelling the reader stops the call. Raises `ModelError`."""


def candidate_models(models: Mapping[str, str], role: str) -> tuple[str, ...]:
    """Return a role's models in order of preference; a run separates them with commas."""
    named = models.get(role) or models.get('') or SCRIPTED
    return tuple(name.strip() for name in named.split(',') if name.strip())
