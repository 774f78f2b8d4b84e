"""SqliteDatabase: one SQLite file, with one writer and a few readers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from typing import Concatenate, ParamSpec, TypeVar

from sqlalchemy import Connection
from typing_extensions import override

from engine.errors import JournalUnavailable
from engine.records import RunId, RunInfo, Snapshot, Transition
from storage.codec import Codec
from storage.gil_yield import GilYielder
from storage.protocol import Database, Work
from storage.settings import Settings
from storage.sqlite import file
from storage.sqlite.alchemy import alchemy
from storage.sqlite.append import Append, CachedRow
from storage.sqlite.file import translate_errors
from storage.sqlite.writer import Writer

P = ParamSpec('P')
T = TypeVar('T')
MAX_CACHED = 10_000
"""Maximum number of cached rows of runs."""


async def open_sqlite(settings: Settings) -> SqliteDatabase:
    """Open the file, creating or migrating it if necessary; raises the same errors as `open_journal`."""
    await asyncio.to_thread(file.prepare, settings)
    return SqliteDatabase(settings)


class SqliteDatabase(Database):
    """A database on disk. Created by `open_sqlite`.

    Nothing here waits for a disk or a lock on the event loop's thread. Writes are queued for the writer,
    which commits all queued work together (except a short write that arrives alone: see `writer`). Reads run
    in separate threads, on connections that never wait for the writer.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._codec = Codec()
        self._yielder = GilYielder()
        self._writer = Writer(settings, self._yielder)
        self._engine = file.read_only_engine(settings)
        self._readers = ThreadPoolExecutor(settings.readers, thread_name_prefix='journal-reader')
        self._closed = False
        self._cached_rows: dict[RunId, CachedRow] = {}
        """Cached rows of runs written here: appends address them by number without reading them first."""

    @override
    async def read(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        if self._closed:
            raise JournalUnavailable('the journal is closed')

        def work() -> T:
            with translate_errors(self._settings.path), self._engine.connect() as connection:
                return query(connection, *args, **kwargs)

        return await self._yielder.wait(asyncio.get_running_loop().run_in_executor(self._readers, work))

    @override
    async def defer(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> Callable[[], T]:
        """Return a function that runs a query when called, on a separate connection."""

        def work() -> T:
            with (
                translate_errors(self._settings.path),
                closing(file.connect(self._settings, reader=True)) as raw,
                alchemy(raw) as connection,
            ):
                return query(connection, *args, **kwargs)

        return cache(work)

    @override
    async def write(self, work: Work[T]) -> T:
        return await self._writer.do(lambda connection: work(self._writer.alchemy))

    @override
    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None
    ) -> int:
        work = Append(self._codec, info, transitions, snapshot, self._cached_rows.pop(info.id, None))
        size = await self._writer.do(work, is_short=work.is_short)
        # Cached only after the commit: after a rollback or cancellation, the next append reads the row.
        if work.cached and not info.status.ended:
            if len(self._cached_rows) >= MAX_CACHED:
                self._cached_rows.clear()
            self._cached_rows[info.id] = work.cached
        return size

    @override
    async def close(self) -> None:
        """Finish queued work, and close the file."""
        self._closed = True
        await self._writer.close()
        await asyncio.to_thread(self._readers.shutdown)
        self._engine.dispose()
