"""Reads past steps of a run for a page: from the one that is shown, or the nearest snapshot it knows."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine import Conductor, Fold, RunId, Shape, Snapshot, Transition, UnknownStep

STRETCH = 200
"""Steps that are read at once after a snapshot, since the slider mostly goes to their neighbours."""
EVERY = 25
"""Steps between two folds of a stretch that are kept: they share what did not change between them."""
MOST = 4_000
"""Steps that are kept at most."""
AT_ONCE = 500
"""Steps that are folded on the event loop; more go to a thread."""


@dataclass(slots=True)
class Moment:
    """A run at one step."""

    fold: Fold
    """Good until the next moment is read."""
    step: Transition | None
    """The step itself; None before the first."""
    before: Mapping[str, Any]
    """The fold's document without it."""


class _Stretch:
    """The steps after a snapshot (None is the beginning), as far as they have been read."""

    def __init__(self, base: Snapshot | None, steps: list[Transition]) -> None:
        self.begin = base.seq if base else 0
        self.end = self.begin + len(steps)
        self.steps = steps
        self.known = {self.begin: base}
        """Snapshots on the way, by their steps."""

    def fold(self, fold: Fold, until: int) -> Fold:
        """Go on with a fold up to a step."""
        for step in self.steps[fold.ledger.seq - self.begin : until - self.begin]:
            fold.take(step)
            if step.seq % EVERY == 0 and step.seq not in self.known:
                self.known[step.seq] = fold.snapshot()
        return fold


class Past:
    """A few stretches of one run's history, kept so that the slider can go to and fro without the journal."""

    def __init__(self, conductor: Conductor, run: RunId, shape: Shape) -> None:
        self._conductor, self._run, self._shape = conductor, run, shape
        self._stretches: OrderedDict[int, _Stretch] = OrderedDict()
        """By their beginnings, the one used last at the end."""
        self._shown: Fold | None = None

    async def at(self, seq: int) -> Moment:
        """The run at step `seq`; what was read for an earlier call goes on. Raises `UnknownRun`."""
        if not seq:
            return Moment(Fold(self._run, self._shape), None, {})
        stretch = self._with(seq) or await self._read(seq)
        if seq > stretch.end:
            raise UnknownStep(self._run, seq, stretch.end)
        fold, before = self._nearest(stretch, seq), seq - 1
        if before - fold.ledger.seq > AT_ONCE:
            await asyncio.to_thread(stretch.fold, fold, before)
        else:
            stretch.fold(fold, before)
        step = stretch.steps[before - stretch.begin]
        without = fold.document  # it stays as it is
        self._shown = stretch.fold(fold, seq)
        return Moment(fold, step, without)

    def _nearest(self, stretch: _Stretch, seq: int) -> Fold:
        """The latest fold before step `seq`: the one that is shown, or one from a snapshot."""
        at = max(known for known in stretch.known if known < seq)
        shown = self._shown
        if shown is not None and at <= shown.ledger.seq < seq:
            return shown
        return self._fold(stretch.known[at])

    def _fold(self, snapshot: Snapshot | None) -> Fold:
        return Fold.load(snapshot, self._shape) if snapshot else Fold(self._run, self._shape)

    def _with(self, seq: int) -> _Stretch | None:
        """A stretch with step `seq`."""
        for begin in sorted(self._stretches, reverse=True):
            if begin < seq <= self._stretches[begin].end:
                self._stretches.move_to_end(begin)
                return self._stretches[begin]
        return None

    async def _read(self, seq: int) -> _Stretch:
        bases = [known for one in self._stretches.values() for known in one.known.values()]
        bases.append(await self._conductor.snapshot(self._run, seq - 1))
        base = max((one for one in bases if one and one.seq < seq), key=lambda one: one.seq, default=None)
        begin = base.seq if base else 0
        until = max(seq, begin + STRETCH)
        stretch = _Stretch(base, await self._conductor.transitions(self._run, after=begin, until=until))
        self._stretches[begin] = stretch
        self._stretches.move_to_end(begin)
        while len(self._stretches) > 1 and sum(map(_weight, self._stretches.values())) > MOST:
            self._stretches.popitem(last=False)
        return stretch


def _weight(stretch: _Stretch) -> int:
    return len(stretch.steps) + EVERY
