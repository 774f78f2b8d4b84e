"""The baseline: a journal's rows, inserted and committed one by one through bare `sqlite3`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

Stored = tuple[int, int, float, str, str, bytes]


def read_stored(database: Path, limit: int, *, skip: int = 0) -> list[Stored]:
    """Read rows of a journal's transitions, in the order they were written."""
    connection = sqlite3.connect(database)
    try:
        return connection.execute(
            'SELECT run, seq, time, name, at, body FROM "transition" ORDER BY rowid LIMIT ? OFFSET ?',
            (limit, skip),
        ).fetchall()
    finally:
        connection.close()


class Raw:
    """A table like the journal's, and nothing else."""

    def __init__(self, database: Path, synchronous: str) -> None:
        self._connection = sqlite3.connect(database)
        self._connection.execute('PRAGMA journal_mode = WAL')
        self._connection.execute(f'PRAGMA synchronous = {synchronous}')
        self._connection.execute(
            'CREATE TABLE step (run INTEGER NOT NULL, seq INTEGER NOT NULL, time FLOAT NOT NULL,'
            ' name VARCHAR NOT NULL, at VARCHAR NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run, seq))'
        )

    def write(self, rows: list[Stored]) -> None:
        """Put each row in and commit it."""
        connection = self._connection
        for row in rows:
            connection.execute('INSERT INTO step VALUES (?, ?, ?, ?, ?, ?)', row)
            connection.commit()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
