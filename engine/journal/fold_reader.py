"""Fold reader: reads a run from its journal, as the fold at a step, from the nearest snapshot on."""

from __future__ import annotations

import asyncio

from engine.errors import UnknownStep
from engine.journal.projection import Fold
from engine.journal.protocol import Journal
from engine.records import RunId

FOLD_IN_PLACE = 1_000
"""Maximum number of steps to fold on the event loop; longer histories are folded in a thread."""


async def read_fold(journal: Journal, run: RunId, at: int | None = None) -> Fold:
    """Fold the run up to step `at`, or to its end.

    Raises:
        UnknownRun, UnknownStep
    """
    info = await journal.info(run)
    last = info.seq if at is None else at
    if not 0 <= last <= info.seq:
        raise UnknownStep(run, last, info.seq)
    shape, snapshot = await journal.shape(run), await journal.snapshot(run, last)
    fold = Fold.load(snapshot, shape) if snapshot else Fold(run, shape)
    rest = await journal.transitions(run, after=fold.projection.seq, until=last)
    if len(rest) < FOLD_IN_PLACE:
        return fold.apply_all(rest)
    return await asyncio.to_thread(fold.apply_all, rest)
