"""SqlJournal: the Journal protocol over an SQLite file or a PostgreSQL database."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from engine.journal.protocol import Entry, EntryQuery, Reservation, WholeRun
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
from storage.protocol import Database
from storage.settings import Settings
from storage.sql import commands, entries, path_stats, queries


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


class SqlJournal:
    """A journal in a database. Created by `open_journal`; must be closed."""

    def __init__(self, database: Database) -> None:
        self.database = database

    async def create(self, info: RunInfo, shape: Shape) -> None:
        """Store a new run."""
        await self.database.write(commands.create(info, shape))

    async def fork(self, info: RunInfo, shape: Shape) -> None:
        """Store a new run that begins as a copy of its parent."""
        await self.database.write(commands.fork(info, shape))

    async def import_runs(self, runs: Sequence[WholeRun]) -> None:
        """Store whole runs, all or none."""
        aside = StagedRuns(runs)
        try:
            await asyncio.to_thread(aside.fill)
            await self.database.write(aside)
        finally:
            await asyncio.to_thread(aside.close)

    async def claim(self, run: RunId, owner: str) -> RunInfo:
        """Make `owner` the only writer."""
        epoch = await self.database.write(commands.claim(run, owner))
        # Read after the commit, when another process may have claimed the run: return our claim, not theirs.
        return replace(await self.info(run), owner=owner, epoch=epoch)

    async def append(
        self, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None = None
    ) -> int:
        """Store transitions and the run's new summary."""
        return await self.database.append(info, transitions, snapshot)

    async def info(self, run: RunId) -> RunInfo:
        """The run's summary."""
        return await self.database.read(queries.info, run)

    async def shape(self, run: RunId) -> Shape:
        """The run's chart."""
        return await self.database.read(queries.shape, run)

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """The steps in the given range."""
        return await self.database.read(queries.transitions, run, after, until, limit)

    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        """The latest snapshot at or before step `at`."""
        snapshot = await self.database.read(queries.snapshot, run, at)
        if not snapshot or not (fields := long_lists(snapshot)):
            return snapshot
        lists = {
            name: await self.database.defer(queries.long_list, run, snapshot.seq, name) for name in fields
        }
        return PartialSnapshot(run=run, seq=snapshot.seq, state=snapshot.state, lists=lists)

    async def runs(self, query: RunQuery) -> RunPage:
        """Summaries of the runs that match, newest first."""
        return await self.database.read(queries.runs, query)

    async def family(self, run: RunId) -> list[RunInfo]:
        """The run, its ancestors and all their forks."""
        return await self.database.read(queries.family, run)

    async def unfinished(self) -> list[RunInfo]:
        """Every run that has not ended, oldest first."""
        return await self.database.read(queries.unfinished)

    async def annotate(self, run: RunId, **changes: Unpack[Annotation]) -> RunInfo:
        """Change a person's annotations of a run."""
        await self.database.write(commands.annotate(run, changes))
        return await self.info(run)

    async def notes(self, run: RunId) -> list[Note]:
        """The notes on a run's steps."""
        return await self.database.read(queries.notes, run)

    async def write_note(self, note: Note) -> Note:
        """Store or change a note."""
        return await self.database.write(commands.write_note(note))

    async def delete_note(self, run: RunId, note: int) -> None:
        """Delete a note."""
        await self.database.write(commands.delete_note(run, note))

    async def delete(self, run: RunId) -> None:
        """Delete a run."""
        await self.database.write(commands.delete_run(run))

    async def outdated_runs(self, query: RunQuery) -> list[RunId]:
        """Matching runs that have progressed since their path statistics were stored."""
        return await self.database.read(queries.outdated_runs, query)

    async def path_stats(self, run: RunId) -> PathStats | None:
        """The stored path statistics of a run."""
        return await self.database.read(queries.path_stats, run)

    async def store_path_stats(self, stats_by_run: Mapping[RunId, PathStats]) -> None:
        """Store path statistics."""
        await self.database.write(path_stats.store_path_stats(stats_by_run))

    async def traffic(self, query: RunQuery) -> Traffic:
        """The traffic of all matching runs together."""
        return await self.database.read(queries.total_traffic, query)

    async def reserve(self, reservation: Reservation) -> Reservation:
        """Store a reservation, unless its key is in use."""
        return await self.database.write(commands.reserve(reservation))

    async def finish_reservation(self, key: str, reply: str | None) -> None:
        """Store the reply to a reserved request, or free its key."""
        await self.database.write(commands.finish_reservation(key, reply))

    async def entry(self, kind: str, key: str) -> Entry | None:
        """An entry by its key."""
        return await self.database.read(entries.entry, kind, key)

    async def entries(self, query: EntryQuery) -> list[Entry]:
        """The entries that match."""
        return await self.database.read(entries.entries, query)

    async def write_entries(self, written: Sequence[Entry], deleted: Sequence[Entry] = ()) -> None:
        """Write and delete entries, all or none."""
        await self.database.write(entries.write_entries(written, deleted))

    async def forget_entries(self, query: EntryQuery) -> int:
        """Delete all entries that match."""
        return await self.database.write(entries.forget_entries(query))

    async def runs_beyond(self, kind: str, since: float) -> list[RunId]:
        """Runs whose last step is beyond the rank of their entry."""
        return await self.database.read(entries.runs_beyond, kind, since)

    async def close(self) -> None:
        """Flush the queue and close."""
        await self.database.close()
