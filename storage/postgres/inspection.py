"""Inspection: counts a PostgreSQL database's contents without changing it, for `hemicycle doctor`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from storage.inspection import INCOMPLETE, BackupInfo
from storage.postgres.connections import conninfo, translate_errors
from storage.settings import Settings


def inspect_postgres(settings: Settings) -> BackupInfo:
    """Count a database's contents; all zero if there are no tables yet. Blocks. Raises `JournalError`."""
    with _reading(settings) as connection:
        runs = steps = schema = 0
        if _has_tables(connection):
            row = connection.execute('SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM "transition")')
            runs, steps = row.fetchone() or (0, 0)
            (schema,) = connection.execute('SELECT max(version) FROM hemicycle').fetchone() or (0,)
    return BackupInfo(created=time.time(), runs=runs, steps=steps, schema=schema, digest='')


def incomplete_runs(settings: Settings) -> dict[str, int]:
    """Return the number of missing steps of each incomplete run. Blocks. Raises `JournalError`."""
    with _reading(settings) as connection:
        return dict(connection.execute(INCOMPLETE)) if _has_tables(connection) else {}


@contextmanager
def _reading(settings: Settings) -> Iterator[psycopg.Connection]:
    with translate_errors(settings.name), psycopg.connect(conninfo(settings)) as connection:
        connection.read_only = True
        yield connection


def _has_tables(connection: psycopg.Connection) -> bool:
    return connection.execute("SELECT to_regclass('run')").fetchone() != (None,)
