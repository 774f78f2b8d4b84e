"""Which processes on this machine are alive: each holds a lock that the kernel frees when it dies."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote, unquote

from engine.errors import JournalUnavailable

TRIES, RETRY_SECONDS = 20, 0.005
"""Probing a lock holds it for an instant; an attempt to take it therefore retries for 100 ms."""

STARTUP_SECONDS = 60.0
"""Seconds during which a starting process may have created its file without holding the lock yet."""


class AlreadyServed(JournalUnavailable):
    """Another server already serves this database. `holder` is its own description (pid, address)."""

    def __init__(self, holder: str) -> None:
        self.holder = holder
        super().__init__(
            f'this database is already served by {holder or "another process"}: '
            'use that server, stop it, or name another database'
        )


class FileLocks:
    """Locks of the processes that use one database.

    Args:
        directory: the folder of the lock files, shared by all processes using the database; not on a network
            disk.
    """

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory)
        self._held: dict[Path, int] = {}

    def acquire(self, owner: str) -> None:
        """Hold the lock of `owner`, a name no other process uses, until `release` or death.

        Raises:
            JournalUnavailable: another process holds it.
        """
        if not self._acquire_lock(self._owner(owner), owner):
            raise JournalUnavailable(
                f'another process is already running as {owner!r}; start this one under another name'
            )

    def is_alive(self, owner: str) -> bool:
        """Return whether a process, possibly this one, holds the lock of `owner`."""
        return _is_held(self._owner(owner))

    def live_owners(self) -> list[str]:
        """The owners whose lock is held."""
        return self._owners(held=True)

    def dead_owners(self) -> list[str]:
        """The owners that died holding their lock; an orderly exit removes the file."""
        return self._owners(held=False)

    def forget(self, owner: str) -> None:
        """Remove the file of a dead owner, unless it is so new that its process may be about to lock it."""
        path = self._owner(owner)
        with suppress(FileNotFoundError):
            if abs(time.time() - path.stat().st_mtime) > STARTUP_SECONDS and not _is_held(path):
                path.unlink()

    def begin_adoption(self) -> None:
        """Do nothing: there is only one server."""

    def end_adoption(self) -> None:
        """Do nothing: there is only one server."""

    def serve(self, holder: str) -> None:
        """Become the database's only server; `holder` describes it to others (pid and address).

        Raises:
            AlreadyServed: there already is one; carries its description.
        """
        path = self._directory / 'serve.lock'
        if not self._acquire_lock(path, holder):
            raise AlreadyServed(path.read_text(errors='replace'))

    def servers(self) -> list[str]:
        """Return the current server's description, if there is one."""
        path = self._directory / 'serve.lock'
        return [path.read_text(errors='replace')] if _is_held(path) else []

    def release(self) -> None:
        """Release every lock held here, and remove the owners' files."""
        for path, descriptor in self._held.items():
            if path.name != 'serve.lock':
                path.unlink(missing_ok=True)  # names are unique to a process, so no other lock is lost
            os.close(descriptor)
        self._held.clear()

    def _owners(self, *, held: bool) -> list[str]:
        names = [path.name for path in self._directory.glob('owner-*.lock') if _is_held(path) is held]
        return [unquote(name.removeprefix('owner-').removesuffix('.lock')) for name in names]

    def _owner(self, owner: str) -> Path:
        return self._directory / f'owner-{quote(owner, safe="")}.lock'

    def _acquire_lock(self, path: Path, text: str) -> bool:
        if path in self._held:
            return True
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        if not _lock(descriptor):
            os.close(descriptor)
            return False
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, text.encode(), 0)
        self._held[path] = descriptor
        return True


def _lock(descriptor: int) -> bool:
    for attempt in range(TRIES):
        if attempt:
            time.sleep(RETRY_SECONDS)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        return True
    return False


def _is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)
