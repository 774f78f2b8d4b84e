"""Runs as lists know them: a run's summary, what a person says of it, and which runs are asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Literal, NewType, TypedDict

from engine.budgets.budget import Budget
from engine.budgets.spent import Usage

RunId = NewType('RunId', str)


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
        """Whether the run is over for good."""
        return self in (Status.DONE, Status.FAILED, Status.CANCELLED)

    @property
    def retriable(self) -> bool:
        """Whether a run that ended so can be gone on with from its last good step."""
        return self in (Status.FAILED, Status.CANCELLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """What is known of a run without reading its history."""

    id: RunId
    pattern: str
    title: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)  # per role; '' is for all others
    seed: int = 0
    options: Mapping[str, Any] = field(default_factory=dict)  # how it runs: see `engine.options`
    status: Status = Status.RUNNING
    created: float = 0.0
    updated: float = 0.0
    seq: int = 0
    """The last journaled step."""
    usage: Usage = field(default_factory=Usage)
    error: str = ''
    waiting: str = ''
    """What a person is asked for, when the status is `waiting`."""
    simulated: bool = True
    """Whether every model of the run is scripted."""
    budget: Budget | None = None
    """The most that it may use, as last extended; None is no limit."""
    tags: tuple[str, ...] = ()
    note: str = ''
    parent: RunId | None = None
    """The run this was forked from, at step `parent_at`; or that was run again, where that is 0."""
    parent_at: int = 0
    owner: str = ''
    epoch: int = 0
    """Raised by each claim; an append under an older epoch is refused."""
    bytes: int = 0  # what its history takes in the journal
    starred: bool = False
    pinned: bool = False
    deleted: float = 0.0
    """When it was put into the trash, in seconds since 1970; 0 is not at all, `PURGING` for good."""


PURGING = -1.0
"""The `deleted` of a run that is being removed: its files may be gone already."""


class Annotation(TypedDict, total=False):
    """What a person says of a run, and whether it is kept; what is not given stays as it is."""

    title: str
    tags: Sequence[str]
    note: str
    starred: bool
    pinned: bool
    deleted: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a person says of one step of a run. It is no part of the run's history."""

    id: int = 0
    """The journal's number for it; 0 before it is kept."""
    run: RunId
    seq: int
    text: str
    created: float = 0.0
    edited: float = 0.0  # 0 is never


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQuery:
    """Which runs to list, newest first; a text is looked for in the notes on steps, too."""

    text: str = ''
    pattern: str = ''
    status: tuple[Status, ...] = ()
    tag: str = ''
    since: float | None = None
    until: float | None = None
    starred: bool = False  # those alone; so with `pinned`
    pinned: bool = False
    place: Literal['list', 'trash', 'purging'] = 'list'
    """`trash` has the deleted ones, the last deleted first."""
    pins_first: bool = False
    edges: tuple[str, ...] = ()
    """Runs that took any of these edges, each `source>dest`; and that were in a state; by their trails."""
    state: str = ''
    trouble: bool = False
    """With a state: only runs for which something failed or expired there."""
    offset: int = 0
    limit: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPage:
    """One page of a list of runs, with the number of all that match."""

    runs: tuple[RunInfo, ...]
    total: int
