"""SqlJournal: the Journal protocol over one SQLite file, one writer and a few readers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar, Unpack

from sqlalchemy import Connection

from engine.errors import JournalUnavailable
from engine.journal import WholeRun
from engine.records import (
    Annotation,
    Note,
    RunId,
    RunInfo,
    RunPage,
    RunQuery,
    Shape,
    Snapshot,
    Traffic,
    Trail,
    Transition,
)
from storage import commands, database, queries, traffic, trails
from storage.append import Append
from storage.codec import Codec
from storage.database import Settings, explained
from storage.fairness import Turns
from storage.whole import Aside
from storage.writer import Writer

P = ParamSpec('P')
T = TypeVar('T')


async def open_journal(settings: Settings | str | Path) -> SqlJournal:
    """Open a journal; its file is made when there is none, and migrated when it is of an older version.

    Args:
        settings: all of them, or only the database: a path or an `sqlite:///` URL.

    Raises:
        InvalidInput: the URL names no SQLite file.
        JournalDamaged: the file is not ours, is corrupt, or is from a newer version; it is left untouched.
        JournalUnavailable: the file cannot be opened or written just now.
    """
    chosen = settings if isinstance(settings, Settings) else Settings(database=settings)
    await asyncio.to_thread(database.prepare, chosen)
    return SqlJournal(chosen)


class SqlJournal:
    """A journal on disk. Made by `open_journal`; to be closed.

    Nothing here waits for a disk or a lock on the event loop's thread: writes are queued for the writer,
    which commits all that is queued at once (a short one that comes alone is not: see `storage.writer`);
    reads happen in threads of their own, on connections that never wait for the writer.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._codec = Codec()
        self._turns = Turns()
        self._writer = Writer(settings, self._turns)
        self._engine = database.reading(settings)
        self._readers = ThreadPoolExecutor(settings.readers, thread_name_prefix='journal-reader')
        self._closed = False

    async def create(self, info: RunInfo, shape: Shape) -> None:
        """Keep a new run."""
        await self._writer.do(commands.create(info, shape))

    async def fork(self, info: RunInfo, shape: Shape) -> None:
        """Keep a new run that begins as a copy of its parent."""
        await self._writer.do(commands.fork(info, shape))

    async def put(self, runs: Sequence[WholeRun]) -> None:
        """Keep whole runs, all of them or none."""
        aside = Aside(runs)
        try:
            with explained(self._settings.path):
                await asyncio.to_thread(aside.fill)
            await self._writer.do(aside)
        finally:
            await asyncio.to_thread(aside.close)

    async def claim(self, run: RunId, owner: str) -> RunInfo:
        """Make `owner` the only writer."""
        epoch = await self._writer.do(commands.claim(run, owner))
        # Read after the commit: somebody may have claimed it since, but that is not what this caller holds.
        return replace(await self.info(run), owner=owner, epoch=epoch)

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        """Keep transitions and the run's new summary."""
        work = Append(self._codec, info, transitions, snapshot)
        return await self._writer.do(work, short=work.short)

    async def info(self, run: RunId) -> RunInfo:
        """The run's summary."""
        return await self._read(queries.info, run)

    async def shape(self, run: RunId) -> Shape:
        """The run's chart."""
        return await self._read(queries.shape, run)

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """The steps in that range."""
        return await self._read(queries.transitions, run, after, until, limit)

    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        """The latest snapshot at or before step `at`."""
        return await self._read(queries.snapshot, run, at)

    async def runs(self, query: RunQuery) -> RunPage:
        """Summaries of the runs that match, newest first."""
        return await self._read(queries.runs, query)

    async def family(self, run: RunId) -> list[RunInfo]:
        """The run, its ancestors, and all forks of these."""
        return await self._read(queries.family, run)

    async def unfinished(self) -> list[RunInfo]:
        """Every run that has not ended, oldest first."""
        return await self._read(queries.unfinished)

    async def annotate(self, run: RunId, **said: Unpack[Annotation]) -> RunInfo:
        """Change what a person says of a run."""
        await self._writer.do(commands.annotate(run, said))
        return await self.info(run)

    async def notes(self, run: RunId) -> list[Note]:
        """The notes on a run's steps."""
        return await self._read(queries.notes, run)

    async def write_note(self, note: Note) -> Note:
        """Keep a note, or change one."""
        return await self._writer.do(commands.write_note(note))

    async def delete_note(self, run: RunId, note: int) -> None:
        """Forget a note."""
        await self._writer.do(commands.delete_note(run, note))

    async def delete(self, run: RunId) -> None:
        """Forget a run."""
        await self._writer.do(commands.delete(run))

    async def due(self, query: RunQuery) -> list[RunId]:
        """Those that have gone on since their trail was kept."""
        return await self._read(traffic.due, query)

    async def trail(self, run: RunId) -> Trail | None:
        """What is kept of what the run went through."""
        return await self._read(queries.trail, run)

    async def keep_trails(self, given: Mapping[RunId, Trail]) -> None:
        """Keep these."""
        await self._writer.do(trails.keep(given))

    async def traffic(self, query: RunQuery) -> Traffic:
        """What all runs that match went through together."""
        return await self._read(traffic.traffic, query)

    async def set_quota(self, quota: int | None) -> None:
        """Let the file grow to `quota` bytes from now on; None is as far as the disk goes."""
        await self._writer.do(lambda connection: database.limit(connection, quota))

    async def close(self) -> None:
        """Write what is queued, and let go of the file."""
        self._closed = True
        await self._writer.close()
        await asyncio.to_thread(self._readers.shutdown)
        self._engine.dispose()

    async def _read(
        self, query: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        if self._closed:
            raise JournalUnavailable('the journal is closed')

        def work() -> T:
            with explained(self._settings.path), self._engine.connect() as connection:
                return query(connection, *args, **kwargs)

        return await self._turns.wait(asyncio.get_running_loop().run_in_executor(self._readers, work))
