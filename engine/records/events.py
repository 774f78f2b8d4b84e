"""Records that cross packages: events, transitions, snapshots and views."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field

from engine.records.breakpoint import Breakpoint
from engine.records.frozen import fast_init
from engine.records.run_info import Instant, RunId, Status
from engine.records.shape import RUN, StatePath
from engine.records.usage import Gauge, Origin, Spending, Usage

CONTROL = frozenset(
    {'start', 'pause', 'resume', 'step', 'cancel', 'retry', 'edit', 'recover', 'abort', 'breakpoints'}
    | {'warn', 'exhaust', 'extend'}
)
"""The engine's own events; patterns may not use these names as triggers.

`exhaust`: a limit is reached, and nothing new starts. `extend`: a person raised the limits to a new `budget`.
`pause`, `resume` and `step` address a region, or the whole run (''). Their data: `engine.records.payloads`.
"""

EXHAUSTED = 'exhausted'
"""The trigger that notifies a pattern that its budget is spent and all work has ended, so that it can shut
down; `event.data` has `budget` (which one) and `error` (a sentence). Only the engine sends it."""

ENDINGS = frozenset({'done', 'expired', 'failed', 'asked'})
"""How an activity ends; always addressed to the state that invoked it. `asked`: it cannot continue until a
person has answered a question."""

ENGINE_EVENTS = CONTROL | ENDINGS | {EXHAUSTED, 'always'}
"""The engine's own events; all others come from outside."""

ANSWER = 'answer'
"""The trigger that answers a question from a tool's server (`engine.records.question`)."""

DIGEST = re.compile(r'[0-9a-f]{64}')
"""The id of a snapshot of files, and of any stored object: the SHA-256 digest of its content."""


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, as the chart sees it."""

    name: str
    at: StatePath = RUN
    """The state it is addressed to."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON values only: all that guards and actions can know of the outside world."""
    attempt: int = 1
    since: int = 0
    """The step that entered `at`: an ending from an earlier visit is dropped. 0 skips the check."""
    time: Instant = 0.0
    ran: float = 0.0
    """Time in seconds since 1970, and the seconds the run had been running by then, pauses excluded. Guards
    and actions see both; the journal stores them as the step's time."""
    played: int = 0
    """In a fork, the parent's step it was replayed from; 0 if it happened here."""
    who: str = ''
    """The account that sent it; '' for the engine's own events, and without logins."""
    key: str = ''
    """The sender's idempotency key: an event repeated with it is not carried out again. '' if none."""


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class GuardResult:
    """A guard evaluated while looking for a transition."""

    name: str
    value: bool
    wanted: bool
    """What the edge requires: True for `conditions`, False for `unless`."""
    source: StatePath
    dest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge the run took."""

    source: StatePath
    dest: str


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change to the run's data: a JSON Patch operation (RFC 6902; `add`, `replace` or `remove`)."""

    op: Literal['add', 'replace', 'remove']
    path: str
    """A JSON Pointer (RFC 6901) into `{'memory': ..., 'agents': ..., 'told': ..., 'history': ...}`."""
    value: Any = None


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One journaled step of a run, keyed by (run, seq); seq counts from 1 without gaps."""

    run: RunId
    seq: int
    time: Instant
    """By the engine's clock."""
    event: Event
    raised: bool = False
    """True for a consequence of the previous step (a composite completed, an `always` edge): decided in the
    same turn, with no data except the reason of a `failed`."""
    left: tuple[StatePath, ...] = ()
    entered: tuple[StatePath, ...] = ()
    active: tuple[StatePath, ...] = ()
    """The active leaves after the step."""
    edges: tuple[Edge, ...] = ()
    guards: tuple[GuardResult, ...] = ()
    changes: tuple[Change, ...] = ()


