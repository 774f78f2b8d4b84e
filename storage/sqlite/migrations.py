"""Migrations: numbered scripts that upgrade the database to the current schema, applied in order.

A new database runs all of them, so every database is built the way old ones are upgraded. SQLite's
`user_version` stores the number of the last one applied; `application_id` distinguishes our files from
others. Pending scripts run in one transaction: if one fails, the file is unchanged. A copy is made first,
since an older program cannot read the migrated file.
"""

from __future__ import annotations

import errno
import os
import sqlite3
from contextlib import closing
from pathlib import Path

from engine.errors import UNRELEASED, JournalDamaged, JournalUnavailable

APPLICATION = 0x48435943
"""`HCYC`."""
UNRELEASED_APPLICATION = 0x48454D49
"""`HEMI`: the files of versions before the first release, whose numbers start at 1 as well."""

SCHEMA = """
CREATE TABLE run (
    number INTEGER NOT NULL PRIMARY KEY, id VARCHAR NOT NULL UNIQUE, pattern VARCHAR NOT NULL,
    version VARCHAR NOT NULL, title VARCHAR NOT NULL, note VARCHAR NOT NULL, status VARCHAR NOT NULL,
    created FLOAT NOT NULL, updated FLOAT NOT NULL, seq INTEGER NOT NULL, input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    calls INTEGER NOT NULL, cached INTEGER NOT NULL, written INTEGER NOT NULL, reasoning INTEGER NOT NULL,
    source VARCHAR NOT NULL, dollars FLOAT NOT NULL, unpriced INTEGER NOT NULL, error VARCHAR NOT NULL,
    waiting VARCHAR NOT NULL, budget VARCHAR NOT NULL, simulated BOOLEAN NOT NULL, parent VARCHAR,
    parent_at INTEGER NOT NULL, owner VARCHAR NOT NULL, epoch INTEGER NOT NULL, bytes INTEGER NOT NULL,
    starred BOOLEAN NOT NULL, pinned BOOLEAN NOT NULL, deleted FLOAT NOT NULL, author VARCHAR NOT NULL,
    private BOOLEAN NOT NULL
);
CREATE INDEX run_newest ON run (deleted, created, id);
CREATE INDEX run_of_pattern ON run (deleted, pattern, created, id);
CREATE INDEX run_in_status ON run (deleted, status, created, id);
CREATE INDEX run_kept ON run (deleted, pinned, created, id);
CREATE INDEX run_of_parent ON run (parent);
CREATE TABLE launch (
    run INTEGER NOT NULL PRIMARY KEY REFERENCES run (number) ON DELETE CASCADE,
    parameters VARCHAR NOT NULL, models VARCHAR NOT NULL, seed VARCHAR NOT NULL, shape VARCHAR NOT NULL,
    options VARCHAR NOT NULL
);
CREATE TABLE tag (
    run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    position INTEGER NOT NULL, label VARCHAR NOT NULL, PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE INDEX tag_label ON tag (label, run);
CREATE TABLE note (
    id INTEGER NOT NULL PRIMARY KEY, run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL, text VARCHAR NOT NULL, created FLOAT NOT NULL, edited FLOAT NOT NULL
);
CREATE INDEX note_of_step ON note (run, seq);
CREATE TABLE reservation (
    key VARCHAR NOT NULL PRIMARY KEY, digest VARCHAR NOT NULL, run VARCHAR NOT NULL,
    created FLOAT NOT NULL, reply VARCHAR NOT NULL
);
CREATE INDEX reservation_age ON reservation (created);
CREATE TABLE entry (
    kind VARCHAR NOT NULL, key VARCHAR NOT NULL, version INTEGER NOT NULL, state VARCHAR NOT NULL,
    rank FLOAT NOT NULL, about VARCHAR NOT NULL, body VARCHAR NOT NULL, PRIMARY KEY (kind, key)
);
CREATE INDEX entry_in_state ON entry (kind, state, rank, key);
CREATE INDEX entry_about ON entry (kind, about, rank, key);
CREATE TABLE "transition" (
    run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL, time FLOAT NOT NULL, name VARCHAR NOT NULL, at VARCHAR NOT NULL, body BLOB NOT NULL,
    PRIMARY KEY (run, seq)
);
CREATE TABLE snapshot (
    run INTEGER NOT NULL REFERENCES run (number) ON DELETE CASCADE,
    seq INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY (run, seq)
);
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
    expired INTEGER NOT NULL, fell INTEGER NOT NULL, tokens INTEGER NOT NULL, dollars FLOAT,
    PRIMARY KEY (run, path)
) WITHOUT ROWID;
CREATE VIRTUAL TABLE search USING fts5(title, note, parameters, tags, pattern)
"""

