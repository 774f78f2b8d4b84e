"""Brings the trails of runs up to date: from where each stood, a few runs at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.errors import JournalDamaged, UnknownRun
from engine.journal import Journal
from engine.records import RunId, RunQuery
from engine.traffic.records import Trail
from engine.traffic.tally import Tally

TOGETHER = 20
"""Runs whose trails are kept in one transaction: so much is done again where a survey is cut off."""
AT_ONCE = 2_000
"""Steps that are read and folded in one go."""

Told = Callable[[int, int], object]
"""Is told how many runs have been read, and of how many."""


async def survey(journal: Journal, query: RunQuery, told: Told | None = None) -> dict[str, str]:
    """Make or bring up to date the trail of every run that matches. May be cancelled at any time.

    Returns:
        The runs whose history is damaged, and why; what can be read of none of them is counted.

    Raises:
        JournalError: the journal itself cannot be read or written.
    """
    due = await journal.due(query)
    unread: dict[str, str] = {}
    for start in range(0, len(due), TOGETHER):
        if told:
            told(start, len(due))
        found: dict[RunId, Trail] = {}
        for run in due[start : start + TOGETHER]:
            try:
                found[run] = await _followed(journal, run)
            except UnknownRun:
                continue  # deleted meanwhile
            except JournalDamaged as error:
                unread[run] = str(error)
        await journal.keep_trails(found)
    if told and due:
        told(len(due), len(due))
    return unread


async def _followed(journal: Journal, run: RunId) -> Trail:
    info = await journal.info(run)
    tally = Tally(info, await journal.shape(run), await journal.trail(run))
    while tally.seq < info.seq:
        steps = await journal.transitions(run, after=tally.seq, until=info.seq, limit=AT_ONCE)
        if not steps:
            raise JournalDamaged(f'step {tally.seq + 1} of run {run} is missing')
        await asyncio.to_thread(tally.take_all, steps)
    return tally.trail
