"""The SQLite file: where it is, how it is opened and set up, and what its errors mean.

All that is particular to SQLite as a server of data is here; what is particular to its dialect is in `search`
and `migrations`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sqlalchemy import Engine, QueuePool, create_engine
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError

from engine.errors import InvalidInput, JournalDamaged, JournalError, JournalUnavailable
from storage.migrations import check, migrate

MAGIC = b'SQLite format 3\0'
DAMAGED = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,  # a table is missing
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_CONSTRAINT,  # the writer looks before it writes: the rows contradict each other
}
ADVICE = {
    sqlite3.SQLITE_FULL: 'the disk or the quota is full: free some space or raise the quota, then try again',
    sqlite3.SQLITE_BUSY: 'another process holds the database locked: close it or wait, then try again',
    sqlite3.SQLITE_LOCKED: 'the database is locked: try again',
    sqlite3.SQLITE_READONLY: 'the file cannot be written: let this user write it and its folder',
    sqlite3.SQLITE_PERM: 'access was refused: let this user write the file and its folder',
    sqlite3.SQLITE_IOERR: 'the disk failed or is full: check it, then try again',
    sqlite3.SQLITE_CANTOPEN: 'the file cannot be opened: check that its folder exists and may be written',
    sqlite3.SQLITE_NOMEM: 'memory ran out: try again',
    sqlite3.SQLITE_TOOBIG: 'a value is larger than the database takes',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the journal is and how it treats the disk."""

    database: str | Path = 'hemicycle.db'
    """A path, or a SQLAlchemy URL (`sqlite:///runs.db`)."""
    synchronous: Literal['normal', 'full'] = 'normal'
    """`normal` survives the death of the process, `full` also the machine's, at a disk flush per commit."""
    busy_timeout: float = 5.0
    """Seconds to wait for another process's lock before giving up."""
    quota: int | None = None
    """The most bytes the file may grow to; None is as far as the disk goes."""
    readers: int = 4
    """How many reads may happen at the same time."""

    @property
    def path(self) -> Path:
        """The database's file. Raises `InvalidInput` for a URL that names none."""
        if '://' not in str(self.database):
            return Path(self.database)
        try:
            url = make_url(str(self.database))
        except ArgumentError as error:
            raise InvalidInput({'database': f'{self.database} is neither a path nor a URL'}) from error
        if url.get_backend_name() != 'sqlite' or url.database in (None, '', ':memory:'):
            raise InvalidInput({'database': f'{url} does not name an SQLite file, as sqlite:///runs.db does'})
        return Path(str(url.database))


def prepare(settings: Settings) -> None:
    """Make the database or bring it up to date. Blocks.

    Raises:
        JournalDamaged: the file is not ours, is corrupt, or is from a newer version; it is left untouched.
        JournalUnavailable: it cannot be opened or written just now.
    """
    path = settings.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open('rb') as file:
            beginning = file.read(len(MAGIC))
    except FileNotFoundError:
        beginning = b''
    except OSError as error:
        raise JournalUnavailable(f'{path}: {error.strerror}; name another file') from error
    if beginning not in (b'', MAGIC):
        raise JournalDamaged(f'{path} is not a database; name another file, or move this one away')
    with explained(path):
        connection = connect(settings)
        try:
            check(
                connection, str(path)
            )  # before anything is written, the journal's mode in its header included
            connection.execute('PRAGMA journal_mode = WAL')
            migrate(connection, str(path))
        finally:
            connection.close()


def connect(settings: Settings, *, reader: bool = False) -> sqlite3.Connection:
    """A connection that leaves transactions to its user."""
    connection = sqlite3.connect(
        settings.path, timeout=settings.busy_timeout, isolation_level=None, check_same_thread=False
    )
    connection.execute('PRAGMA foreign_keys = ON')
    connection.execute(f'PRAGMA synchronous = {settings.synchronous}')
    if reader:
        connection.execute('PRAGMA query_only = ON')
    elif settings.quota is not None:
        limit(connection, settings.quota)
    return connection


def limit(connection: sqlite3.Connection, quota: int | None) -> None:
    """Let the file grow to `quota` bytes, or to SQLite's own limit."""
    (size,) = connection.execute('PRAGMA page_size').fetchone()
    pages = 2**30 if quota is None else max(1, quota // size)
    connection.execute(f'PRAGMA max_page_count = {pages}')


def reading(settings: Settings) -> Engine:
    """A SQLAlchemy engine whose connections can only read."""
    return create_engine(
        'sqlite://',
        creator=lambda: connect(settings, reader=True),
        isolation_level='AUTOCOMMIT',
        poolclass=QueuePool,
        pool_size=settings.readers,
        max_overflow=0,
    )


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into the journal's, with a sentence that says what to do."""
    try:
        yield
    except (sqlite3.Error, DBAPIError) as error:
        raise explain(error, path) from error


def explain(error: Exception, path: Path) -> BaseException:
    """The journal's error for one of SQLite's; any other error as it is."""
    if isinstance(error, DBAPIError):
        return explain(error.orig, path) if isinstance(error.orig, sqlite3.Error) else error
    code = getattr(error, 'sqlite_errorcode', 0) & 0xFF  # the upper bits only say more exactly what happened
    if code in DAMAGED:
        return JournalDamaged(
            f'{path} is damaged ({error}); put a backup in its place, or save what is left with'
            f' `sqlite3 {path} .recover`'
        )
    if code in ADVICE:
        return JournalUnavailable(f'{path}: {ADVICE[code]} ({error})')
    if isinstance(error, UnicodeEncodeError):
        return JournalError(
            f'{path}: a text holds half of a surrogate pair, which no file can hold ({error})'
        )
    return error
