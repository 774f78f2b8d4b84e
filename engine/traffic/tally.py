"""Folds a run's steps into its trail: edges taken, visits, seconds and failures by state."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Self

from engine.records import RunId, RunInfo, Shape, Snapshot, StatePath, Status, Transition
from engine.traffic.records import Ends, Stay, Trail
from engine.view import Fold, Ledger, snapshot_of

FRESH: Mapping[str, Any] = {'memory': {}, 'agents': {}, 'told': {}}
"""A document for snapshots of ledgers: no memory is folded here."""


class Tally:
    """The trail of a run, step by step."""

    def __init__(self, info: RunInfo, shape: Shape, trail: Trail | None = None) -> None:
        """Begin with the run's first step, or go on where `trail` ends."""
        self._run: RunId = info.id
        self._own = info.parent_at if info.parent else 0
        """The last step that is not its own: it happened once, in its parent."""
        self._ledger = Ledger(shape)
        self._edges: Counter[Ends] = Counter()
        self._stays: defaultdict[StatePath, Stay] = defaultdict(Stay)
        self._turn: dict[StatePath, None] = {}
        """What was left in the turn that goes on: a step and all that it raised."""
        if trail and trail.rest:
            state = {**trail.rest}
            self._turn = dict.fromkeys(state.pop('turn'))
            self._ledger = Fold.load(Snapshot(run=info.id, seq=trail.seq, state=state), shape).ledger
            self._edges.update(trail.edges)
            self._stays.update(trail.stays)

    @property
    def seq(self) -> int:
        """The last step that was taken."""
        return self._ledger.seq

    def take_all(self, steps: Iterable[Transition]) -> Self:
        """Go on by these steps."""
        for step in steps:
            self._take(step)
        return self

    def _take(self, step: Transition) -> None:
        ledger, inside = self._ledger, tuple(self._ledger.entered)
        before = ledger.ran
        ledger.take(step)
        if step.seq <= self._own:
            return
        passed = ledger.ran - before
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
        if self._ledger.status is Status.FAILED:
            for path in self._turn:
                self._stays[path] = replace(self._stays[path], fell=1)

    @property
    def trail(self) -> Trail:
        """All that was counted up to here."""
        ledger = self._ledger
        rest = {} if ledger.status.ended else dict(snapshot_of(self._run, ledger, FRESH).state)
        return Trail(
            seq=ledger.seq,
            edges=dict(self._edges),
            stays=dict(self._stays),
            rest={**rest, 'turn': list(self._turn)} if rest else {},
        )
