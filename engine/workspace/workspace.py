"""An agent's folder in a run: its files, and snapshots to take and restore."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from engine.errors import WorkspaceError
from engine.workspace.confined_dir import (
    TEMP_PREFIX,
    ConfinedDir,
    describe_mode,
    explain_os_errors,
    open_folder,
    split_path,
)
from engine.workspace.directories import remove_deeper
from engine.workspace.object_store import ObjectStore
from engine.workspace.snapshots import FileVersion, Scanner, files_of, restore

P = ParamSpec('P')
T = TypeVar('T')

MAX_READ = 16 << 20
"""Maximum bytes of a file that is read at once."""
MAX_ENTRIES = 2_000
COPIED_AT_ONCE = 1_000
"""Files copied before a cancellation takes effect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An entry of a folder."""

    path: str
    kind: str
    """`a file`, `a folder`, `a link` or `a device or a pipe`."""
    size: int


class Workspace:
    """The folder of one agent in one run. Paths are relative to it and cannot leave it.

    Blocking work runs in a thread. The folder is created on the first write.

    Args:
        folder: its path.
        objects: its run's object store.
        owner: the uid that commands in it run as, if not this process's own.
    """

    def __init__(self, folder: Path, objects: ObjectStore, *, owner: int | None = None) -> None:
        self.folder, self.owner, self.objects = folder, owner, objects
        self._confined_dir = ConfinedDir(folder, owner)
        self._scanner = Scanner(objects)
        self._turn = asyncio.Lock()

    def subfolder(self, name: str) -> Workspace:
        """Return a folder inside this one as a separate workspace that shares its object store.

        Raises:
            ToolError: the path leads out of this folder.
        """
        return Workspace(self.folder.joinpath(*split_path(name)), self.objects, owner=self.owner)

    async def make(self) -> Path:
        """Return the folder's path; creates it if needed, and restores permissions removed by a command."""

        def make() -> None:
            with self._confined_dir.folder(make=True) as folder:
                os.fchmod(folder, 0o755)

        await self._do(make)
        return self.folder

    async def remove_too_deep(self) -> None:
        """Remove folders that are nested too deep for a snapshot. Raises `WorkspaceError`."""

        def work() -> None:
            with self._confined_dir.folder() as folder:
                remove_deeper(folder)

        await self._do(work)

    async def read(self, path: str, *, most: int = MAX_READ) -> bytes:
        """Read a file. Raises `ToolError`."""
        return await self._do(self._confined_dir.read, split_path(path), most)

    async def write(self, path: str, data: bytes, *, executable: bool | None = None) -> bool:
        """Write a file, creating its folders; returns whether it existed. Raises `ToolError`."""
        return await self._do(self._confined_dir.write, split_path(path), data, executable=executable)

    async def copy_in(self, source: Path, paths: Sequence[str]) -> None:
        """Copy files of a folder outside to the same paths here. Raises `ToolError`, `WorkspaceError`."""
        for start in range(0, len(paths), COPIED_AT_ONCE):
            await self._do(self._confined_dir.copy_in, source, paths[start : start + COPIED_AT_ONCE])

    async def remove(self, path: str) -> None:
        """Remove a file, if it exists. Raises `ToolError`."""
        await self._do(self._confined_dir.remove, split_path(path))

    async def entries(self, path: str = '', *, deep: bool = True, most: int = MAX_ENTRIES) -> list[Entry]:
        """List the entries of a folder in order, at most `most`; empty if nothing has been written yet.

        Raises:
            ToolError: the folder does not exist.
        """
        entries: list[Entry] = []
        names = split_path(path)
        if names or self.folder.is_dir():
            await self._do(self._list, names, deep, most, entries)
        return entries

    async def store(self, data: bytes) -> str:
        """Store data separately from the files, for the lifetime of the run; returns its id."""
        return await self._do(self.objects.put, data)

    async def load(self, digest: str) -> bytes:
        """Load data by its id. Raises `WorkspaceError`."""
        return await self._do(self.objects.get, digest)

    async def snapshot(self) -> str:
        """Take a snapshot of all files; returns its id. Raises `WorkspaceError`."""
        async with self._turn:
            return await self._do(self._scan)

    async def snapshot_files(self, snapshot: str, *, other: str = '') -> list[FileVersion]:
        """List the files of a snapshot, without folders it shares with `other`. Raises `WorkspaceError`."""
        return await self._do(lambda: list(files_of(self.objects, snapshot, other=other)))

    async def restore(self, snapshot: str) -> None:
        """Restore the folder to a snapshot of this or another agent of the run.

        Raises:
            WorkspaceError: its contents no longer exist.
        """
        if not await self._do(self.objects.__contains__, snapshot):
            raise WorkspaceError(f'the snapshot {snapshot[:12]} is no longer kept')
        async with self._turn:
            await self._do(restore, self._confined_dir, self._scanner, self.objects, snapshot)

    async def lay(self, snapshot: str) -> None:
        """Write the files of a snapshot over what is here; '' is none.

        Raises:
            ToolError: something other than a file is in the way.
            WorkspaceError: its contents no longer exist.
        """
        for file in await self.snapshot_files(snapshot) if snapshot else ():
            if file.target is None:
                await self.write(file.path, await self.load(file.digest), executable=file.executable)

    def _scan(self) -> str:
        with self._confined_dir.folder(make=True) as folder:
            return self._scanner.scan(folder)

    def _list(self, names: tuple[str, ...], deep: bool, most: int, entries: list[Entry]) -> None:
        with self._confined_dir.folder(names) as folder:
            _list(folder, ''.join(f'{name}/' for name in names), deep, most, entries)

    async def _do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except (OSError, RecursionError) as error:
            problem = getattr(error, 'strerror', None) or str(error)
            raise WorkspaceError(f'the files in {self.folder.name!r}: {problem}') from error


def _list(folder: int, path: str, deep: bool, most: int, collected: list[Entry]) -> None:
    with os.scandir(folder) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    for entry in entries:
        if len(collected) >= most:
            return
        if entry.name.startswith(TEMP_PREFIX):
            continue
        status = entry.stat(follow_symlinks=False)
        here, kind = f'{path}{entry.name}', describe_mode(status.st_mode)
        collected.append(Entry(path=here, kind=kind, size=status.st_size))
        if deep and kind == 'a folder':
            with explain_os_errors(here):
                inner = open_folder(entry.name, folder)
            try:
                _list(inner, f'{here}/', deep, most, collected)
            finally:
                os.close(inner)
