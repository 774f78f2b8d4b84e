"""SqlDocuments: what programs around the engine store with the runs, in the same database."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override

from engine.journal.documents import Documents, Entry, EntryQuery, Reservation
from engine.records import RunId
from storage.protocol import Database
from storage.sql import commands, entries


class SqlDocuments(Documents):
    """Documents in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @override
    async def reserve(self, reservation: Reservation) -> Reservation:
        return await self._database.write(commands.reserve(reservation))

    @override
    async def finish_reservation(self, key: str, reply: str | None) -> None:
        await self._database.write(commands.finish_reservation(key, reply))

    @override
    async def get(self, kind: str, key: str) -> Entry | None:
        return await self._database.read(entries.entry, kind, key)

    @override
    async def find(self, query: EntryQuery) -> list[Entry]:
        return await self._database.read(entries.entries, query)

    @override
    async def write(self, written: Sequence[Entry], deleted: Sequence[Entry] = ()) -> None:
        await self._database.write(entries.write_entries(written, deleted))

    @override
    async def forget(self, query: EntryQuery) -> int:
        return await self._database.write(entries.forget_entries(query))

    @override
    async def runs_beyond(self, kind: str, since: float) -> list[RunId]:
        return await self._database.read(entries.runs_beyond, kind, since)
