"""The one thread that writes: it takes all that is queued and commits it as one transaction.

A short append that comes alone takes 50 microseconds, into the system's cache. To wake a thread for it, to
be woken by it, and to find the caches of both cores cold takes another 70, so the loop commits it itself. Not
so where it might have to wait: with `synchronous` at `full`, behind other work, for another process's lock,
for the checkpoint (every `ALONE`th goes to the thread, which does it), or while the disk is slow.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
import time
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
CHECKPOINT = 1000
"""Pages of the log, SQLite's own measure."""
FEW = 4
"""Short pieces of work that the loop commits itself, when no more come in one of its rounds."""
ALONE = 200
"""Transactions of the loop's before one goes to the thread, whose commit moves the log into the database."""
SLOW, RESPITE = 0.005, 10.0
"""Seconds: after a transaction that took so long, the loop leaves them all to the thread for a while."""


@dataclass(slots=True)
class Job(Generic[T]):
    """A piece of work, and who waits for it."""

    work: Work[T]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[T]
    short: Callable[[], bool] | None = None
    result: T | None = None
    error: BaseException | None = None


class Writer:
    """Owns the only connection that writes."""

    def __init__(self, settings: Settings, turns: Turns) -> None:
        self._settings = settings
        self._turns = turns
        self._jobs: SimpleQueue[Job[Any] | None] = SimpleQueue()
        self._gathered: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
        """What came in this round of a loop."""
        self._lock = threading.Lock()
        """Held while the loop uses the connection; it does so only while nothing is queued."""
        self._queued = self._alone = 0
        self._not_before = 0.0
        self._waits = True
        self._closed = False
        with explained(settings.path):
            self._connection = connect(settings)
        # A daemon: whoever exits without closing loses nothing that was acknowledged.
        self._thread = threading.Thread(target=self._serve, name='journal-writer', daemon=True)
        self._thread.start()

    async def do(self, work: Work[T], *, short: Callable[[], bool] | None = None) -> T:
        """Have `work` done and committed. If the caller is cancelled meanwhile, it is done all the same.

        Args:
            work: what to do.
            short: says whether it is so short that the loop may do it itself; None is no.
        """
        if self._closed:
            raise JournalUnavailable('the journal is closed')
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if loop not in self._gathered:
            self._gathered[loop] = []
            loop.call_soon(self._hand_over, loop)
        self._gathered[loop].append(Job(work, loop, future, short))
        return await self._turns.wait(future)

    async def close(self) -> None:
        """Do what is queued, then let go of the file. A second call only waits for the first."""
        if not self._closed:
            self._closed = True
            for loop in tuple(self._gathered):
                self._queue(self._gathered.pop(loop, []))
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        """Commit what came in this round, or queue it for the thread."""
        jobs = self._gathered.pop(loop, [])
        with self._lock:
            done = self._may_be_done_here(jobs) and self._done_here(jobs)
        if not done:
            self._queue(jobs)

    def _queue(self, jobs: list[Job[Any]]) -> None:
        with self._lock:
            self._queued += len(jobs)
        for job in jobs:
            self._jobs.put(job)

    def _may_be_done_here(self, jobs: list[Job[Any]]) -> bool:
        self._alone = (self._alone + 1) % ALONE
        return (
            0 < len(jobs) <= FEW
            and not self._queued
            and self._alone > 0
            and self._settings.synchronous == 'normal'
            and time.monotonic() >= self._not_before
            and all(job.short is not None and job.short() for job in jobs)
        )

    def _done_here(self, jobs: list[Job[Any]]) -> bool:
        """Commit on the loop's thread. False: it had to wait, or there is no room: nothing was done."""
        begun = time.monotonic()
        self._let_wait(False)
        self._commit(jobs)
        ended = time.monotonic()
        if ended - begun > SLOW:
            self._not_before = ended + RESPITE
        left = [job for job in jobs if isinstance(job.error, JournalUnavailable)]
        if left and len(left) == len(jobs):
            return False
        _resolve(jobs)
        return True

    def _let_wait(self, may: bool) -> None:
        """Whether a transaction may wait for other processes, and do the checkpoint when one is due."""
        if self._waits != may:
            timeout = int(self._settings.busy_timeout * 1000) if may else 0
            self._connection.execute(f'PRAGMA busy_timeout = {timeout}')
            self._connection.execute(f'PRAGMA wal_autocheckpoint = {CHECKPOINT if may else 0}')
            self._waits = may

    def _serve(self) -> None:
        going = True
        while going:
            batch, going = self._take()
            if batch:
                self._let_wait(True)
                self._commit(batch)
                with self._lock:
                    self._queued -= len(batch)
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
