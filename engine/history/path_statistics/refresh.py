"""Brings path statistics up to date: continues each run from its last counted step, in small batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.errors import JournalDamaged, StepDamaged, UnknownRun
from engine.history.path_statistics.path_tally import PathTally
from engine.journal.protocol import Journal
from engine.records import RunId, RunQuery
from engine.records.path_stats import PathStats

RUNS_PER_WRITE = 20
"""Runs saved per transaction; an interruption repeats the work of at most this many."""
STEPS_PER_READ = 2_000
"""Steps read and folded at a time."""

Progress = Callable[[int, int], object]
"""Called with the number of runs read and the total."""


async def refresh_paths(
    journal: Journal, query: RunQuery, progress: Progress | None = None
) -> dict[str, str]:
    """Create or update the statistics of every run that matches. Can be cancelled at any time.

    Returns:
        The runs whose history is damaged, with the reason; their new steps are not counted.

    Raises:
        JournalError: the journal itself cannot be read or written.
    """
    due = await journal.outdated_runs(query)
    unread: dict[str, str] = {}
    for start in range(0, len(due), RUNS_PER_WRITE):
        if progress:
            progress(start, len(due))
        found: dict[RunId, PathStats] = {}
        for run in due[start : start + RUNS_PER_WRITE]:
            try:
                found[run] = await _continue_tally(journal, run)
            except UnknownRun:
                continue  # deleted meanwhile
            except JournalDamaged as error:
                unread[run] = str(error)
        await journal.store_path_stats(found)
    if progress and due:
        progress(len(due), len(due))
    return unread


async def _continue_tally(journal: Journal, run: RunId) -> PathStats:
    info = await journal.info(run)
    tally = PathTally(info, await journal.shape(run), await journal.path_stats(run))
    while tally.seq < info.seq:
        steps = await journal.transitions(run, after=tally.seq, until=info.seq, limit=STEPS_PER_READ)
        if not steps:
            raise StepDamaged(run, tally.seq + 1, 'is missing')
        await asyncio.to_thread(tally.apply_all, steps)
    return tally.stats
