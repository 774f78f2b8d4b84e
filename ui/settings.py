"""Settings of one process, and what the window asks of the place where runs are kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

import platformdirs

from engine import Journal

Synchronous = Literal['normal', 'full']


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the options and the environment say."""

    home: Path
    """The folder for what is not a run: logs, the secret of the browser's sessions."""
    database: str
    """A path, or a URL such as `sqlite:///runs.db`."""
    synchronous: Synchronous = 'normal'
    """`normal` survives the death of the process, `full` that of the machine."""
    patterns: tuple[Path, ...] = ()
    """Folders with patterns and tools of the user's own."""

    @property
    def endpoints(self) -> Path:
        """The file that configures models: `HEMICYCLE_ENDPOINTS`, or one in the user's folder for that."""
        named = os.environ.get('HEMICYCLE_ENDPOINTS', '').strip()
        if named:
            return Path(named).expanduser()
        return platformdirs.user_config_path('hemicycle', appauthor=False) / 'endpoints.toml'

    @property
    def workspaces(self) -> Path:
        """The folder for the files of agents."""
        return self.home / 'workspaces'

    @classmethod
    def of(
        cls, database: str = '', synchronous: Synchronous = 'normal', patterns: tuple[Path, ...] = ()
    ) -> Settings:
        """With the defaults: `HEMICYCLE_HOME`, or the folder that the system has for a user's data."""
        named = os.environ.get('HEMICYCLE_HOME', '').strip()
        home = (
            Path(named).expanduser() if named else platformdirs.user_data_path('hemicycle', appauthor=False)
        )
        if not database:
            database = str(home / 'hemicycle.db')
        elif '://' not in database:
            database = str(Path(database).expanduser())
        return cls(home=home, database=database, synchronous=synchronous, patterns=patterns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where a server keeps what it keeps, and reads what it is told."""

    home: Path
    database: Path
    endpoints: Path
    """The file that configures models, which need not be there."""


class Locks(Protocol):
    """Which processes use a database."""

    def take(self, owner: str) -> None:
        """Be seen as alive under this name until `release` or death."""

    def is_alive(self, owner: str) -> bool:
        """Whether the process of this name is there."""

    def serve(self, holder: str) -> None:
        """Be the database's one server; `holder` tells others who that is."""

    def served(self) -> str | None:
        """What the present server says of itself."""

    def release(self) -> None:
        """Let go of everything."""


class Storage(Protocol):
    """Where runs are kept."""

    def file(self, settings: Settings) -> Path:
        """The database's file, which need not be there yet."""

    def locks(self, settings: Settings) -> Locks:
        """The locks of all who use the database."""

    async def open(self, settings: Settings) -> Journal:
        """Open the database, or make it. Raises `JournalError`."""
