"""Where a bundle is unpacked before any of it counts: a folder of no run, gone when it is done with."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import shutil
import tempfile
from pathlib import Path
from typing import BinaryIO

from engine.files.objects import Objects

PREFIX = '.importing-'
"""No run's id begins so."""


class Staging:
    """A folder beside those of the runs. One that a process left behind when it died is removed by the next.

    Args:
        root: the folder of all runs' workspaces.
    """

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, mode=0o700, exist_ok=True)
        _sweep(root)
        self._root, self.folder = root, root / f'{PREFIX}{secrets.token_hex(8)}'
        self.folder.mkdir(mode=0o700)
        self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._moved: list[Path] = []

    def home(self, number: int) -> Path:
        """The folder of the `number`th run."""
        return self.folder / str(number)

    def objects(self, number: int) -> Objects:
        """Its contents."""
        return Objects(self.home(number) / 'objects')

    def settle(self, number: int, home: Path) -> None:
        """Make what was unpacked for a run its folder; what a dead process left there goes."""
        if not self.home(number).is_dir():
            return
        self._moved.append(home)
        shutil.rmtree(home, ignore_errors=True)
        self.home(number).rename(home)

    def take_back(self) -> None:
        """Remove the folders that were settled: their runs are not kept after all."""
        for home in self._moved:
            shutil.rmtree(home, ignore_errors=True)

    def close(self) -> None:
        """Remove what is left."""
        shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)


def _sweep(root: Path) -> None:
    for folder in root.glob(f'{PREFIX}*'):
        with contextlib.suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Raises where somebody is at it.
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(lock)


class Piecewise:
    """Puts contents together that come in pieces, and believes no digest."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._file: BinaryIO | None = None
        self._hashed = hashlib.sha256()
        self.digest = ''
        """Of the content that is not whole yet, or ''."""

    def add(self, digest: str, data: bytes, *, more: bool) -> bool:
        """Take a piece. False: the whole has not the digest that it should have, and is not kept."""
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  (closed with its last piece)
            self._hashed, self.digest = hashlib.sha256(), digest
        self._file.write(data)
        self._hashed.update(data)
        if more:
            return True
        file, self._file, self.digest = self._file, None, ''
        with file:
            if self._hashed.hexdigest() != digest:
                return False
            file.seek(0)
            self._objects.put_file(file)
            return True

    def close(self) -> None:
        """Let go of a content that is not whole."""
        if self._file is not None:
            self._file.close()
