"""Reads past steps of a run for a page, from the current one or the nearest known snapshot."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import Conductor, Transition
from engine.errors import StepDamaged, UnknownStep
from engine.journal import Fold
from engine.records import RunId, Shape, Snapshot

SEGMENT_STEPS = 200
"""Steps read at once after a snapshot, since the slider mostly moves to neighbouring steps."""
FOLD_EVERY = 25
"""Steps between the folds cached in a segment; these share whatever did not change between them."""
MAX_CACHED = 4_000
"""Maximum number of cached steps."""
MAX_INLINE_STEPS = 500
"""Steps folded on the event loop; more go to a thread."""


@dataclass(slots=True)
class RunAt:
    """A run as of one step."""

    fold: Fold
    """Valid until another step is read."""
    step: Transition | None
    """The step itself; None before the first."""
    before: Mapping[str, Any]
    """The fold's document before the step."""


class _Segment:
    """The steps after a snapshot (None is the beginning), as far as they have been read."""

    def __init__(self, base: Snapshot | None, steps: list[Transition]) -> None:
        self.begin = base.seq if base else 0
        self.end = self.begin + len(steps)
        self.steps = steps
        self.snapshots = {self.begin: base}
        """Snapshots along the way, by step."""

    def fold(self, fold: Fold, until: int) -> Fold:
        """Advance a fold to a step."""
        while (seq := fold.projection.seq) < until:
            stop = min(until, seq - seq % FOLD_EVERY + FOLD_EVERY)
            fold.apply_all(self.steps[seq - self.begin : stop - self.begin])
            if stop % FOLD_EVERY == 0 and stop not in self.snapshots:
                self.snapshots[stop] = fold.snapshot()
        return fold


class HistoryReader:
    """Caches segments of one run's history, so that the slider can move without reading the journal."""

    def __init__(self, conductor: Conductor, run: RunId, shape: Shape) -> None:
        self._conductor, self._run, self._shape = conductor, run, shape
        self._segments: OrderedDict[int, _Segment] = OrderedDict()
        """By first step, the most recently used last."""
        self._shown: Fold | None = None

    async def at(self, seq: int) -> RunAt:
        """Return the run at step `seq`, reusing what earlier calls have read. Raises `UnknownRun`."""
        if not seq:
            return RunAt(Fold(self._run, self._shape), None, {})
        segment = self._find_segment(seq) or await self._load_segment(seq)
        if seq > segment.end:
            raise UnknownStep(self._run, seq, segment.end)
        fold, before = self._nearest(segment, seq), seq - 1
        if before - fold.projection.seq > MAX_INLINE_STEPS:
            await asyncio.to_thread(segment.fold, fold, before)
        else:
            segment.fold(fold, before)
        step = segment.steps[before - segment.begin]
        document = fold.document  # it stays unchanged
        self._shown = segment.fold(fold, seq)
        return RunAt(fold, step, document)

    def _nearest(self, segment: _Segment, seq: int) -> Fold:
        """Return the latest fold before step `seq`: the current one, or one from a snapshot."""
        at = max(snapshot_seq for snapshot_seq in segment.snapshots if snapshot_seq < seq)
        current = self._shown
        if current is not None and at <= current.projection.seq < seq:
            return current
        return self._fold(segment.snapshots[at])

    def _fold(self, snapshot: Snapshot | None) -> Fold:
        return Fold.load(snapshot, self._shape) if snapshot else Fold(self._run, self._shape)

    def _find_segment(self, seq: int) -> _Segment | None:
        """Return a segment that contains step `seq`."""
        for begin in sorted(self._segments, reverse=True):
            if begin < seq <= self._segments[begin].end:
                self._segments.move_to_end(begin)
                return self._segments[begin]
        return None

    async def _load_segment(self, seq: int) -> _Segment:
        bases = [snapshot for segment in self._segments.values() for snapshot in segment.snapshots.values()]
        bases.append(await self._conductor.snapshot(self._run, seq - 1))
        base = max(
            (snapshot for snapshot in bases if snapshot and snapshot.seq < seq),
            key=lambda snapshot: snapshot.seq,
            default=None,
        )
        begin = base.seq if base else 0
        segment = _Segment(base, await self._read(begin, seq))
        self._segments[begin] = segment
        self._segments.move_to_end(begin)
        while len(self._segments) > 1 and sum(map(_weight, self._segments.values())) > MAX_CACHED:
            self._segments.popitem(last=False)
        return segment

    async def _read(self, begin: int, seq: int) -> list[Transition]:
        """Read the steps after `begin`: at least to `seq`, and at most to one that is damaged."""
        until = max(seq, begin + SEGMENT_STEPS)
        try:
            return await self._conductor.transitions(self._run, after=begin, until=until)
        except StepDamaged as error:
            if error.step <= seq:
                raise
            return await self._conductor.transitions(self._run, after=begin, until=error.step - 1)


def _weight(segment: _Segment) -> int:
    return len(segment.steps) + FOLD_EVERY
