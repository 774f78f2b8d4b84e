"""The files that runs are started with, read back from a run."""

from __future__ import annotations

from typing import Protocol

from engine.errors import WorkspaceError
from engine.records import FileContent, RunId, RunInfo
from engine.records.launch import MAX_FILES, MAX_FILES_SIZE, file_content
from engine.workspace.snapshots import FileVersion


class FileReader(Protocol):
    """Reads the files of runs, here or on a server."""

    async def files(self, run: RunId, snapshot: str) -> list[FileVersion]:
        """List the files of a snapshot. Raises `WorkspaceError`."""

    async def content(self, run: RunId, digest: str) -> bytes:
        """Return the content of a file. Raises `WorkspaceError`."""


async def read_given_files(reader: FileReader, info: RunInfo) -> dict[str, FileContent]:
    """Return the files that a run was started with, as `Launch.files` has them.

    Raises:
        WorkspaceError: they are no longer kept.
    """
    given = info.given_files
    if given is None:
        return {}
    files = [file for file in await reader.files(info.id, given['snapshot']) if file.target is None]
    # A bundle may bring any snapshot.
    if len(files) > MAX_FILES or sum(file.size for file in files) > MAX_FILES_SIZE:
        raise WorkspaceError(f'the files that run {info.id} was started with are too large to give again')
    return {file.path: file_content(await reader.content(info.id, file.digest)) for file in files}
