"""The single writer thread: commits all queued work as one transaction.

A short append that arrives alone takes 50 microseconds to write to the system's cache. A round trip through a
thread, with cold caches on both cores, costs another 70, so the loop commits it itself. The thread gets any
commit that might have to wait: with `synchronous` at `full`, behind other work, for another process's lock,
for a checkpoint (every `THREAD_COMMIT_INTERVAL`th commit goes to the thread, which runs it), or while the
disk is slow.
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
from storage.gil_yield import GilYielder
from storage.settings import Settings
from storage.sqlite.alchemy import alchemy
from storage.sqlite.file import connect, file_identity, moved_error, to_journal_error, translate_errors

T = TypeVar('T')
Work = Callable[[sqlite3.Connection], T]
"""Work to do inside a transaction. It may raise an `EngineError` only before its first write."""

MAX_JOBS = 1000
"""Maximum jobs in a transaction, so that the first does not wait for a whole burst."""
CHECKPOINT = 1000
"""Pages in the write-ahead log before a checkpoint; SQLite's default."""
MAX_RESOLVED_A_ROUND = 32
"""Maximum jobs answered in one round of a loop: each answer causes a quarter of a millisecond of work."""
MAX_INLINE_JOBS = 4
"""Maximum short jobs that the loop commits itself in one of its rounds."""
THREAD_COMMIT_INTERVAL = 200
"""Every `THREAD_COMMIT_INTERVAL`th commit goes to the thread, which also runs the checkpoint."""
SLOW, RESPITE = 0.005, 100.0
"""Seconds, and a factor. After two consecutive transactions slower than `SLOW`, only the thread commits, for
`RESPITE` times the duration of the last one. (A single slow one may mean the process was not scheduled.)"""


@dataclass(slots=True)
class Job(Generic[T]):
    """A piece of work, and the future of its caller."""

    work: Work[T]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[T]
    is_short: Callable[[], bool] | None = None
    result: T | None = None
    error: BaseException | None = None


class Writer:
    """Owns the only connection that writes."""

    def __init__(self, settings: Settings, yielder: GilYielder) -> None:
        self._settings, self._path = settings, settings.path
        self._yielder = yielder
        self._jobs: SimpleQueue[list[Job[Any]] | None] = SimpleQueue()
        self._gathered: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = {}
        """Jobs that arrived in this round of a loop."""
        self._lock = threading.Lock()
        """Held while the loop uses the connection, which it does only while nothing is queued."""
        self._queued = self._commits = 0
        self._not_before = 0.0
        self._was_slow = False
        self._blocking = True
        self._closed = False
        with translate_errors(self._path):
            self._connection = connect(settings)
            self.alchemy = alchemy(self._connection)
            """The same connection for SQLAlchemy, for use by work only."""
            self._file = file_identity(self._path)
        # A daemon thread: exiting without closing loses no acknowledged commit.
        self._thread = threading.Thread(target=self._run, name='journal-writer', daemon=True)
        self._thread.start()

    async def do(self, work: Work[T], *, is_short: Callable[[], bool] | None = None) -> T:
        """Do `work` and commit it, even if the caller is cancelled meanwhile.

        Args:
            work: the work to do.
            is_short: whether the work is so short that the loop may do it itself; None means no.
        """
        if self._closed:
            raise JournalUnavailable('the journal is closed')
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        if loop not in self._gathered:
            self._gathered[loop] = []
            loop.call_soon(self._dispatch, loop)
        self._gathered[loop].append(Job(work, loop, future, is_short))
        return await self._yielder.wait(future)

    async def close(self) -> None:
        """Finish queued work, then close the file. A second call only waits for the first."""
        if not self._closed:
            self._closed = True
            for loop in tuple(self._gathered):
                self._queue(self._gathered.pop(loop, []))
            self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _dispatch(self, loop: asyncio.AbstractEventLoop) -> None:
        """Commit the jobs of this round, or queue them for the thread."""
        jobs = self._gathered.pop(loop, [])
        with self._lock:
            done = self._can_commit_inline(jobs) and self._commit_inline(jobs)
        if not done:
            self._queue(jobs)

    def _queue(self, jobs: list[Job[Any]]) -> None:
        if jobs:
            with self._lock:
                self._queued += len(jobs)
            self._jobs.put(jobs)

    def _can_commit_inline(self, jobs: list[Job[Any]]) -> bool:
        self._commits = (self._commits + 1) % THREAD_COMMIT_INTERVAL
        return (
            0 < len(jobs) <= MAX_INLINE_JOBS
            and not self._queued
            and self._commits > 0
            and self._settings.synchronous == 'normal'
            and time.monotonic() >= self._not_before
            and all(job.is_short is not None and job.is_short() for job in jobs)
        )

    def _commit_inline(self, jobs: list[Job[Any]]) -> bool:
        """Commit on the loop's thread. Return False without effect if a lock or full disk prevents it."""
        begun = time.monotonic()
        self._set_blocking(False)
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

    def _set_blocking(self, may: bool) -> None:
        """Set whether a transaction may wait for other processes and run a due checkpoint."""
        if self._blocking != may:
            timeout = int(self._settings.busy_timeout * 1000) if may else 0
            self._connection.execute(f'PRAGMA busy_timeout = {timeout}')
            self._connection.execute(f'PRAGMA wal_autocheckpoint = {CHECKPOINT if may else 0}')
            self._blocking = may

    def _run(self) -> None:
        going = True
        while going:
            batch, going = self._next_batch()
            if batch:
                self._set_blocking(True)
                self._commit(batch)
                with self._lock:
                    self._queued -= len(batch)
                self._deliver_results(batch)
        self.alchemy.close()
        self._connection.close()

    def _next_batch(self) -> tuple[list[Job[Any]], bool]:
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
            if file_identity(self._path) != self._file:  # SQLite would write to an unlinked file.
                raise moved_error(self._path)
            self._connection.execute('BEGIN IMMEDIATE')
        except (sqlite3.Error, JournalUnavailable) as error:
            for job in batch:
                job.error = to_journal_error(error, self._path)
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
                batch[0].error = to_journal_error(error, self._path)
            else:
                # One job is at fault, or there is only room for some: commit each separately.
                for job in batch:
                    self._commit([job])

    def _deliver_results(self, batch: list[Job[Any]]) -> None:
        loops: dict[asyncio.AbstractEventLoop, list[Job[Any]]] = defaultdict(list)
        for job in batch:
            loops[job.loop].append(job)
        for loop, jobs in loops.items():
            # No caller waits on a closed loop.
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, jobs)


def _resolve(jobs: list[Job[Any]]) -> None:
    """Resolve the futures of finished jobs, all of one loop."""
    if len(jobs) > MAX_RESOLVED_A_ROUND:
        jobs[0].loop.call_soon(_resolve, jobs[MAX_RESOLVED_A_ROUND:])
    for job in jobs[:MAX_RESOLVED_A_ROUND]:
        if job.future.done():
            continue  # its caller was cancelled
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)
