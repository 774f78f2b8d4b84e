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

STRETCH_STEPS = 200
"""Steps read at once after a snapshot, since the slider mostly moves to neighbouring steps."""
FOLD_EVERY = 25
"""Steps between the folds cached in a stretch; these share whatever did not change between them."""
MAX_CACHED = 4_000
"""Maximum number of cached steps."""
MAX_INLINE_STEPS = 500
"""Steps folded on the event loop; more go to a thread."""


@dataclass(slots=True)
class RunAt:
    """A run at one step."""

    fold: Fold
    """Valid until another step is read."""
    step: Transition | None
    """The step itself; None before the first."""
    before: Mapping[str, Any]
    """The fold's document before the step."""


class _Stretch:
    """The steps after a snapshot (None is the beginning), as far as they have been read."""

    def __init__(self, base: Snapshot | None, steps: list[Transition]) -> None:
        self.begin = base.seq if base else 0
        self.end = self.begin + len(steps)
        self.steps = steps
        self.known = {self.begin: base}
        """Snapshots along the way, by step."""

    def fold(self, fold: Fold, until: int) -> Fold:
        """Advance a fold to a step."""
        while (seq := fold.projection.seq) < until:
            stop = min(until, seq - seq % FOLD_EVERY + FOLD_EVERY)
            fold.apply_all(self.steps[seq - self.begin : stop - self.begin])
            if stop % FOLD_EVERY == 0 and stop not in self.known:
                self.known[stop] = fold.snapshot()
        return fold


class HistoryReader:
    """Caches stretches of one run's history, so that the slider can move without reading the journal."""

    def __init__(self, conductor: Conductor, run: RunId, shape: Shape) -> None:
        self._conductor, self._run, self._shape = conductor, run, shape
        self._stretches: OrderedDict[int, _Stretch] = OrderedDict()
        """By first step, the most recently used last."""
        self._shown: Fold | None = None

    async def at(self, seq: int) -> RunAt:
        """Return the run at step `seq`, reusing what earlier calls have read. Raises `UnknownRun`."""
        if not seq:
            return RunAt(Fold(self._run, self._shape), None, {})
        stretch = self._find_stretch(seq) or await self._load_stretch(seq)
        if seq > stretch.end:
            raise UnknownStep(self._run, seq, stretch.end)
        fold, before = self._nearest(stretch, seq), seq - 1
        if before - fold.projection.seq > MAX_INLINE_STEPS:
            await asyncio.to_thread(stretch.fold, fold, before)
        else:
            stretch.fold(fold, before)
        step = stretch.steps[before - stretch.begin]
        document = fold.document  # it stays unchanged
        self._shown = stretch.fold(fold, seq)
        return RunAt(fold, step, document)

    def _nearest(self, stretch: _Stretch, seq: int) -> Fold:
        """Return the latest fold before step `seq`: the current one, or one from a snapshot."""
        at = max(known for known in stretch.known if known < seq)
        shown = self._shown
        if shown is not None and at <= shown.projection.seq < seq:
            return shown
        return self._fold(stretch.known[at])

    def _fold(self, snapshot: Snapshot | None) -> Fold:
        return Fold.load(snapshot, self._shape) if snapshot else Fold(self._run, self._shape)

    def _find_stretch(self, seq: int) -> _Stretch | None:
        """Return a stretch that contains step `seq`."""
        for begin in sorted(self._stretches, reverse=True):
            if begin < seq <= self._stretches[begin].end:
                self._stretches.move_to_end(begin)
                return self._stretches[begin]
        return None

    async def _load_stretch(self, seq: int) -> _Stretch:
        bases = [known for one in self._stretches.values() for known in one.known.values()]
        bases.append(await self._conductor.snapshot(self._run, seq - 1))
        base = max((one for one in bases if one and one.seq < seq), key=lambda one: one.seq, default=None)
        begin = base.seq if base else 0
        stretch = _Stretch(base, await self._read(begin, seq))
        self._stretches[begin] = stretch
        self._stretches.move_to_end(begin)
        while len(self._stretches) > 1 and sum(map(_weight, self._stretches.values())) > MAX_CACHED:
            self._stretches.popitem(last=False)
        return stretch

    async def _read(self, begin: int, seq: int) -> list[Transition]:
        """Read the steps after `begin`: at least to `seq`, and at most to one that is damaged."""
        until = max(seq, begin + STRETCH_STEPS)
        try:
            return await self._conductor.transitions(self._run, after=begin, until=until)
        except StepDamaged as error:
            if error.step <= seq:
                raise
            return await self._conductor.transitions(self._run, after=begin, until=error.step - 1)


def _weight(stretch: _Stretch) -> int:
    return len(stretch.steps) + FOLD_EVERY
