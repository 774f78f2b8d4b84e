"""Entries: reads and writes the small documents that programs around the engine store with the runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, func, insert, select

from engine.errors import EntryChanged, JournalDamaged
from engine.journal.documents import Entry, EntryQuery
from engine.records import RunId
from storage.protocol import Work
from storage.sql.rows import ENTRY, RUN


def entry(connection: Connection, kind: str, key: str) -> Entry | None:
    """Return the entry with this key; None if there is none."""
    row = connection.execute(select(ENTRY).where(ENTRY.c.kind == kind, ENTRY.c.key == key)).one_or_none()
    return None if row is None else _entry_of(row)


def entries(connection: Connection, query: EntryQuery) -> list[Entry]:
    """Return the matching entries, by rank, then by key."""
    order = [ENTRY.c.rank.desc(), ENTRY.c.key.desc()] if query.newest else [ENTRY.c.rank, ENTRY.c.key]
    selected = select(ENTRY).where(_matches(query)).order_by(*order).limit(query.limit)
    return [_entry_of(row) for row in connection.execute(selected).all()]


def runs_beyond(connection: Connection, kind: str, since: float) -> list[RunId]:
    """Return runs whose last step is beyond the rank of their entry."""
    reached = and_(ENTRY.c.kind == kind, ENTRY.c.key == RUN.c.id)
    selected = (
        select(RUN.c.id)
        .outerjoin(ENTRY, reached)
        .where(RUN.c.updated >= since, RUN.c.seq > func.coalesce(ENTRY.c.rank, 0))
        .order_by(RUN.c.updated, RUN.c.id)
    )
    return [RunId(run) for run in connection.execute(selected).scalars()]


def write_entries(written: Sequence[Entry], deleted: Sequence[Entry]) -> Work[None]:
    """Return the work that writes and deletes entries. Raises `EntryChanged` if a version differs."""

    def work(connection: Connection) -> None:
        check_versions(connection, (*written, *deleted))
        replace_entries(connection, written, deleted)

    return work


def check_versions(connection: Connection, entries: Sequence[Entry]) -> None:
    """Raise `EntryChanged` if a stored version differs; lock the entries until the transaction ends."""
    for entry in sorted(entries, key=lambda item: (item.kind, item.key)):
        stored = connection.execute(select(ENTRY.c.version).where(_is(entry)).with_for_update()).scalar()
        if (stored or 0) != entry.version:
            raise EntryChanged(entry.kind, entry.key)


def replace_entries(connection: Connection, written: Sequence[Entry], deleted: Sequence[Entry] = ()) -> None:
    """Write and delete entries whose versions have been checked."""
    for entry in (*deleted, *written):
        connection.execute(delete(ENTRY).where(_is(entry)))
    if written:
        connection.execute(insert(ENTRY), [_row(entry) for entry in written])


def forget_entries(query: EntryQuery) -> Work[int]:
    """Delete all entries that match."""
    return lambda connection: connection.execute(delete(ENTRY).where(_matches(query))).rowcount


def _is(entry: Entry) -> ColumnElement[bool]:
    return and_(ENTRY.c.kind == entry.kind, ENTRY.c.key == entry.key)


def _row(entry: Entry) -> dict[str, Any]:
    same = {column.name: getattr(entry, column.name) for column in ENTRY.c}
    return {**same, 'version': entry.version + 1, 'body': json.dumps(dict(entry.body))}


def _matches(query: EntryQuery) -> ColumnElement[bool]:
    where = [ENTRY.c.kind == query.kind]
    if query.state:
        where.append(ENTRY.c.state == query.state)
    if query.about:
        where.append(ENTRY.c.about == query.about)
    if query.until is not None:
        where.append(ENTRY.c.rank <= query.until)
    return and_(*where)


def _entry_of(row: Row[Any]) -> Entry:
    try:
        body = json.loads(row.body)
    except ValueError as error:
        raise JournalDamaged(f'the entry {row.kind} {row.key} is damaged ({error})') from error
    return Entry(**{**row._mapping, 'body': body})
