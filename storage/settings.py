"""Where the journal is: a path, or the URL of an SQLite file or a PostgreSQL database."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from engine.errors import InvalidInput
from engine.host.home import home_folder

POSTGRES = re.compile(r'postgres(?:ql)?://', re.IGNORECASE)
SECRET = re.compile(r'(://[^:/@\s]*:)\S*(?=@)|(password=)[^&\s]*', re.IGNORECASE)
"""A password in a URL: before the host, or among the parameters."""


def default_database() -> str | Path:
    """Return the default: `HEMICYCLE_DATABASE`, or a file in `HEMICYCLE_HOME` or the user's data folder."""
    if named := os.environ.get('HEMICYCLE_DATABASE', '').strip():
        return named if '://' in named else Path(named).expanduser()
    return home_folder() / 'hemicycle.db'


def without_password(text: str) -> str:
    """Mask the password in a URL, or in a string that contains one."""
    return SECRET.sub(r'\1\2***', text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Where the journal is, and how it is used."""

    database: str | Path = field(default_factory=default_database, repr=False)
    """A path, or a URL: `sqlite:///runs.db`, `postgresql://user@host/name`."""
    synchronous: Literal['normal', 'full'] = 'normal'
    """`normal` survives a process crash; `full` also survives a power failure, at one disk flush per commit.
    PostgreSQL's own setting for this (`synchronous_commit`) is left as it is."""
    busy_timeout: float = 5.0
    """Seconds to wait for another process's lock, or for a connection, before giving up."""
    quota: int | None = None
    """Maximum bytes of an SQLite file; None means it is limited only by the disk."""
    readers: int = 4
    """Maximum number of concurrent reads."""

    @property
    def on_postgres(self) -> bool:
        """Whether the database is a PostgreSQL one."""
        return bool(POSTGRES.match(str(self.database)))

    @property
    def name(self) -> str:
        """The database's name for display: its path, or its URL without the password."""
        return without_password(str(self.database)) if self.on_postgres else str(self.path)

    @property
    def path(self) -> Path:
        """The database file's path. Raises `InvalidInput` for a URL that does not name a file."""
        if '://' not in str(self.database):
            return Path(self.database)
        name = without_password(str(self.database))
        try:
            url = make_url(str(self.database))
        except ArgumentError as error:
            raise InvalidInput({'database': f'{name} is neither a path nor a URL'}) from error
        if url.get_backend_name() != 'sqlite' or url.database in (None, '', ':memory:'):
            expected = 'as sqlite:///runs.db and postgresql://user@host/name do'
            raise InvalidInput(
                {'database': f'{name} names neither an SQLite file nor PostgreSQL, {expected}'}
            )
        return Path(str(url.database))
