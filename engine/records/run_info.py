"""Run summaries, people's annotations and notes, and queries over runs."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Any, Literal, NewType, TypedDict

from pydantic import Field

from engine.records.frozen import fast_init
from engine.records.shape import TRACE_PREFIX
from engine.records.usage import Budget, Usage

RunId = NewType('RunId', str)
Instant = Annotated[float, 'instant']
"""A moment in seconds since 1970; 0 means never."""


Approvals = Literal['marked', 'all', 'none']
"""Which tools need a person's approval: those marked as such, all, or none."""


class Status(StrEnum):
    """What a run is doing, as a list of runs shows it."""

    RUNNING = 'running'
    PAUSED = 'paused'
    WAITING = 'waiting'
    DONE = 'done'
    FAILED = 'failed'
    CANCELLED = 'cancelled'

    @property
    def ended(self) -> bool:
        """Whether the run has ended for good."""
        return self in ENDED

    @property
    def retriable(self) -> bool:
        """Whether a run that ended this way can be retried from its last good step."""
        return self in (Status.FAILED, Status.CANCELLED)


ENDED = (Status.DONE, Status.FAILED, Status.CANCELLED)


class GivenFiles(TypedDict):
    """The files that a run was started with, which its agents had in their folders from the start."""

    snapshot: str
    """The snapshot that holds them; in its run's object store."""
    sizes: Mapping[str, int]
    """Their sizes in bytes, by path."""


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """A run's summary: what is known without reading its history."""

    id: RunId
    pattern: str
    version: str = ''
    """The version of the pattern that it was started with; '' if that is not known."""
    title: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)  # by role; '' is for all others
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)  # how it runs: see `run_factory.Options`
    status: Status = Status.RUNNING
    created: Instant = 0.0
    updated: Instant = 0.0
    seq: int = 0
    """The last journaled step."""
    usage: Usage = field(default_factory=Usage)
    error: str = ''
    """Why it failed or was cancelled; for a completed run, how its result falls short."""
    waiting: str = ''
    """What the run is waiting for a person to do, while the status is `waiting`."""
    simulated: bool = True
    """Whether all of the run's models are simulated."""
    budget: Budget | None = None
    """The limits on what it may use, as last extended; None means no limit."""
    tags: tuple[str, ...] = ()
    note: str = ''
    parent: RunId | None = None
    """The run this was forked from, at step `parent_at`; if that is 0, the run this is a rerun of."""
    parent_at: int = 0
    owner: str = ''
    epoch: int = 0
    """Incremented by each claim; an append with an older epoch is rejected."""
    bytes: int = 0  # size of its history in the journal
    starred: bool = False
    pinned: bool = False
    author: str = ''
    """The account that started it; '' without logins."""
    private: bool = False
    """Whether only its author and administrators can see it."""
    deleted: Instant = 0.0
    """When it was moved to the trash, in seconds since 1970; 0 if it was not, `PURGING` while it is being
    removed permanently."""

    @property
    def is_imported_trace(self) -> bool:
        """Whether it was imported from another program's trace: no pattern can run it."""
        return self.pattern.startswith(TRACE_PREFIX)

    @property
    def given_files(self) -> GivenFiles | None:
        """The files that it was started with; None if there are none."""
        match self.options.get('files'):
            case {'snapshot': str(snapshot), 'sizes': Mapping() as sizes} if snapshot:
                return GivenFiles(
                    snapshot=snapshot,
                    sizes={str(path): size for path, size in sizes.items() if isinstance(size, int)},
                )
        return None  # An imported run may have any value there.

    @property
    def done_with_issues(self) -> bool:
        """Whether it completed but fell short of what was asked; `error` says how."""
        return self.status is Status.DONE and bool(self.error)


PURGING = -1.0
"""The value of `deleted` for a run being removed, whose files may already be deleted."""


class Annotation(TypedDict, total=False):
    """A person's changes to a run's title, note and flags; missing fields stay as they are."""

    title: str
    tags: Sequence[str]
    note: str
    starred: bool
    pinned: bool
    private: bool
    deleted: float


MAX_NUMBER = 2**53
"""Maximum number of a step, note or token that people give: the largest that JSON keeps exactly."""
MAX_VERSION = 64
MAX_TITLE, MAX_TAG, MAX_NOTE = 200, 200, 10_000
"""Maximum numbers of characters."""


def tidy(text: str) -> str:
    """Return a title or a tag in one line, its accents encoded in the usual way (NFC)."""
    return unicodedata.normalize('NFC', ' '.join(text.split()))


MAX_TAGS = 20
"""Maximum number of tags of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A person's note on one step of a run. Not part of the run's history."""

    id: int = 0
    """Assigned by the journal; 0 until it is stored."""
    run: RunId
    seq: int
    text: str
    created: Instant = 0.0
    edited: Instant = 0.0


MAX_MATCHES = 20
"""Maximum number of values of a repeatable filter."""
RunOrder = Literal['created', 'title', 'bytes', 'steps', 'tokens', 'duration']
"""The sort key of a list; ties are sorted newest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs to list, newest first; the text also searches notes on steps."""

    text: Annotated[str, Field(max_length=500)] = ''
    """Words in the title, note, tags or parameters."""
    pattern: Annotated[str, Field(max_length=200)] = ''
    """Only runs of this pattern."""
    version: Annotated[str, Field(max_length=MAX_VERSION)] = ''
    """Only runs of this version of their pattern."""
    status: Annotated[tuple[Status, ...], Field(max_length=MAX_MATCHES)] = ()
    """Any of these statuses."""
    tag: Annotated[str, Field(max_length=200)] = ''
    """Only runs with this tag."""
    without_tag: Annotated[str, Field(max_length=200)] = ''
    """Only runs without a tag that begins so: `experiment:` leaves out those of experiments."""
    since: float | None = None
    """Started at or after this time."""
    until: float | None = None
    """Started before this time."""
    starred: bool = False
    """Only starred runs."""
    pinned: bool = False
    """Only pinned runs."""
    seen_by: str | None = None
    """Only runs this account may see: its own, and those that are not private; None is for all runs."""
    place: Literal['list', 'trash', 'purging'] = 'list'
    """`trash` lists the deleted runs, the most recently deleted first."""
    pins_first: bool = False
    """Only for lists sorted by `created`."""
    sort: RunOrder = 'created'
    ascending: bool = False
    totals: bool = False
    """Whether to add up the usage of all matching runs."""
    edges: Annotated[tuple[str, ...], Field(max_length=MAX_MATCHES)] = ()
    """Took any of these transitions: `source>dest`."""
    state: Annotated[str, Field(max_length=500)] = ''
    """Was in this state."""
    trouble: bool = False
    """With `state`: only runs in which something failed there."""
    beyond: tuple[float, float, str] | None = None
    """A cursor: only runs listed after the one with this `deleted`, `created` and `id`; newest first only."""
    offset: int = 0
    limit: int = 50

    def problems(self) -> dict[str, str]:
        """Return what is wrong with the filters, by field."""
        wrong = [edge for edge in self.edges if not all(edge.partition('>')[::2])]
        problems = {}
        if wrong:
            problems['edge'] = f'must be two states, such as reviewing>analyzing, not {wrong[0]!r}'
        if self.trouble and not self.state:
            problems['trouble'] = 'needs state: it filters by what happened there'
        return problems


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """One page of a list of runs, with the total number of matches."""

    runs: tuple[RunInfo, ...]
    total: int
    usage: Usage | None = None
    """The usage of all matches, if `totals` was set; its `source` is not summed up."""
