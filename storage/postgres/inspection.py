"""What a PostgreSQL database holds, without changing it: for `hemicycle doctor`."""

from __future__ import annotations

import time

import psycopg

from storage.postgres.connections import conninfo, translate_errors
from storage.settings import Settings
from storage.sqlite.backup import BackupInfo


def inspect_postgres(settings: Settings) -> BackupInfo:
    """Count a database's contents; all zero if there are no tables yet. Blocks. Raises `JournalError`."""
    with translate_errors(settings.name), psycopg.connect(conninfo(settings)) as connection:
        connection.read_only = True
        runs = steps = schema = 0
        if connection.execute("SELECT to_regclass('run')").fetchone() != (None,):
            row = connection.execute('SELECT (SELECT count(*) FROM run), (SELECT count(*) FROM "transition")')
            runs, steps = row.fetchone() or (0, 0)
            (schema,) = connection.execute('SELECT max(version) FROM hemicycle').fetchone() or (0,)
    return BackupInfo(created=time.time(), runs=runs, steps=steps, schema=schema, digest='')
