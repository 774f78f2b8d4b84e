"""How the database came to its present form: numbered steps, applied in order when it is opened.

A new database takes all of them, so the way from an old version is the way every database is made. The number
of the last one applied is SQLite's own `user_version`; `application_id` tells our files from others. What is
pending happens in one transaction: a step that fails leaves the file as it was. For that, and because a
history may be larger than the free disk, no copy is made before.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable

from engine.errors import JournalDamaged
from storage.search import index_all

APPLICATION = 0x48454D49
"""`HEMI`."""


def first(connection: sqlite3.Connection) -> None:
    """Runs, what they were launched with, tags, transitions and snapshots."""
    for statement in FIRST.split(';'):
        connection.execute(statement)


def second(connection: sqlite3.Connection) -> None:
    """A note on each run, and full-text search over what people wrote."""
    connection.execute("ALTER TABLE run ADD COLUMN note VARCHAR NOT NULL DEFAULT ''")
    connection.execute('CREATE VIRTUAL TABLE search USING fts5(title, note, parameters, tags, pattern)')
    # It is filled by the sixth, without which it cannot be: what is indexed has notes on steps among it.


def third(connection: sqlite3.Connection) -> None:
    """How each run runs."""
    connection.execute("ALTER TABLE launch ADD COLUMN options VARCHAR NOT NULL DEFAULT '{}'")


def fourth(connection: sqlite3.Connection) -> None:
    """All that is counted of a run's usage, what it cost, and its budget."""
    for column in (
        'cached INTEGER NOT NULL DEFAULT 0',
        'written INTEGER NOT NULL DEFAULT 0',
        'reasoning INTEGER NOT NULL DEFAULT 0',
        "source VARCHAR NOT NULL DEFAULT 'provider'",
        'dollars FLOAT NOT NULL DEFAULT 0',
        'unpriced INTEGER NOT NULL DEFAULT 0',
        "budget VARCHAR NOT NULL DEFAULT ''",
    ):
        connection.execute(f'ALTER TABLE run ADD COLUMN {column}')
    # What live calls cost was in their replies only: of a run as a whole it is not known.
    connection.execute('UPDATE run SET unpriced = calls WHERE NOT simulated')


def fifth(connection: sqlite3.Connection) -> None:
    """What runs went through: filled when it is asked for."""
    for statement in FIFTH.split(';'):
        connection.execute(statement)


def sixth(connection: sqlite3.Connection) -> None:
    """Notes on steps; stars, pins, and a trash; the indexes of the list know what is in the trash."""
    for column in (
        'starred BOOLEAN NOT NULL DEFAULT 0',
        'pinned BOOLEAN NOT NULL DEFAULT 0',
        'deleted FLOAT NOT NULL DEFAULT 0',
    ):
        connection.execute(f'ALTER TABLE run ADD COLUMN {column}')
    for statement in SIXTH.split(';'):
        connection.execute(statement)
    index_all(connection)


def seventh(connection: sqlite3.Connection) -> None:
    """A run's forks are found without reading all runs."""
    connection.execute('CREATE INDEX run_of_parent ON run (parent)')


