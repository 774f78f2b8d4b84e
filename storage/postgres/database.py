"""PostgresDatabase: appends on asynchronous connections, the rest in threads, in short transactions."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec, TypeVar

import psycopg
from psycopg_pool import AsyncConnectionPool
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from engine.errors import EngineError, JournalConflict, JournalUnavailable, StaleOwner, UnknownRun
from engine.records import RunId, RunInfo, Snapshot, Transition
from storage.codec import Codec
from storage.gil_yield import GilYielder
from storage.postgres.append import APPEND, SELECT_EPOCH, STORED, EncodedAppend, encode
from storage.postgres.connections import (
    ADAPTERS,
    conninfo,
    engine,
    is_lost,
    is_race,
    to_journal_error,
    translate_errors,
)
from storage.postgres.migrations import migrate
from storage.protocol import Database, Work
from storage.settings import Settings

P = ParamSpec('P')
T = TypeVar('T')

APPENDERS = 8
"""Maximum connections for appends; more would only wait for the server's disk together."""
MAX_INLINE_STEPS = 100
"""Appends with more steps than this, or with a snapshot, are encoded in a thread."""
RETRY_SECONDS = 0.1
"""Seconds between attempts to reach the server."""
MAX_ATTEMPTS = 5
"""Attempts at work that loses to concurrent transactions."""


async def open_postgres(settings: Settings) -> PostgresDatabase:
    """Open a database and migrate it to the current version; raises the same errors as `open_journal`."""
    database = PostgresDatabase(settings)
    try:
        await database.write(lambda connection: migrate(connection, settings.name))
        await database.begin()
    except BaseException:
        await database.close()
        raise
    return database


class PostgresDatabase(Database):
    """A database on a server. Created by `open_postgres`.

    An append is one statement on a connection of the event loop. Everything else runs in threads, where a
    failed connection is replaced for up to `Settings.busy_timeout`.
    """

    def __init__(self, settings: Settings) -> None:
        self._name = settings.name
        self._patience = settings.busy_timeout
        self._engine: Engine = engine(settings)
        self._threads = ThreadPoolExecutor(settings.readers, thread_name_prefix='journal')
        self._pool = AsyncConnectionPool(
            conninfo(settings),
            kwargs={'autocommit': True, 'context': ADAPTERS},
            min_size=1,
            max_size=APPENDERS,
            timeout=settings.busy_timeout,
            reconnect_timeout=RETRY_SECONDS,
            open=False,
        )
        self._yielder = GilYielder()
        self._codec = Codec()
        self._unconfirmed: dict[tuple[RunId, int], EncodedAppend] = {}
        """Appends that may or may not have been committed, by run and epoch."""
        self._pending: set[asyncio.Task[Any]] = set()
        self._closed = False

    async def begin(self) -> None:
        """Open the first connection."""
        await self._pool.open()

    @override
    async def read(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._finish(
            self._in_thread(lambda: self._transact(lambda connection: query(connection, *args, **kwargs)))
        )

    @override
    async def defer(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[], T]:
        """Run a query immediately, so that the later call does not wait for the network."""
        result = await self.read(query, *args, **kwargs)
        return lambda: result

    @override
    async def write(self, work: Work[T]) -> T:
        return await self._finish(self._in_thread(lambda: self._transact(work)))

    @override
    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None
    ) -> int:
        """Store a run's next steps if the epoch and the step number match."""
        if snapshot or len(transitions) > MAX_INLINE_STEPS:
            rows = await self._finish(self._in_thread(lambda: encode(Codec(), info, transitions, snapshot)))
        else:
            rows = encode(self._codec, info, transitions, snapshot)
        for number, row in enumerate(rows.steps, start=rows.before + 1):
            if row[0] != number:
                raise await self._rejection(info, row[0])
        return await self._finish(self._append(info, rows))

    @override
    async def close(self) -> None:
        """Finish pending work, then close all connections."""
        self._closed = True
        while self._pending:
            await asyncio.wait(self._pending)
        await self._pool.close()
        await asyncio.to_thread(self._threads.shutdown)
        self._engine.dispose()

    async def _append(self, info: RunInfo, rows: EncodedAppend) -> int:
        unconfirmed = self._unconfirmed.pop((info.id, info.epoch), None)
        try:
            with translate_errors(self._name):
                rows_written = await self._fetch(APPEND, rows.values(info))
                if not rows_written and unconfirmed and await self._is_stored(info, rows):
                    return rows.size
        except JournalUnavailable:
            self._unconfirmed[info.id, info.epoch] = rows
            raise
        if not rows_written:
            raise await self._rejection(info, rows.before + 1)
        return rows.size

    async def _is_stored(self, info: RunInfo, rows: EncodedAppend) -> bool:
        """Return whether this append was committed although its response was lost."""
        [(epoch,)] = await self._fetch(SELECT_EPOCH, (info.id,)) or [(None,)]
        stored = await self._fetch(STORED, (info.id, rows.after, rows.before))
        return epoch == info.epoch and stored == rows.steps

    async def _rejection(self, info: RunInfo, seq: int) -> EngineError:
        """Return the reason why step `seq` was rejected; nothing was written."""
        with translate_errors(self._name):
            epochs = await self._fetch(SELECT_EPOCH, (info.id,))
        if not epochs:
            return UnknownRun(info.id)
        if epochs != [(info.epoch,)]:
            return StaleOwner(info.id, info.epoch)
        return JournalConflict(info.id, seq)

    async def _fetch(self, statement: str, values: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        async with self._pool.connection() as connection:
            cursor = await connection.execute(statement, values, prepare=True)
            return await cursor.fetchall()

    async def _finish(self, work: Coroutine[Any, Any, T]) -> T:
        """Do work, even if the caller is cancelled meanwhile."""
        if self._closed:
            work.close()
            raise JournalUnavailable('the journal is closed')
        task = asyncio.ensure_future(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        return await asyncio.shield(task)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await self._yielder.wait(asyncio.get_running_loop().run_in_executor(self._threads, work))

    def _transact(self, work: Work[T]) -> T:
        """Do work in a transaction. Retry after a lost race, or after a disconnect before the commit."""
        tries, until = 0, time.monotonic() + self._patience
        while True:
            committing = False
            try:
                with self._engine.connect() as connection:
                    result = work(connection)
                    committing = True
                    connection.commit()
                    return result
            except (DBAPIError, psycopg.Error, UnicodeEncodeError) as error:
                tries += 1
                lost = is_lost(error) and not committing and time.monotonic() < until
                if not lost and not (is_race(error) and tries < MAX_ATTEMPTS):
                    raise to_journal_error(error, self._name) from error
            if lost:
                time.sleep(RETRY_SECONDS)