MIGRATIONS: tuple[str, ...] = (SCHEMA,)
"""Never edit a released migration: add another."""


def migrate(connection: sqlite3.Connection, path: str) -> None:
    """Migrate a database to the current version; copy one that is not empty to `backup_path` first.

    Raises:
        JournalUnavailable, sqlite3.Error: for example, the copy cannot be written. The database is unchanged.
        JournalDamaged: see `check`.
    """
    if check(connection, path) == len(MIGRATIONS):
        return
    connection.execute('BEGIN IMMEDIATE')
    try:
        # Another process may have migrated it while this one waited for the lock.
        version = check(connection, path)
        if 0 < version < len(MIGRATIONS):
            _back_up(path, backup_path(path, version))
        for migration in MIGRATIONS[version:]:
            for statement in migration.split(';'):
                connection.execute(statement)
        connection.execute(f'PRAGMA application_id = {APPLICATION}')
        connection.execute(f'PRAGMA user_version = {len(MIGRATIONS)}')
        connection.execute('COMMIT')
    except BaseException:
        if connection.in_transaction:
            connection.execute('ROLLBACK')
        raise


def backup_path(path: str, version: int) -> Path:
    """Return the path of the copy made before the migration from `version`."""
    return Path(f'{path}.version-{version}')


def copy_database(source: sqlite3.Connection, target: Path) -> None:
    """Copy the committed state of a database while others may write to it; only the owner may read the copy.

    The copy is made in one go: SQLite restarts a backup if another process writes between two of its steps.

    Raises:
        OSError, sqlite3.Error
    """
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    with closing(sqlite3.connect(target)) as copy:
        copy.execute('PRAGMA journal_mode = OFF')  # With a full disk, a journal file would be left behind.
        try:
            source.backup(copy)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_FULL:  # The disk of the copy, not the source's.
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)) from error
            raise


def _back_up(path: str, backup: Path) -> None:
    """Copy the database, all or nothing."""
    part = backup.with_name(f'{backup.name}.part')
    try:
        with closing(sqlite3.connect(path)) as source:
            copy_database(source, part)
        part.replace(backup)
    except OSError as error:
        raise JournalUnavailable(f'{backup} cannot be written: {error.strerror}') from error
    finally:
        part.unlink(missing_ok=True)


def check(connection: sqlite3.Connection, path: str) -> int:
    """Return the version of a database, 0 for an empty one. Only reads.

    Raises:
        JournalDamaged: it belongs to another program, or to a newer or an unreleased version of this one.
    """
    (version,) = connection.execute('PRAGMA user_version').fetchone()
    (application,) = connection.execute('PRAGMA application_id').fetchone()
    (tables,) = connection.execute('SELECT count(*) FROM sqlite_master').fetchone()
    refuse_unreleased(application, path)
    if tables and application != APPLICATION:
        raise JournalDamaged(f'{path} is the database of another program; name another file')
    if version > len(MIGRATIONS):
        raise JournalDamaged(
            f'{path} was written by a newer version: its format is {version}, this program '
            f'knows formats up to {len(MIGRATIONS)}. Install the newer version, or name another file'
        )
    return int(version)


def refuse_unreleased(application: int, path: str) -> None:
    """Raise `JournalDamaged` if this is the `application_id` of an unreleased version."""
    if application == UNRELEASED_APPLICATION:
        raise JournalDamaged(f'{path} {UNRELEASED}; name another file')
