"""The frozen records that cross packages: events, transitions, runs, views; the others by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from engine.budgets.budget import Budget, Gauge
from engine.budgets.spent import SOURCES, Origin, Spending, Usage
from engine.listed import PURGING, Annotation, Note, RunId, RunInfo, RunPage, RunQuery, Status
from engine.outline import EdgeShape, Oversight, Shape, StateShape
from engine.path import RUN, StatePath
from engine.stepping.breakpoint import Breakpoint
from engine.traffic.records import RULES, EdgeTraffic, Ends, StateTraffic, Stay, Traffic, Trail

CONTROL = frozenset(
    {'start', 'pause', 'resume', 'step', 'cancel', 'retry', 'edit', 'recover', 'abort', 'breakpoints'}
    | {'warn', 'exhaust', 'extend'}
)
"""Events of the engine itself; a pattern may not use these names as triggers.

Of budgets: `warn` (a limit is near, or a price is not known; `budget` names it, `reason` is a sentence),
`exhaust` (a limit is reached: nothing new is started), `extend` (a person raised it to the new `budget`).

`pause`, `resume` and `step` are addressed to a region, or to the whole run (''). A `step` has `how` (`in`,
`over` or `out`) and, for `out`, `until`, the state that is to end. A `pause` that no person sent has a
`reason`, and `breakpoints`, the numbers of those that were hit. `breakpoints` has all `breakpoints` of the
run, as a person set them; or `problems`, per number why a condition could not be evaluated.
"""

EXHAUSTED = 'exhausted'
"""The trigger by which a pattern is told that a budget is spent and all work has ended, so that it can shut
down by itself; `event.data` has `budget` (which) and `error` (a sentence). Only the engine sends it."""

ENDINGS = frozenset({'done', 'expired', 'failed'})
"""How an activity ends: always addressed to the state that invoked it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Something that happened, as the chart is told of it."""

    name: str
    at: StatePath = RUN
    """The state it is addressed to."""
    data: Mapping[str, Any] = field(default_factory=dict)
    """JSON values only: all a guard or an action may know of the outside."""
    attempt: int = 1
    since: int = 0
    """The step that entered `at`; an ending from an earlier visit is dropped. 0 is not checked."""
    time: float = 0.0
    ran: float = 0.0
    """Seconds since 1970, and those the run had run by then, without pauses. Guards and actions see both; the
    journal keeps them as the step's time."""
    played: int = 0
    """The step of the parent's that it was played from, in a fork; 0 where it happened here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """One guard that was evaluated on the way to a transition (or to none)."""

    name: str
    value: bool
    wanted: bool
    """What the edge needs: True for `conditions`, False for `unless`."""
    source: StatePath
    dest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """An edge that was taken."""

    source: StatePath
    dest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of the run's data: a JSON Patch operation (RFC 6902; `add`, `replace` or `remove`)."""

    op: Literal['add', 'replace', 'remove']
    path: str
    """A JSON Pointer (RFC 6901) into `{'memory': ..., 'agents': ..., 'told': ...}`."""
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One journaled step of a run. The primary key is (run, seq); seq counts from 1 without gaps."""

    run: RunId
    seq: int
    time: float
    """Seconds since 1970, by the engine's clock."""
    event: Event
    raised: bool = False
    """True for a consequence of the step before it (a composite became done, an `always` edge): it was
    decided in the same turn, and carries no data but the reason of a `failed`."""
    left: tuple[StatePath, ...] = ()
    entered: tuple[StatePath, ...] = ()
    active: tuple[StatePath, ...] = ()
    """The active leaves after the step."""
    edges: tuple[Edge, ...] = ()
    guards: tuple[Guard, ...] = ()
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """A piece of streamed text. Never journaled: the finished reply is."""

    run: RunId
    path: StatePath
    """The agent's state (`arguing.pro`), not the leaf inside it."""
    text: str
    kind: Literal['text', 'reasoning', 'reset'] = 'text'
    """`reset` takes back what was shown of an attempt that broke off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A run cannot be journaled just now, or can again (`problem` is ''). Never journaled itself."""

    run: RunId
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All that a fold knows at a step: it bounds how far a seek has to go back."""

    run: RunId
    seq: int
    state: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A run at one step, as screens draw it. Made by folding; runs no pattern code."""

    run: RunId
    seq: int
    time: float
    started: float
    status: Status
    active: tuple[StatePath, ...]
    entered: Mapping[str, tuple[int, float]]
    """For each active state and its ancestors: the step and the time it was entered."""
    attempts: Mapping[str, int]
    memory: Mapping[str, Any]
    agents: Mapping[str, Mapping[str, Any]]
    """Per agent's path: its conversation so far (the dump of an `AgentState`)."""
    files: Mapping[str, str]  # per agent's path: the snapshot of its folder after its last batch of tools
    usage: Usage
    paused: bool
    """Whether all that could go on is held, by a pause of the whole run or of each region."""
    error: str
    waiting: str
    ran: float = 0.0
    """Seconds that it has run, without pauses: what `Event.ran` counts."""
    spending: Mapping[str, Spending] = field(default_factory=dict)
    """Per agent's path (or that of another state whose work calls models): what it used, model by model."""
    seconds: float = 0.0
    """Of running, up to this step: not while it was paused, waited for a person, or had no process."""
    inherited: Usage = field(default_factory=Usage)
    """The part of `usage` that is of the run this one was forked from; budgets do not count it."""
    budget: Mapping[str, Gauge] = field(default_factory=dict)
    """Per limit of its budget (`tokens`, `cost`, `seconds`): how far it is used up."""
    warnings: tuple[str, ...] = ()
    """What there was a warning of: limits that are nearly reached, calls whose price is not known, conditions
    of breakpoints that could not be evaluated."""
    held: Mapping[StatePath, str] = field(default_factory=dict)
    """The regions that are held by themselves, and why: a sentence, or '' where a person gave none."""
    stopped: str = ''
    """Why the run, or a region of it, is held; '' where a person did it and gave no reason."""
    breakpoints: tuple[Breakpoint, ...] = ()

    @property
    def models(self) -> dict[str, Usage]:
        """What was used of each model, by all agents together."""
        found: dict[str, Usage] = {}
        for spent in self.spending.values():
            for model, usage in spent.models.items():
                found[model] = found.get(model, Usage()) + usage
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a run ended."""

    run: RunId
    status: Status
    answer: Any
    """The memory's field that the pattern names as its answer; None where it names none."""
    error: str
    memory: Mapping[str, Any]


__all__ = [
    'CONTROL', 'ENDINGS', 'EXHAUSTED', 'PURGING', 'RULES', 'RUN', 'SOURCES', 'Annotation', 'Breakpoint',
    'Budget', 'Change', 'Delta', 'Edge', 'EdgeShape', 'EdgeTraffic', 'Ends', 'Event', 'Gauge', 'Guard',
    'Note', 'Origin', 'Outcome', 'Oversight', 'RunId', 'RunInfo', 'RunPage', 'RunQuery', 'Shape',
    'Snapshot', 'Spending', 'StatePath', 'StateShape', 'StateTraffic', 'Status', 'Stay', 'Traffic', 'Trail',
    'Transition', 'Trouble', 'Usage', 'View',
]  # fmt: skip
