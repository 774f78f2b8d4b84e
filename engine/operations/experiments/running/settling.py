"""Settling: cancels what is under way for an experiment that was cancelled, whoever started it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from typing import Final

from engine.errors import JournalDamaged, UnknownRun
from engine.operations.experiments.planning import TAG
from engine.operations.experiments.records import Cell, Experiment
from engine.operations.experiments.running.host import CANCELLED, JUDGE_TAG, Desk, Host, end_of
from engine.operations.experiments.store import ExperimentStore
from engine.records import RunQuery, Status

SETTLE_SECONDS = 10.0
"""Seconds for which a cancelled run is waited for."""
MAX_UNFINISHED = 10_000
UNFINISHED: Final = tuple(status for status in Status if not status.ended)


async def settle(host: Host, store: ExperimentStore, experiment: Experiment) -> None:
    """Cancel the runs that are under way, those of judges included, and store how they ended.

    Raises:
        JournalError: worth trying again.
    """
    desk = Desk(host, experiment)
    cells = await store.cells.list(about=experiment.id, state='running')
    unfinished = await host.journal.runs(
        RunQuery(tag=f'{TAG}{experiment.id}', status=UNFINISHED, limit=MAX_UNFINISHED)
    )
    judges = [info.id for info in unfinished.runs if JUDGE_TAG in info.tags and not info.parent]
    runs = [*judges, *(cell.run for cell in cells if not cell.reused)]
    await asyncio.gather(*map(desk.cancel, runs))
    for cell in await asyncio.gather(*(_ended(host, cell) for cell in cells)):
        await store.touch(cell)


async def _ended(host: Host, cell: Cell) -> Cell:
    never = replace(cell, state='ended', status=Status.CANCELLED, error=CANCELLED)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(SETTLE_SECONDS):
                await host.result(cell.run)
        ended = await end_of(host, cell)
    except (UnknownRun, JournalDamaged):  # It never began, for instance.
        return never
    return ended if ended.status and ended.status.ended else never
