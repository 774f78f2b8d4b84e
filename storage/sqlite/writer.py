"""The single writer thread: commits all queued work as one transaction.

A short append that arrives alone takes 50 microseconds to write to the system's cache. A round trip through a
thread, with cold caches on both cores, costs another 70, so the loop commits it itself. The thread gets any
commit that might have to wait: with `synchronous` at `full`, behind other work, for another process's lock,
for a checkpoint (every `ALONE`th commit goes to the thread, which runs it), or while the disk is slow.
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
from storage.settings import Settings
from storage.sqlite.alchemy import alchemy
from storage.sqlite.file import connect, explain, identify, moved_error, translate_errors
from storage.sqlite.gil_yield import GilYielder

T = TypeVar('T')
Work = Callable[[sqlite3.Connection], T]
"""Work to do inside a transaction. It may raise an `EngineError` only before its first write."""

MAX_JOBS = 1000
"""Maximum jobs in a transaction, so that the first does not wait for a whole burst."""
CHECKPOINT = 1000
"""Pages in the write-ahead log before a checkpoint; SQLite's default."""
ANSWERED = 32
"""Maximum jobs answered in one round of a loop: each answer causes a quarter of a millisecond of work."""
FEW = 4
"""Maximum short jobs that the loop commits itself in one of its rounds."""
ALONE = 200
"""Every `ALONE`th commit goes to the thread, which also runs the checkpoint."""
SLOW, RESPITE = 0.005, 100.0
"""Seconds, and a factor. After two consecutive transactions slower than `SLOW`, only the thread commits, for
`RESPITE` times the duration of the last one. (A single slow one may mean the process was not scheduled.)"""


@dataclass(slots=True)
class Job(Generic[T]):
    """A piece of work, and the future of its caller."""

    work: Work[T]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[T]
    short: Callable[[], bool] | None = None
    result: T | None = None
    error: BaseException | None = None


class Writer:
    """Owns the only connection that writes."""

    def __init__(self, settings: Settings, turns: GilYielder) -> None:
        self._settings = settings
        self._turns = turns
        self._jobs: SimpleQueue[list[Job[Any]] | None] = SimpleQueue()
        self._gathered: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
        """Jobs that arrived in this round of a loop."""
        self._lock = threading.Lock()
        """Held while the loop uses the connection, which it does only while nothing is queued."""
        self._queued = self._alone = 0
        self._not_before = 0.0
        self._was_slow = False
        self._waits = True
        self._closed = False
        with translate_errors(settings.path):
            self._connection = connect(settings)
            self.alchemy = alchemy(self._connection)
            """The same connection for SQLAlchemy, for use by work only."""
            self._file = identify(settings.path)
        # A daemon thread: exiting without closing loses no acknowledged commit.
        self._thread = threading.Thread(target=self._serve, name='journal-writer', daemon=True)
        self._thread.start()

    async def do(self, work: Work[T], *, short: Callable[[], bool] | None = None) -> T:
        """Do `work` and commit it, even if the caller is cancelled meanwhile.

        Args:
            work: the work to do.
            short: whether the work is so short that the loop may do it itself; None means no.
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
        """Finish queued work, then close the file. A second call only waits for the first."""
        if not self._closed:
            self._closed = True
            for loop in tuple(self._gathered):
                self._queue(self._gathered.pop(loop, []))
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        """Commit the jobs of this round, or queue them for the thread."""
        jobs = self._gathered.pop(loop, [])
        with self._lock:
            done = self._may_commit_here(jobs) and self._commit_here(jobs)
        if not done:
            self._queue(jobs)

    def _queue(self, jobs: list[Job[Any]]) -> None:
        if jobs:
            with self._lock:
                self._queued += len(jobs)
            self._jobs.put(jobs)

    def _may_commit_here(self, jobs: list[Job[Any]]) -> bool:
        self._alone = (self._alone + 1) % ALONE
        return (
            0 < len(jobs) <= FEW
            and not self._queued
            and self._alone > 0
            and self._settings.synchronous == 'normal'
            and time.monotonic() >= self._not_before
            and all(job.short is not None and job.short() for job in jobs)
        )

    def _commit_here(self, jobs: list[Job[Any]]) -> bool:
        """Commit on the loop's thread. Return False without effect if a lock or full disk prevents it."""
        begun = time.monotonic()
        self._let_wait(False)
        self._commit(jobs)
        ended = time.monotonic()
        was_slow, self._was_slow = self._was_slow, ended - begun > SLOW
        if was_slow and self._was_slow:
            self._not_before = ended + RESPITE * (ended - begun)
        left = [job for job in jobs if isinstance(job.error, JournalUnavailable)]
        if left and len(left) == len(jobs):
            return False
        _resolve(jobs)
        return True

    def _let_wait(self, may: bool) -> None:
        """Set whether a transaction may wait for other processes and run a due checkpoint."""
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
        self.alchemy.close()
        self._connection.close()

    def _take(self) -> tuple[list[Job[Any]], bool]:
        """Wait for the first job, then return all queued jobs, and whether more may follow."""
        jobs = self._jobs.get()
        batch: list[Job[Any]] = []
        while jobs is not None:
            batch += jobs
            if len(batch) >= MAX_JOBS:
                return batch, True
            try:
                jobs = self._jobs.get_nowait()
            except Empty:
                return batch, True
        return batch, False

    def _commit(self, batch: list[Job[Any]]) -> None:
        try:
            if identify(self._settings.path) != self._file:  # SQLite would write to an unlinked file.
                raise moved_error(self._settings.path)
            self._connection.execute('BEGIN IMMEDIATE')
        except (sqlite3.Error, JournalUnavailable) as error:
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
            # SQLite has already rolled back after some errors (such as a full disk).
            if self._connection.in_transaction:
                self._connection.execute('ROLLBACK')
            if len(batch) == 1:
                batch[0].error = explain(error, self._settings.path)
            else:
                # One job is at fault, or there is only room for some: commit each separately.
                for job in batch:
                    self._commit([job])

    def _answer(self, batch: list[Job[Any]]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = defaultdict(list)
        for job in batch:
            loops[job.loop].append(job)
        for loop, jobs in loops.items():
            # No caller waits on a closed loop.
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, jobs)


def _resolve(jobs: list[Job[Any]]) -> None:
    """Resolve the futures of finished jobs, all of one loop."""
    if len(jobs) > ANSWERED:
        jobs[0].loop.call_soon(_resolve, jobs[ANSWERED:])
    for job in jobs[:ANSWERED]:
        if job.future.done():
            continue  # its caller was cancelled
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
