"""The one thread that writes: it takes all that is queued and commits it as one transaction."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import Any, Generic, TypeVar

from engine.errors import EngineError, JournalUnavailable
from storage.database import Settings, connect, explain, explained
from storage.fairness import Turns

T = TypeVar('T')
Work = Callable[[sqlite3.Connection], T]
"""Something to do inside a transaction. It raises an `EngineError` only before its first write."""

LARGEST = 1000
"""Pieces of work in one transaction at most, so that the first does not wait for a whole stampede."""


@dataclass(slots=True)
class Job(Generic[T]):
    """A piece of work, and who waits for it."""

    work: Work[T]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[T]
    result: T | None = None
    error: BaseException | None = None


class Writer:
    """Owns the only connection that writes."""

    def __init__(self, settings: Settings, turns: Turns) -> None:
        self._settings = settings
        self._turns = turns
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._closed = False
        with explained(settings.path):
            self._connection = connect(settings)
        # A daemon: whoever exits without closing loses nothing that was acknowledged.
        self._thread = threading.Thread(target=self._serve, name='journal-writer', daemon=True)
        self._thread.start()

    async def do(self, work: Work[T]) -> T:
        """Have `work` done and committed. If the caller is cancelled meanwhile, it is done all the same."""
        if self._closed:
            raise JournalUnavailable('the journal is closed')
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(Job(work, loop, future))
        return await self._turns.wait(future)

    async def close(self) -> None:
        """Do what is queued, then let go of the file. A second call only waits for the first."""
        if not self._closed:
            self._closed = True
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _serve(self) -> None:
        going = True
        while going:
            batch, going = self._take()
            if batch:
                self._commit(batch)
                self._answer(batch)
        self._connection.close()

    def _take(self) -> tuple[list[Job[Any]], bool]:
        """All that is queued, waiting for the first; and whether more may come."""
        job = self._jobs.get()
        batch: list[Job[Any]] = []
        while job is not None:
            batch.append(job)
            if len(batch) == LARGEST:
                return batch, True
            try:
                job = self._jobs.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _commit(self, batch: list[Job[Any]]) -> None:
        try:
            self._connection.execute('BEGIN IMMEDIATE')
        except sqlite3.Error as error:
            for job in batch:
                job.error = explain(error, self._settings.path)
            return
        try:
            for job in batch:
                try:
                    job.result, job.error = job.work(self._connection), None
                except EngineError as error:
                    job.error = error
            self._connection.execute('COMMIT')
        except Exception as error:
            # SQLite has rolled back by itself after some errors (a full disk is one).
            if self._connection.in_transaction:
                self._connection.execute('ROLLBACK')
            if len(batch) == 1:
                batch[0].error = explain(error, self._settings.path)
            else:
                # One of them is at fault, or there is room for some only: each has to stand by itself.
                for job in batch:
                    self._commit([job])

    def _answer(self, batch: list[Job[Any]]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = defaultdict(list)
        for job in batch:
            loops[job.loop].append(job)
        for loop, jobs in loops.items():
            # A loop that has been closed has nobody left who waits.
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, jobs)


def _resolve(jobs: list[Job[Any]]) -> None:
    for job in jobs:
        if job.future.done():
            continue  # its caller was cancelled
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
