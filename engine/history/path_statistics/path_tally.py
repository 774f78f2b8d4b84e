"""Folds a run's steps into path statistics: edges taken, and visits, seconds and failures per state."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from engine.journal.projection import Fold, RunProjection, snapshot_of
from engine.records import RunId, RunInfo, Shape, Snapshot, StatePath, Status, Transition
from engine.records.path_stats import Dwell, Ends, PathStats

EMPTY_DOCUMENT: Mapping[str, Any] = {'memory': {}, 'agents': {}, 'told': {}}
"""An empty document for projection snapshots, since memory is not folded here."""


class PathTally:
    """The path statistics of one run, built step by step."""

    def __init__(self, info: RunInfo, shape: Shape, stats: PathStats | None = None) -> None:
        """Start at the run's first step, or continue from `stats`."""
        self._run: RunId = info.id
        self._own = info.parent_at if info.parent else 0
        """The last step inherited from its parent; inherited steps are counted only there."""
        self._projection = RunProjection(shape)
        self._edges: Counter[Ends] = Counter()
        self._stays: defaultdict[StatePath, Dwell] = defaultdict(Dwell)
        self._turn: dict[StatePath, None] = {}
        """The states left in the current turn (a step and all steps it raised)."""
        if stats and stats.rest:
            state = {**stats.rest}
            self._turn = dict.fromkeys(state.pop('turn'))
            self._projection = Fold.load(Snapshot(run=info.id, seq=stats.seq, state=state), shape).projection
            self._edges.update(stats.edges)
            self._stays.update(stats.stays)

    @property
    def seq(self) -> int:
        """The last step counted."""
        return self._projection.seq

    def apply_all(self, steps: Iterable[Transition]) -> Self:
        """Count these steps."""
        for step in steps:
            self._count_step(step)
        return self

    def _count_step(self, step: Transition) -> None:
        projection, inside = self._projection, tuple(self._projection.entered)
        before = projection.ran
        projection.apply(step)
        if step.seq <= self._own:
            return
        passed = projection.ran - before
        if passed:
            for path in inside:
                stay = self._stays[StatePath(path)]
                self._stays[StatePath(path)] = replace(stay, seconds=stay.seconds + passed)
        self._edges.update((edge.source, edge.dest) for edge in step.edges)
        for path in step.entered:
            self._stays[path] = replace(self._stays[path], visits=self._stays[path].visits + 1)
        self._count_failures(step)

    def _count_failures(self, step: Transition) -> None:
        at, name = step.event.at, step.event.name
        if name == 'failed' and at:
            self._stays[at] = replace(self._stays[at], failed=self._stays[at].failed + 1)
        if name == 'expired' and at:
            self._stays[at] = replace(self._stays[at], expired=self._stays[at].expired + 1)
        self._turn = {**(self._turn if step.raised else {}), **dict.fromkeys(step.left)}
        if self._projection.status is Status.FAILED:
            for path in self._turn:
                self._stays[path] = replace(self._stays[path], fell=1)

    @property
    def stats(self) -> PathStats:
        """Everything counted so far."""
        projection = self._projection
        rest = (
            {} if projection.status.ended else dict(snapshot_of(self._run, projection, EMPTY_DOCUMENT).state)
        )
        return PathStats(
            seq=projection.seq,
            edges=dict(self._edges),
            stays=dict(self._stays),
            rest={**rest, 'turn': list(self._turn)} if rest else {},
        )
