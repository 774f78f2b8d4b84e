"""SqlJournal: the Journal protocol over an SQLite file or a PostgreSQL database."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from typing_extensions import override

from engine.journal.documents import Entry
from engine.journal.protocol import Journal, WholeRun
from engine.records import (
    Annotation,
    Note,
    PathStats,
    RunId,
    RunInfo,
    RunPage,
    RunQuery,
    Shape,
    Snapshot,
    Traffic,
    Transition,
)
from engine.records.document import PartialSnapshot, long_lists
from storage.bulk.run_import import StagedRuns
from storage.documents import SqlDocuments
from storage.protocol import Database
from storage.settings import Settings
from storage.sql import commands, path_stats, queries


async def open_journal(settings: Settings | str | Path) -> SqlJournal:
    """Open a journal, creating or migrating its database if necessary.

    Args:
        settings: all settings, or just the database: a path, or an `sqlite:///` or `postgresql://` URL.

    Raises:
        InvalidInput: the URL names neither an SQLite file nor a PostgreSQL database.
        JournalDamaged: the database is not ours, corrupt, or from a newer or an unreleased version; it is
            left untouched.
        JournalUnavailable: it cannot be opened or written at present.
    """
    chosen = settings if isinstance(settings, Settings) else Settings(database=settings)
    if chosen.on_postgres:
        from storage.postgres.database import open_postgres

        return SqlJournal(await open_postgres(chosen))
    from storage.sqlite.database import open_sqlite

    return SqlJournal(await open_sqlite(chosen))


class SqlJournal(Journal):
    """A journal in a database. Created by `open_journal`; must be closed."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._documents = SqlDocuments(database)

    @property
    @override
    def documents(self) -> SqlDocuments:
        return self._documents

    @override
    async def create(self, info: RunInfo, shape: Shape) -> None:
        await self.database.write(commands.create(info, shape))

    @override
    async def fork(self, info: RunInfo, shape: Shape) -> None:
        await self.database.write(commands.fork(info, shape))

    @override
    async def import_runs(self, runs: Sequence[WholeRun], documents: Iterable[Entry] = ()) -> None:
        aside = StagedRuns(runs, documents)
        try:
            await asyncio.to_thread(aside.fill)
            await self.database.write(aside)
        finally:
            await asyncio.to_thread(aside.close)

    @override
    async def claim(self, run: RunId, owner: str) -> RunInfo:
        epoch = await self.database.write(commands.claim(run, owner))
        # Read after the commit, when another process may have claimed the run: return our claim, not theirs.
        return replace(await self.info(run), owner=owner, epoch=epoch)

    @override
    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        return await self.database.append(info, transitions, snapshot)

    @override
    async def info(self, run: RunId) -> RunInfo:
        return await self.database.read(queries.info, run)

    @override
    async def shape(self, run: RunId) -> Shape:
        return await self.database.read(queries.shape, run)

    @override
    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        return await self.database.read(queries.transitions, run, after, until, limit)

    @override
    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        snapshot = await self.database.read(queries.snapshot, run, at)
        if not snapshot or not (fields := long_lists(snapshot)):
            return snapshot
        lists = {
            name: await self.database.defer(queries.long_list, run, snapshot.seq, name) for name in fields
        }
        return PartialSnapshot(run=run, seq=snapshot.seq, state=snapshot.state, lists=lists)

    @override
    async def runs(self, query: RunQuery) -> RunPage:
        return await self.database.read(queries.runs, query)

    @override
    async def family(self, run: RunId) -> list[RunInfo]:
        return await self.database.read(queries.family, run)

    @override
    async def unfinished(self) -> list[RunInfo]:
        return await self.database.read(queries.unfinished)

    @override
    async def annotate(self, run: RunId, **changes: Unpack[Annotation]) -> RunInfo:
        await self.database.write(commands.annotate(run, changes))
        return await self.info(run)

    @override
    async def notes(self, run: RunId) -> list[Note]:
        return await self.database.read(queries.notes, run)

    @override
    async def write_note(self, note: Note) -> Note:
        return await self.database.write(commands.write_note(note))

    @override
    async def delete_note(self, run: RunId, note: int) -> None:
        await self.database.write(commands.delete_note(run, note))

    @override
    async def delete(self, run: RunId) -> None:
        await self.database.write(commands.delete_run(run))

    @override
    async def outdated_runs(self, query: RunQuery) -> list[RunId]:
        return await self.database.read(queries.outdated_runs, query)

    @override
    async def path_stats(self, run: RunId) -> PathStats | None:
        return await self.database.read(queries.path_stats, run)

    @override
    async def store_path_stats(self, stats_by_run: Mapping[RunId, PathStats]) -> None:
        await self.database.write(path_stats.store_path_stats(stats_by_run))

    @override
    async def traffic(self, query: RunQuery) -> Traffic:
        return await self.database.read(queries.total_traffic, query)

    @override
    async def close(self) -> None:
        await self.database.close()
