"""Copies a whole database into an empty one, from SQLite to PostgreSQL or back: all or nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial

from sqlalchemy import ColumnElement, Connection, Table, func, insert, select, text, true

from engine.errors import JournalDamaged, JournalUnavailable
from storage.settings import Settings
from storage.sql import search
from storage.sql.rows import ENTRY, RUN, STEP
from storage.sql.tables import RunRow

TABLES: tuple[Table, ...] = tuple(RunRow.metadata.sorted_tables)
"""All tables but the search index, which is rebuilt; tables that others refer to come first."""
BATCH_ROWS = 500
"""Rows written at a time."""
PROCESS = 'process'
"""The kind of the entries of live processes: specific to one database, and not copied."""
MAX_WAIT, RETRY_SECONDS = 2.0, 0.05
"""Seconds to wait for a session to close, and between checks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyInfo:
    """The size of a finished copy."""

    created: float
    runs: int
    steps: int


def copy_database(source: Settings, target: Settings, progress: Callable[[int, int], None]) -> CopyInfo:
    """Copy all rows with their keys, compare the counts, then commit. Blocks; the source's data is unchanged.

    Args:
        source: must exist; an older version is migrated.
        target: must be empty or not exist yet.
        progress: called with the number of rows copied so far and the total.

    Raises:
        JournalUnavailable: the source is in use or was changed meanwhile, or the target is not empty.
        JournalDamaged: not all rows arrived.
        JournalError: the source or the target cannot be read or written.
    """
    if not source.on_postgres and not source.path.exists():
        raise JournalUnavailable(f'{source.name} does not exist: there is nothing to copy')
    for settings in (source, target):
        _refuse_others(settings)
    with _open(source) as source_connection:
        before = _count(source_connection)
        total, done = sum(before.rows.values()) + before.rows[RUN.name], 0
        with _open(target, write=True) as target_connection:
            if any((present := _count(target_connection).rows).values()):
                contents = f'{present[RUN.name]} runs, {present[ENTRY.name]} entries'
                raise JournalUnavailable(f'{target.name} is not empty ({contents}): name another database')
            for table in TABLES:
                for batch in _batches(source, source_connection, table):
                    target_connection.execute(insert(table), batch)
                    progress(done := done + len(batch), total)
            for number in target_connection.execute(select(RUN.c.number)).scalars().all():
                search.index(target_connection, number)
                progress(done := done + 1, total)
            if target.on_postgres:
                _advance_sequences(target_connection)
            if (arrived := _count(target_connection)) != before:
                raise JournalDamaged(
                    f'{target.name}: only {arrived} of {before} arrived; the copy was discarded'
                )
            with _open(source) as recheck:
                if _count(recheck) != before:
                    raise JournalUnavailable(
                        f'{source.name} was changed meanwhile: stop what uses it; the copy was discarded'
                    )
            target_connection.commit()
    return CopyInfo(created=time.time(), runs=before.rows[RUN.name], steps=before.rows[STEP.name])


@dataclass(frozen=True, slots=True)
class _Counts:
    """Counts that identify a database's contents."""

    rows: dict[str, int]
    """Number of rows by table name."""
    changes: tuple[int, ...]
    """Sums that grow with each step, claim and change to an entry."""


def _count(connection: Connection) -> _Counts:
    rows = {
        table.name: connection.execute(
            select(func.count()).select_from(table).where(_rows_to_copy(table))
        ).scalar_one()
        for table in TABLES
    }
    runs = connection.execute(select(func.sum(RUN.c.seq), func.sum(RUN.c.epoch))).one()
    entries = connection.execute(select(func.sum(ENTRY.c.version)).where(_rows_to_copy(ENTRY))).one()
    return _Counts(rows, tuple(int(value or 0) for value in (*runs, *entries)))


def _rows_to_copy(table: Table) -> ColumnElement[bool]:
    return ENTRY.c.kind != PROCESS if table is ENTRY else true()


def _batches(source: Settings, connection: Connection, table: Table) -> Iterator[list[dict[str, object]]]:
    query = select(table).where(_rows_to_copy(table)).order_by(*table.primary_key)
    with _translate_errors(source):  # Otherwise the error would name the target.
        result = connection.execution_options(yield_per=BATCH_ROWS).execute(query)
        for rows in result.partitions():
            yield [dict(row._mapping) for row in rows]


@contextmanager
def _translate_errors(settings: Settings) -> Iterator[None]:
    if settings.on_postgres:
        from storage.postgres.connections import translate_errors

        with translate_errors(settings.name):
            yield
    else:
        from storage.sqlite import file

        with file.translate_errors(settings.path):
            yield


@contextmanager
def _open(settings: Settings, *, write: bool = False) -> Iterator[Connection]:
    """Open a connection that sees one snapshot of the database; rolled back unless committed."""
    opener = _open_postgres if settings.on_postgres else _open_sqlite
    with _translate_errors(settings), opener(settings, write) as connection:
        yield connection


@contextmanager
def _open_sqlite(settings: Settings, write: bool) -> Iterator[Connection]:
    from storage.sqlite import file
    from storage.sqlite.alchemy import alchemy

    file.prepare(settings)
    with closing(file.connect(settings, reader=not write)) as raw:
        raw.text_factory = partial(_decode_strictly, settings.name)
        with alchemy(raw) as connection:
            raw.execute('BEGIN IMMEDIATE' if write else 'BEGIN')
            yield connection


def _decode_strictly(name: str, text: bytes) -> str:
    """Decode strictly; when runs are shown, damaged text is silently repaired instead."""
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise JournalDamaged(
            f'{name} contains text that is not UTF-8 ({error}); put a backup in its place'
        ) from error


@contextmanager
def _open_postgres(settings: Settings, write: bool) -> Iterator[Connection]:
    from storage.postgres.connections import engine
    from storage.postgres.migrations import migrate

    database = engine(settings)
    try:
        with database.begin() as connection:
            migrate(connection, settings.name)
        with database.connect().execution_options(isolation_level='REPEATABLE READ') as connection:
            connection.execute(text('SET LOCAL idle_in_transaction_session_timeout = 0'))
            if write:
                connection.execute(text('LOCK TABLE run, entry, reservation IN EXCLUSIVE MODE'))
            yield connection
    finally:
        database.dispose()


def _refuse_others(settings: Settings) -> None:
    """Refuse a database that other Hemicycle processes use, including fleet workers."""
    if not settings.on_postgres:
        return
    from storage.postgres.connections import engine

    database, until = engine(settings), time.monotonic() + MAX_WAIT
    try:
        with (
            _translate_errors(settings),
            database.connect().execution_options(isolation_level='AUTOCOMMIT') as connection,
        ):
            while others := connection.execute(OTHERS).scalar_one():
                if time.monotonic() > until:
                    raise JournalUnavailable(
                        f'{settings.name} is in use by others ({others} sessions): stop them, and try again'
                    )
                time.sleep(RETRY_SECONDS)
    finally:
        database.dispose()


OTHERS = text(
    'SELECT count(*) FROM pg_stat_activity'
    " WHERE datname = current_database() AND application_name = 'hemicycle' AND pid <> pg_backend_pid()"
)


def _advance_sequences(connection: Connection) -> None:
    """Advance PostgreSQL's key sequences past the copied keys."""
    for table, column in (('run', 'number'), ('note', 'id')):
        connection.execute(
            text(
                f"SELECT setval(pg_get_serial_sequence('{table}', '{column}'), max({column}))"
                f' FROM {table} HAVING max({column}) IS NOT NULL'
            )
        )
