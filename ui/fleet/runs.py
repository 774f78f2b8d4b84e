"""Runs of one worker: only those that Temporal has assigned to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

from engine import EngineError
from engine.records import RunId, RunInfo
from engine.runtime import Item, LiveRuns

WORKER_CANNOT_START = 'workers do not start runs: ask a web server'


class WorkerRuns(LiveRuns):
    """The live runs of a worker, which starts none itself. A stream ends when the worker releases the run."""

    async def create(self, info: RunInfo, *chart_and_state: Any) -> None:
        """Refuse: web servers create runs."""
        raise EngineError(WORKER_CANNOT_START)

    async def fork(self, info: RunInfo, *chart: Any) -> None:
        """Refuse: web servers create runs."""
        raise EngineError(WORKER_CANNOT_START)

    async def recover(
        self, *, paused: bool = False, where: Callable[[RunInfo], bool] = lambda info: True
    ) -> list[RunId]:
        """Continue nothing: Temporal decides which runs are driven here."""
        return []

    async def watch(self, run: RunId, *, after: int = 0) -> AsyncGenerator[Item]:
        """Yield steps and text while the run is driven here."""
        live = self.runs.get(run)
        if live is None:
            return
        gone = asyncio.ensure_future(live.detached.wait())
        async with aclosing(super().watch(run, after=after)) as items:
            coming = asyncio.ensure_future(anext(items, None))
            try:
                while True:
                    await asyncio.wait({coming, gone}, return_when=asyncio.FIRST_COMPLETED)
                    if not coming.done() and not live.projection.status.ended:
                        return  # It is driven elsewhere now, or rests.
                    if (item := await coming) is None:
                        return
                    yield item
                    coming = asyncio.ensure_future(anext(items, None))
            finally:
                for task in (coming, gone):
                    task.cancel()
                await asyncio.wait({coming, gone})
