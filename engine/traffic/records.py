"""The records of traffic: the trail of one run, and what many runs went through together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.outline import Shape
from engine.path import StatePath

RULES = 1
"""Raised when trails are made by other rules: those that are kept are then made anew."""

Ends = tuple[StatePath, str]
"""An edge: its source and its dest; the dest is '' where it is internal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """What a run did in one state."""

    visits: int = 0
    """How often it was entered."""
    seconds: float = 0.0
    """Of running, in all visits together: not while the run was paused or had no process."""
    failed: int = 0
    """Work of this very state that ended so; and `expired`."""
    expired: int = 0
    fell: int = 0
    """1 where the run was in it, or had just left it, when it failed for good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trail:
    """What one run went through, up to a step. What a fork took over from its parent is not in it."""

    seq: int
    edges: Mapping[Ends, int] = field(default_factory=dict)
    """How often each edge was taken."""
    stays: Mapping[StatePath, Stay] = field(default_factory=dict)
    rest: Mapping[str, Any] = field(default_factory=dict)
    """What a tally needs to go on from here, as JSON values; empty for a run that has ended."""
    rules: int = RULES


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeTraffic:
    """How often an edge was taken, by all runs together, and by how many of them."""

    source: StatePath
    dest: str
    times: int
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StateTraffic:
    """What runs did in one state, all together."""

    path: StatePath
    runs: int
    """How many were there."""
    visits: int
    repeated: int
    """Runs that came back to it, and `most`, the visits of the run that came most often."""
    most: int
    seconds: float
    """In total. `median` and `p90` are over the runs that were there: the time that half of them, or nine of
    ten, did not exceed (a nearest rank, so some run's very time)."""
    median: float
    p90: float
    failed: int
    """Work of this very state that ended so; and `expired`."""
    expired: int
    fell: int
    """Runs that were in it when they failed for good."""
    troubled: int
    """Runs of which any of these three holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """What many runs went through, all together. Edges and states are in the order of their names."""

    runs: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    """How many runs have each status."""
    shapes: tuple[tuple[Shape, int], ...] = ()
    """The charts of the runs and how many have each, the most usual first."""
    edges: tuple[EdgeTraffic, ...] = ()
    states: tuple[StateTraffic, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    """Runs whose history could not be read, or not to its end, and why."""
