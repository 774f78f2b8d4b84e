"""Path statistics: the edges and states of one run, and the traffic of many runs together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.records.shape import Shape, StatePath

RULES = 2
"""Version of the rules for computing path statistics; those of other versions are recomputed."""

Ends = tuple[StatePath, str]
"""An edge: its source and destination; the latter is '' if it is internal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dwell:
    """What a run did in one state."""

    visits: int = 0
    """Number of entries."""
    seconds: float = 0.0
    """Running time over all visits: excludes time paused or without a process."""
    failed: int = 0
    """How often this state's own work failed; likewise `expired`."""
    expired: int = 0
    fell: int = 0
    """1 if the run was in the state, or had just left it, when the run failed; otherwise 0."""
    tokens: int = 0
    """What its calls of models have used, as far as they have been answered."""
    dollars: float | None = 0.0
    """What they cost; None if part of that is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PathStats:
    """The path of one run up to a step, excluding the part a fork inherited from its parent."""

    seq: int
    edges: Mapping[Ends, int] = field(default_factory=dict)
    """How often each edge was taken."""
    stays: Mapping[StatePath, Dwell] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)
    """The data a tally needs to continue from here, as JSON values; empty for a run that has ended."""
    rules: int = RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeTraffic:
    """How often an edge was taken by all runs together, and by how many of them."""

    source: StatePath
    dest: str
    times: int
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTraffic:
    """What all runs together did in one state."""

    path: StatePath
    runs: int
    """How many runs entered it."""
    visits: int
    repeated: int
    """Runs that entered it more than once; `most` is the largest number of visits by one run."""
    most: int
    seconds: float
    """Total over all runs. `median` and `p90` are per run, over the runs that entered it, by nearest rank, so
    each is an actual run's time."""
    median: float
    p90: float
    failed: int
    """How often this state's own work failed; likewise `expired`."""
    expired: int
    fell: int
    """Runs that were in it, or had just left it, when they failed."""
    troubled: int
    """Runs to which any of these three applies."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """The paths of many runs together. Edges and states are sorted by name."""

    runs: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    """Number of runs by status."""
    versions: Mapping[str, int] = field(default_factory=dict)
    """Number of runs by version of their pattern, the most common first."""
    forks: int = 0
    """How many of the runs began as forks."""
    inherited: int = 0
    """Steps that these forks inherited. They count for the parents alone, not in the figures below."""
    shapes: tuple[tuple[Shape, int], ...] = ()
    """The runs' charts, and how many runs have each, the most common first."""
    edges: tuple[EdgeTraffic, ...] = ()
    states: tuple[StateTraffic, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    """Runs whose history could not be read in full, and why."""
