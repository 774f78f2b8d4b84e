"""An agent's own folder for a run: its files, snapshots of them, and the way back to one."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec, TypeVar

from engine.errors import WorkspaceError
from engine.files.beneath import SCRATCH, Beneath, explained, kind_of, open_folder, parts_of
from engine.files.objects import Objects
from engine.files.tree import FileVersion, Scanner, files_of, restore

P = ParamSpec('P')
T = TypeVar('T')

MOST_READ = 16 << 20
"""Bytes of a file that is read as a whole."""
MOST_LISTED = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """What a folder lists."""

    path: str
    kind: str
    """`a file`, `a folder`, `a link` or `a device or a pipe`."""
    size: int


class Workspace:
    """The folder of one agent in one run. Paths are relative to it, and none leads out of it.

    What blocks is done in a thread. The folder is made when it is first written to.

    Args:
        folder: where it is.
        objects: where its run keeps contents.
        owner: the system's user that commands in it run as, where that is another than this process's.
    """

    def __init__(self, folder: Path, objects: Objects, *, owner: int | None = None) -> None:
        self.folder, self.owner, self.objects = folder, owner, objects
        self._beneath = Beneath(folder, owner)
        self._scanner = Scanner(objects)
        self._turn = asyncio.Lock()

    async def make(self) -> Path:
        """The folder itself, which is there from now on: for commands."""

        def make() -> None:
            with self._beneath.folder(make=True):
                pass

        await self._do(make)
        return self.folder

    async def read(self, path: str, *, most: int = MOST_READ) -> bytes:
        """A file's content. Raises `ToolError`."""
        return await self._do(self._beneath.read, parts_of(path), most)

    async def write(self, path: str, data: bytes, *, executable: bool | None = None) -> bool:
        """Write a file, and the folders around it; gives whether there was one. Raises `ToolError`."""
        return await self._do(self._write, parts_of(path), data, executable)

    async def entries(self, path: str = '', *, deep: bool = True, most: int = MOST_LISTED) -> list[Entry]:
        """What is in a folder, in order, at most `most`; nothing where nothing was written yet.

        Raises:
            ToolError: there is no such folder.
        """
        found: list[Entry] = []
        names = parts_of(path)
        if names or self.folder.is_dir():
            await self._do(self._list, names, deep, most, found)
        return found

    async def keep(self, data: bytes) -> str:
        """Keep something beside the files, for as long as the run is kept; gives its id."""
        return await self._do(self.objects.put, data)

    async def kept(self, digest: str) -> bytes:
        """What was kept under an id. Raises `WorkspaceError`."""
        return await self._do(self.objects.get, digest)

    async def snapshot(self) -> str:
        """Keep all files as they are now; gives the snapshot's id. Raises `WorkspaceError`."""
        async with self._turn:
            return await self._do(self._scan)

    async def listed(self, snapshot: str) -> list[FileVersion]:
        """The files of a snapshot. Raises `WorkspaceError`."""
        return await self._do(lambda: list(files_of(self.objects, snapshot)))

    async def restore(self, snapshot: str) -> None:
        """Make the folder hold what it held at a snapshot, of this or of another agent of the run.

        Raises:
            WorkspaceError: its contents are not there any more.
        """
        if snapshot not in self.objects:
            raise WorkspaceError(f'the snapshot {snapshot[:12]} is not kept any more')
        async with self._turn:
            await self._do(restore, self._beneath, self._scanner, self.objects, snapshot)

    def _write(self, names: tuple[str, ...], data: bytes, executable: bool | None) -> bool:
        return self._beneath.write(names, data, executable=executable)

    def _scan(self) -> str:
        with self._beneath.folder(make=True) as folder:
            return self._scanner.scan(folder)

    def _list(self, names: tuple[str, ...], deep: bool, most: int, found: list[Entry]) -> None:
        with self._beneath.folder(names) as folder:
            _list(folder, ''.join(f'{name}/' for name in names), deep, most, found)

    async def _do(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return await asyncio.to_thread(work, *args, **kwargs)
        except (OSError, RecursionError) as error:
            problem = getattr(error, 'strerror', None) or str(error)
            raise WorkspaceError(f'the files in {self.folder.name!r}: {problem}') from error


def _list(folder: int, path: str, deep: bool, most: int, found: list[Entry]) -> None:
    with os.scandir(folder) as listed:
        entries = sorted(listed, key=lambda entry: entry.name)
    for entry in entries:
        if len(found) >= most:
            return
        if entry.name.startswith(SCRATCH):
            continue
        status = entry.stat(follow_symlinks=False)
        here, kind = f'{path}{entry.name}', kind_of(status.st_mode)
        found.append(Entry(path=here, kind=kind, size=status.st_size))
        if deep and kind == 'a folder':
            with explained(here):
                inner = open_folder(entry.name, folder)
            try:
                _list(inner, f'{here}/', deep, most, found)
            finally:
                os.close(inner)
