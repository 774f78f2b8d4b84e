"""Settings of one process, and the interface to where runs are stored."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from engine import InvalidInput
from engine.host.home import home_folder
from engine.journal import Journal
from engine.models import endpoints_file
from engine.workspace import RemoteFiles

Synchronous = Literal['normal', 'full']


GRACE = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings from the command line options and the environment."""

    home: Path
    """The folder for everything but runs: logs and the browser session secret."""
    database: str
    """A path, or a URL such as `sqlite:///runs.db`."""
    synchronous: Synchronous = 'normal'
    """`normal` survives the death of the process, `full` that of the machine."""
    grace: float = GRACE
    """Seconds that calls of real models may take to end when the process shuts down."""
    patterns: tuple[Path, ...] = ()
    """Folders with patterns and tools of the user's own."""
    files: str = ''
    """Shared storage of the agents' files, as `s3://bucket/prefix`; '' keeps them on this machine."""

    @property
    def endpoints(self) -> Path:
        """The file that configures models: `HEMICYCLE_ENDPOINTS`, or one in the user's config folder."""
        return endpoints_file()

    @property
    def workspaces(self) -> Path:
        """The folder for the agents' files."""
        return self.home / 'workspaces'

    @classmethod
    def of(
        cls,
        database: str = '',
        synchronous: Synchronous = 'normal',
        patterns: tuple[Path, ...] = (),
        files: str = '',
    ) -> Settings:
        """Return settings, with defaults from `HEMICYCLE_HOME`, `_GRACE` and `_FILES`.

        Raises:
            InvalidInput: the grace period is not a number of seconds.
        """
        home = home_folder()
        if not database:
            database = str(home / 'hemicycle.db')
        elif '://' not in database:
            database = str(Path(database).expanduser())
        grace = os.environ.get('HEMICYCLE_GRACE', '').strip() or GRACE
        return cls(
            home=home,
            database=database,
            synchronous=synchronous,
            grace=_seconds(grace),
            patterns=patterns,
            files=files.strip() or os.environ.get('HEMICYCLE_FILES', '').strip(),
        )


def secret_in_file(path: Path) -> str:
    """Return the secret in a file that only its owner can read; create it if there is none."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        # Linked only when complete: another process may read it immediately.
        temporary = path.with_name(f'{path.name}.{secrets.token_hex(4)}')
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, 'w') as file:
            file.write(secrets.token_urlsafe(32))
        try:
            os.link(temporary, path)
        except FileExistsError:
            pass
        except OSError:  # a file system without hard links
            temporary.replace(path)
        temporary.unlink(missing_ok=True)
    return path.read_text().strip()


def _seconds(value: str | float) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < math.inf:
        raise InvalidInput({'HEMICYCLE_GRACE': f'must be seconds, 0 or more, not {value!r}'})
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerPaths:
    """Where a server keeps its data and reads its configuration."""

    home: Path
    database: Path | str
    """Its file; or its URL, without the password."""
    endpoints: Path
    """The file that configures models; it need not exist."""


class Locks(Protocol):
    """The locks of the processes that use a database."""

    def acquire(self, owner: str) -> None:
        """Mark a process as alive under this name, until it calls `release` or dies."""

    def is_alive(self, owner: str) -> bool:
        """Whether the process with this name is alive."""

    def live_owners(self) -> list[str]:
        """The names of the processes that are alive."""

    def dead_owners(self) -> list[str]:
        """The names of processes that died without releasing their lock."""

    def forget(self, owner: str) -> None:
        """Remove the lock of a dead process."""

    def begin_adoption(self) -> None:
        """Keep other servers from adopting runs; waits while another one does. Blocks."""

    def end_adoption(self) -> None:
        """Allow other servers to adopt runs again. Blocks."""

    def serve(self, holder: str) -> None:
        """Register as a server of the database; `holder` describes it to others (pid and address).

        Raises:
            AlreadyServed: the database is an SQLite file that another process serves.
        """

    def servers(self) -> list[str]:
        """The descriptions of the servers on this machine."""

    def release(self) -> None:
        """Release every lock that this process holds."""


class BackupInfo(Protocol):
    """The contents of a backup or a database, in numbers."""

    @property
    def created(self) -> float:
        """When it was made, in seconds since 1970."""

    @property
    def runs(self) -> int:
        """Number of runs."""

    @property
    def steps(self) -> int:
        """Number of steps, of all runs together."""

    @property
    def is_current(self) -> bool:
        """Whether the next start need not migrate the database."""


class Storage(Protocol):
    """Where runs are stored."""

    def name(self, settings: Settings) -> str:
        """The database as it may be shown to people: a path, or a URL without its password."""

    def file(self, settings: Settings) -> Path | None:
        """The database file, which need not exist yet; None if a server keeps the database."""

    def locks(self, settings: Settings) -> Locks:
        """The locks of everyone using the database."""

    def files(self, settings: Settings) -> RemoteFiles | None:
        """The storage through which all machines share the agents' files, if any. Raises `InvalidInput`."""

    async def open(self, settings: Settings) -> Journal:
        """Open the database, creating it if necessary. Raises `JournalError`."""

    def back_up(self, settings: Settings, target: Path) -> BackupInfo:
        """Write the database and the agents' files to an archive, even while a server is running. Blocks.

        Raises:
            JournalError, OSError
        """

    def restore(self, archive: Path, settings: Settings) -> BackupInfo:
        """Restore an archive where there is no database and no files yet, all or nothing. Blocks.

        Raises:
            JournalError, OSError
        """

    def copy(self, source: Settings, target: Settings, progress: Callable[[int, int], None]) -> BackupInfo:
        """Copy a whole database into an empty one, all or nothing. Blocks.

        Args:
            source: no process may be driving its runs.
            target: of the same or the other kind.
            progress: called with the number of rows copied so far, and of all rows.

        Raises:
            JournalError
        """

    def inspect(self, settings: Settings) -> BackupInfo:
        """Check the database (every page of a file) and count its contents. Blocks. Raises `JournalError`."""

    def incomplete_runs(self, settings: Settings) -> dict[str, int]:
        """Return the number of missing steps of each incomplete run. Blocks. Raises `JournalError`."""