DeltaKind = Literal['text', 'reasoning', 'call', 'arguments', 'waiting', 'reset']
"""`call` is the name of a tool being called, with a line break, and `arguments` a piece of its arguments;
`waiting` is the reason why the model call has not been sent yet, or '' once it has; `reset` discards the text
of an aborted attempt or, for the whole run (''), all streamed text that a slow reader has."""


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of streamed text. Never journaled; the complete reply is."""

    run: RunId
    path: StatePath
    """The agent's state (`arguing.pro`), not the leaf inside it."""
    text: str
    kind: DeltaKind = 'text'


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalOutage:
    """A run cannot be journaled at present, or can be again (`problem` is ''). Never journaled itself."""

    run: RunId
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The complete fold state at a step, which limits how far back a seek has to read."""

    run: RunId
    seq: int
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A run at one step, as screens draw it. Computed by folding, without pattern code."""

    run: RunId
    seq: int
    time: Instant
    started: Instant
    status: Status
    active: tuple[StatePath, ...]
    entered: Mapping[str, tuple[int, Instant]]
    """For each active state and its ancestors: the step and the time of entry."""
    attempts: Mapping[str, int]
    memory: Mapping[str, Any]
    agents: Mapping[str, Mapping[str, Any]]
    """By agent path: its conversation so far (the dump of an `AgentState`)."""
    files: Mapping[str, str]  # by agent path: the snapshot of its folder after its latest batch of tool calls
    usage: Usage
    paused: bool
    """Whether everything that could proceed is held, by a pause of the whole run or of each region."""
    error: str
    waiting: str
    ran: float = 0.0
    """Seconds of running, pauses excluded, as in `Event.ran`."""
    inherited_ran: float = 0.0
    """The part of `ran` inherited from the parent of a fork."""
    paused_since: Instant = 0.0
    """When the run was paused, or 0; later steps, such as a recovery, do not change it."""
    spending: Mapping[str, Spending] = field(default_factory=dict)
    """By agent path (or that of another state that calls models): its usage, by model."""
    seconds: float = 0.0
    """Running time up to this step: excludes time paused, waiting for a person, or without a process."""
    inherited: Usage = field(default_factory=Usage)
    """The part of `usage` inherited from the parent of a fork; budgets do not count it."""
    budget: Mapping[str, Gauge] = field(default_factory=dict)
    """How much of each limit (`tokens`, `cost`, `seconds`) is used."""
    warnings: tuple[str, ...] = ()
    """Warnings so far: limits nearly reached, calls with unknown prices, breakpoint conditions that could not
    be evaluated."""
    held: Mapping[StatePath, str] = field(default_factory=dict)
    """The regions held individually, with the reason as a sentence, or '' if a person gave none."""
    stopped: str = ''
    """Why the run, or a region of it, is held; '' if a person held it without a reason."""
    breakpoints: tuple[Breakpoint, ...] = ()

    @property
    def origins(self) -> tuple[Origin, ...]:
        """Where the models' replies came from."""
        return tuple(dict.fromkeys(origin for spent in self.spending.values() for origin in spent.origins))

    @property
    def models(self) -> dict[str, Usage]:
        """Usage by model, over all agents."""
        totals: dict[str, Usage] = {}
        for spent in self.spending.values():
            for model, usage in spent.models.items():
                totals[model] = totals.get(model, Usage()) + usage
        return totals


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended."""

    run: RunId
    status: Status
    answer: Any
    """The value of the pattern's answer field; None if it has none."""
    error: str
    """Why the run failed or was cancelled; for a completed run, how its result falls short."""
    memory: Mapping[str, Any]

    @property
    def done_with_issues(self) -> bool:
        """Whether the run completed but fell short of what was asked."""
        return self.status is Status.DONE and bool(self.error)


class Conditions(TypedDict, total=False):
    """The conditions under which a run accepts an event."""

    seen: Annotated[int | None, Field(default=None)]
    """The last step that the sender knows: the event is refused if the run has moved on since."""
    key: Annotated[str, Field(default='')]
    """The sender's idempotency key: a repeated event is not carried out again while it is among the run's
    last 100 with a key."""