MIGRATIONS: tuple[Callable[[sqlite3.Connection], None], ...] = (
    first,
    second,
    third,
    fourth,
    fifth,
    sixth,
    seventh,
)
"""Never edit one that has been released: add another."""


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Bring a database to the present version.

    Raises:
        JournalDamaged: it belongs to another program or to a newer version of this one; it is left untouched.
    """
    version = check(connection, path)
    if version == len(MIGRATIONS):
        return
    connection.execute('BEGIN IMMEDIATE')
    try:
        # Another process may have done it while this one waited for the lock.
        for step in MIGRATIONS[check(connection, path) :]:
            step(connection)
        connection.execute(f'PRAGMA application_id = {APPLICATION}')
        connection.execute(f'PRAGMA user_version = {len(MIGRATIONS)}')
        connection.execute('COMMIT')
    except BaseException:
        if connection.in_transaction:
            connection.execute('ROLLBACK')
        raise


def check(connection: sqlite3.Connection, path: str) -> int:
    """The version of a database, 0 for an empty one. Reads only. Raises `JournalDamaged`."""
    (version,) = connection.execute('PRAGMA user_version').fetchone()
    (application,) = connection.execute('PRAGMA application_id').fetchone()
    (tables,) = connection.execute('SELECT count(*) FROM sqlite_master').fetchone()
    if tables and application != APPLICATION:
        raise JournalDamaged(f'{path} is the database of another program; name another file')
    if version > len(MIGRATIONS):
        raise JournalDamaged(
            f'{path} was written by a newer version: its format is {version}, this program '
            f'knows formats up to {len(MIGRATIONS)}. Install the newer version, or name another file'
        )
    return int(version)


FIRST = """
CREATE TABLE run (
    number INTEGER NOT NULL PRIMARY KEY, id VARCHAR NOT NULL UNIQUE, pattern VARCHAR NOT NULL,
    title VARCHAR NOT NULL, status VARCHAR NOT NULL, created FLOAT NOT NULL, updated FLOAT NOT NULL,
    seq INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, calls INTEGER NOT NULL,
    error VARCHAR NOT NULL, waiting VARCHAR NOT NULL, simulated BOOLEAN NOT NULL, parent VARCHAR,
    parent_at INTEGER NOT NULL, owner VARCHAR NOT NULL, epoch INTEGER NOT NULL, bytes INTEGER NOT NULL
);
CREATE INDEX run_newest ON run (created, id);
CREATE INDEX run_of_pattern ON run (pattern, created, id);
CREATE INDEX run_in_status ON run (status, created, id);
CREATE TABLE launch (
    run INTEGER NOT NULL PRIMARY KEY REFERENCES run (number) ON DELETE CASCADE,
    parameters VARCHAR NOT NULL, models VARCHAR NOT NULL, seed VARCHAR NOT NULL, shape VARCHAR NOT NULL
);
CREATE TABLE tag (
    run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    position INTEGER NOT NULL, label VARCHAR NOT NULL, PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE INDEX tag_label ON tag (label, run);
CREATE TABLE "transition" (
    run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL, time FLOAT NOT NULL, name VARCHAR NOT NULL, at VARCHAR NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (run, seq)
);
CREATE TABLE snapshot (
    run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run, seq)
)
"""

FIFTH = """
CREATE TABLE trail (
    run INTEGER NOT NULL PRIMARY KEY REFERENCES run (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL, rules INTEGER NOT NULL, rest VARCHAR NOT NULL
);
CREATE TABLE trail_edge (
    run INTEGER NOT NULL REFERENCES trail (run) ON DELETE CASCADE,
    source VARCHAR NOT NULL, dest VARCHAR NOT NULL, times INTEGER NOT NULL, PRIMARY KEY (run, source, dest)
) WITHOUT ROWID;
CREATE TABLE trail_state (
    run INTEGER NOT NULL REFERENCES trail (run) ON DELETE CASCADE,
    path VARCHAR NOT NULL, visits INTEGER NOT NULL, seconds FLOAT NOT NULL, failed INTEGER NOT NULL,
    expired INTEGER NOT NULL, fell INTEGER NOT NULL, PRIMARY KEY (run, path)
) WITHOUT ROWID
"""

SIXTH = """
CREATE TABLE note (
    id INTEGER NOT NULL PRIMARY KEY, run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL, text VARCHAR NOT NULL, created FLOAT NOT NULL, edited FLOAT NOT NULL
);
CREATE INDEX note_of_step ON note (run, seq);
DROP INDEX run_newest;
DROP INDEX run_of_pattern;
DROP INDEX run_in_status;
CREATE INDEX run_newest ON run (deleted, created, id);
CREATE INDEX run_of_pattern ON run (deleted, pattern, created, id);
CREATE INDEX run_in_status ON run (deleted, status, created, id);
CREATE INDEX run_kept ON run (deleted, pinned, created, id)
"""
