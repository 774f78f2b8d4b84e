"""Inspection: counts a PostgreSQL database's contents without changing it, for `hemicycle doctor`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection

from storage.inspection import INCOMPLETE, BackupInfo
from storage.postgres.connections import engine, translate_errors
from storage.postgres.migrations import check
from storage.settings import Settings


def inspect_postgres(settings: Settings) -> BackupInfo:
    """Count a database's contents; all zero if there are no tables yet. Blocks. Raises `JournalError`."""
    with _reading(settings) as (connection, version):
        counts = 'SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM "transition")'
        runs, steps = connection.exec_driver_sql(counts).one() if version else (0, 0)
    return BackupInfo(created=time.time(), runs=runs, steps=steps, schema=version, digest='')


def incomplete_runs(settings: Settings) -> dict[str, int]:
    """Return the number of missing steps of each incomplete run. Blocks. Raises `JournalError`."""
    with _reading(settings) as (connection, version):
        return {run: lacks for run, lacks in connection.exec_driver_sql(INCOMPLETE)} if version else {}


@contextmanager
def _reading(settings: Settings) -> Iterator[tuple[Connection, int]]:
    """Yield a connection that can only read, and the database's version, 0 for an empty one."""
    database = engine(settings)
    try:
        with (
            translate_errors(settings.name),
            database.connect().execution_options(postgresql_readonly=True) as connection,
        ):
            yield connection, check(connection, settings.name)
    finally:
        database.dispose()
