"""The SQLite file: opening, setup and error translation."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from sqlalchemy import Engine, QueuePool, create_engine
from sqlalchemy.exc import DBAPIError

from engine.errors import JournalDamaged, JournalError, JournalUnavailable
from storage.settings import Settings
from storage.sqlite.migrations import MIGRATIONS, check, migrate, refuse_unreleased

MAGIC = b'SQLite format 3\0'
HEADER_BYTES, APPLICATION_AT = 72, 68
"""The beginning of a database, whose last four bytes are the `application_id`."""
DAMAGED = {
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_ERROR,  # a table is missing
    sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_CONSTRAINT,  # the writer validates before it writes: the rows contradict each other
}
ADVICE = {
    sqlite3.SQLITE_FULL: 'the disk or the quota is full: free some space or raise the quota, then try again',
    sqlite3.SQLITE_BUSY: 'another process has locked the database: close it or wait, then try again',
    sqlite3.SQLITE_LOCKED: 'the database is locked: try again',
    sqlite3.SQLITE_READONLY: 'the file cannot be written: let this user write it and its folder',
    sqlite3.SQLITE_PERM: 'access was refused: let this user write the file and its folder',
    sqlite3.SQLITE_IOERR: 'the disk failed or is full: check it, then try again',
    sqlite3.SQLITE_CANTOPEN: 'the file cannot be opened: check that its folder exists and may be written',
    sqlite3.SQLITE_NOMEM: 'memory ran out: try again',
    sqlite3.SQLITE_TOOBIG: 'a value is larger than the database accepts',
}


def prepare(settings: Settings) -> None:
    """Create the database or migrate it to the current version. Blocks.

    If its folder cannot be written, as on a read-only file system, the database is only checked, for reading.

    Raises:
        JournalDamaged: the file is not ours, corrupt, or from a newer or an unreleased version; it is left
            untouched.
        JournalUnavailable: it cannot be opened or written at present.
    """
    path = settings.path
    if is_read_only(path):
        _check_present(settings)
        return
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Create it here: SQLite's other files inherit its permissions, so that only the owner may read runs.
        with open(os.open(path, os.O_RDONLY | os.O_CREAT, 0o600), 'rb') as file:
            header = file.read(HEADER_BYTES)
    except OSError as error:
        raise JournalUnavailable(f'{path}: {error.strerror}; name another file') from error
    if header[: len(MAGIC)] not in (b'', MAGIC):
        raise JournalDamaged(f'{path} is not a database; name another file, or move this one away')
    _refuse_header(header, path)
    with translate_errors(path):
        connection = connect(settings)
        try:
            # Check before anything is written, including the journal mode in the file's header.
            check(connection, str(path))
            connection.execute('PRAGMA journal_mode = WAL')
            migrate(connection, str(path))
        finally:
            connection.close()


def is_read_only(path: Path) -> bool:
    """Return whether the file exists, but its folder, where SQLite puts its log, cannot be written."""
    return path.exists() and not os.access(path.parent, os.W_OK)


def file_identity(path: Path) -> tuple[int, int] | None:
    """Return the identity of the file at a path; None if there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def moved_error(path: Path) -> JournalUnavailable:
    """Return the error for a database file that is no longer at its path: further writes would be lost."""
    return JournalUnavailable(
        f'{path} was moved, removed or replaced while it was in use: put it back, or export what is needed'
        ' and start again'
    )


def _check_present(settings: Settings) -> None:
    with checked_reader(settings) as (_, version):
        if version != len(MIGRATIONS):
            raise JournalUnavailable(
                f'{settings.path} is from an older version and cannot be migrated in a read-only folder: '
                'copy it to another folder'
            )


@contextmanager
def checked_reader(settings: Settings) -> Iterator[tuple[sqlite3.Connection, int]]:
    """Yield a connection that can only read, and the database's version, 0 for an empty one.

    Call it before the process opens the file otherwise: reading the header ends this process's locks on it.

    Raises:
        JournalDamaged, JournalUnavailable: see `prepare`.
    """
    with suppress(OSError), settings.path.open('rb') as file:
        _refuse_header(file.read(HEADER_BYTES), settings.path)
    with translate_errors(settings.path), closing(connect(settings, reader=True)) as connection:
        yield connection, check(connection, str(settings.path))


def _refuse_header(header: bytes, path: Path) -> None:
    """Refuse a database of an unreleased version before SQLite opens it and applies a log left by a crash."""
    refuse_unreleased(int.from_bytes(header[APPLICATION_AT:]), str(path))


def connect(settings: Settings, *, reader: bool = False) -> sqlite3.Connection:
    """Open a connection whose transactions are controlled by the caller."""
    connection = sqlite3.connect(
        _address(settings.path),
        timeout=settings.busy_timeout,
        isolation_level=None,
        check_same_thread=False,
        uri=True,
    )
    # A damaged text must not fail a whole list: `rows` reports the run it belongs to.
    connection.text_factory = lambda text: text.decode(errors='replace')
    try:
        connection.execute('PRAGMA foreign_keys = ON')
        connection.execute(f'PRAGMA synchronous = {settings.synchronous}')
        if reader:
            connection.execute('PRAGMA query_only = ON')
        elif settings.quota is not None:
            limit_size(connection, settings.quota)
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _address(path: Path) -> str:
    """Return the file as a URI. Where SQLite cannot create its log, it reads an existing one, if any."""
    address = path.absolute().as_uri()
    if not is_read_only(path):
        return address
    return f'{address}?{"mode=ro" if Path(f"{path}-wal").exists() else "immutable=1"}'


def limit_size(connection: sqlite3.Connection, quota: int | None) -> None:
    """Let the file grow to `quota` bytes, or to SQLite's own limit."""
    (size,) = connection.execute('PRAGMA page_size').fetchone()
    pages = 2**30 if quota is None else max(1, quota // size)
    connection.execute(f'PRAGMA max_page_count = {pages}')


def read_only_engine(settings: Settings) -> Engine:
    """Return an SQLAlchemy engine whose connections can only read."""
    return create_engine(
        'sqlite://',
        creator=lambda: connect(settings, reader=True),
        isolation_level='AUTOCOMMIT',
        poolclass=QueuePool,
        pool_size=settings.readers,
        max_overflow=0,
    )


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Convert SQLite's errors to journal errors that say what to do."""
    try:
        yield
    except (sqlite3.Error, DBAPIError) as error:
        raise to_journal_error(error, path) from error


def to_journal_error(error: Exception, path: Path) -> BaseException:
    """Return the journal error for an SQLite error; other errors are returned unchanged."""
    if isinstance(error, DBAPIError):
        return to_journal_error(error.orig, path) if isinstance(error.orig, sqlite3.Error) else error
    code = getattr(error, 'sqlite_errorcode', 0) & 0xFF  # the upper bits only give more detail
    if code in DAMAGED:
        return JournalDamaged(
            f'{path} is damaged ({error}); put a backup in its place, or save what is left with'
            f' `sqlite3 {path} .recover`'
        )
    if code in ADVICE:
        return JournalUnavailable(f'{path}: {ADVICE[code]} ({error})')
    if isinstance(error, UnicodeEncodeError):
        return JournalError(
            f'{path}: text contains half of a surrogate pair, which no database can store ({error})'
        )
    return error
