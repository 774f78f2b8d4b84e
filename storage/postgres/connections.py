"""Connections to PostgreSQL: connection parameters, text encoding and error translation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg.abc import Buffer
from psycopg.adapt import AdaptersMap, Dumper, Loader
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.numeric import Int8BinaryDumper, Int8Dumper
from sqlalchemy import Engine, create_engine
from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from engine.errors import InvalidInput, JournalDamaged, JournalError, JournalUnavailable
from storage.settings import Settings, without_password

DEFAULTS: dict[str, str | int] = {
    'application_name': 'hemicycle',
    'client_encoding': 'utf8',
    # Detect an unreachable server within 30 seconds.
    'keepalives_idle': 10,
    'keepalives_interval': 5,
    'keepalives_count': 3,
    'tcp_user_timeout': 30_000,
    # A process suspended in the middle of a transaction loses its locks after 5 seconds.
    'options': '-c idle_in_transaction_session_timeout=5000',
}
"""Defaults that a URL may override."""
ADVICE = {
    '08': 'it cannot be reached: start it, or check the address',
    '25': 'it is read-only: name the primary server',
    '28': 'it rejects this user: check the name and the password',
    '3D': 'there is no such database: create it (createdb)',
    '42501': 'this user lacks a privilege: let it create and change tables in its schema',
    '53': 'it is out of resources: free some disk or memory, or allow more connections, then try again',
    '55': 'it is locked: try again',
    '57': 'it is starting or stopping: wait, then try again',
    '58': 'its disk failed: check it, then try again',
    '40': 'other transactions got in the way: try again',
}
"""Advice by SQLSTATE, or by its class."""
REFUSALS = {
    r'database ".*" does not exist': '3D',
    r'role ".*" does not exist|authentication failed|no password supplied|no pg_hba\.conf entry': '28',
    r'too many (clients|connections)|remaining connection slots': '53',
    r'the database system is (starting up|shutting down)': '57',
}
"""Classes of SQLSTATE by what the server says when it refuses a connection: libpq passes on no more."""


def conninfo(settings: Settings) -> str:
    """Return the parameters for libpq: the URL and our own defaults. Raises `InvalidInput`."""
    url = str(settings.database)
    try:
        url_options = conninfo_to_dict(url)
    except psycopg.Error:  # its text may show the password
        problem = 'is not a PostgreSQL URL; write a / or @ of the password as %2F or %40'
        raise InvalidInput({'database': f'{settings.name} {problem}'}) from None
    timeout = {'connect_timeout': max(2, round(settings.busy_timeout))}
    return make_conninfo(
        url, **{key: value for key, value in (DEFAULTS | timeout).items() if key not in url_options}
    )


def engine(settings: Settings) -> Engine:
    """Return an SQLAlchemy engine with a connection for each thread that reads or writes."""
    target = conninfo(settings)
    return create_engine(
        'postgresql+psycopg://',
        creator=lambda: psycopg.connect(target, context=ADAPTERS),
        pool_size=settings.readers,
        max_overflow=0,
    )


ESCAPE, NUL = '\x1a', '\0'


class _TextDumper(Dumper):
    """Writes strings. PostgreSQL cannot store NUL, so NUL and the escape character are escaped."""

    def dump(self, obj: str) -> bytes:
        """The text as the server accepts it."""
        if NUL in obj or ESCAPE in obj:
            obj = obj.replace(ESCAPE, f'{ESCAPE}1').replace(NUL, f'{ESCAPE}0')
        return obj.encode()


class _TextLoader(Loader):
    """Reads strings that `_TextDumper` wrote."""

    @override
    def load(self, data: Buffer) -> str:
        text = str(data, 'utf-8')
        if ESCAPE in text:
            text = text.replace(f'{ESCAPE}0', NUL).replace(f'{ESCAPE}1', ESCAPE)
        return text


ADAPTERS = AdaptersMap(psycopg.adapters)
ADAPTERS.register_dumper(str, _TextDumper)
for dumper in (Int8BinaryDumper, Int8Dumper):  # One width: each mix of widths would be prepared separately.
    ADAPTERS.register_dumper(int, dumper)
for kind in ('text', 'varchar'):
    ADAPTERS.register_loader(kind, _TextLoader)


@contextmanager
def translate_errors(name: str) -> Iterator[None]:
    """Convert PostgreSQL's errors to journal errors that say what to do."""
    try:
        yield
    except (psycopg.Error, DBAPIError, UnicodeEncodeError) as error:
        raise to_journal_error(error, name) from error


def to_journal_error(error: Exception, name: str) -> Exception:
    """Return the journal error for a PostgreSQL error; other errors are returned unchanged.

    Args:
        error: the driver's error, or SQLAlchemy's wrapper around it.
        name: the name of the database, for display.
    """
    if isinstance(error, DBAPIError) and isinstance(error.orig, Exception):
        return to_journal_error(error.orig, name)
    message = without_password(' '.join(str(error).split()))
    if isinstance(error, UnicodeEncodeError):
        return JournalError(
            f'{name}: text contains half of a surrogate pair, which no database can store ({message})'
        )
    if not isinstance(error, psycopg.Error):
        return error
    # Without a state, no connection was made: the server refused it, or was not reached.
    refusals = (state for pattern, state in REFUSALS.items() if re.search(pattern, message))
    state = error.sqlstate or next(refusals, '08')
    if advice := ADVICE.get(state) or ADVICE.get(state[:2]):
        return JournalUnavailable(f'{name}: {advice} ({message})')
    if isinstance(error, psycopg.DataError):
        return JournalError(f'{name}: it rejects a value ({message})')
    return JournalDamaged(
        f'{name} is damaged, or was changed by others ({message}); put a backup in its place'
    )


def is_lost(error: Exception) -> bool:
    """Return whether the connection failed or could not be opened, so that another attempt may succeed."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError) and (cause.sqlstate or '08')[
        :2
    ] in ('08', '57')


def is_race(error: Exception) -> bool:
    """Return whether a concurrent transaction won, so that a retry sees its changes."""
    cause = error.orig if isinstance(error, DBAPIError) else error
    return isinstance(
        cause,
        psycopg.errors.UniqueViolation
        | psycopg.errors.DeadlockDetected
        | psycopg.errors.SerializationFailure,
    )
