"""Workspaces: looks up, forks, restores and deletes the workspaces of all runs under one root."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import zlib
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Protocol

from engine.errors import WorkspaceError
from engine.records import FileContent, GivenFiles, RunId, RunInfo
from engine.records.launch import MAX_FILES, MAX_FILES_SIZE, file_bytes, file_content
from engine.workspace.diff import FileChange, diff_snapshots
from engine.workspace.directories import link_tree, remove_tree
from engine.workspace.object_store import ChainedStore, ObjectStore
from engine.workspace.shared.remote_files import RemoteFiles
from engine.workspace.shared.shared_store import FileTransfer, SharedStore
from engine.workspace.snapshots import FileVersion, files_of, store_files
from engine.workspace.workspace import Workspace
from engine.workspace.zip_export import write_zip

MAX_FOLDER_NAME = 120
RUN_ID = re.compile(r'[A-Za-z0-9][\w-]{0,99}')
DEPENDENCIES = 'dependencies'
"""The folder of a run where its project's dependencies are installed; no agent writes there."""
AGENT_HOMES = 'homes'
"""The folder of a run with the homes of its external agents; removed once the run is over."""


class Workspaces:
    """One folder per run, with its agents' folders and the objects of all their snapshots.

    Each run has its own object store, so that deleting its folder deletes all its files. A fork gets its
    parent's objects as hard links, which take no space.

    Args:
        root: the folder of the runs' folders; None means a temporary one, removed by `close`.
        remote: storage that other machines can access; it is authoritative, and the folders are a cache.
    """

    def __init__(self, root: Path | None = None, remote: RemoteFiles | None = None) -> None:
        self._root, self._temporary = root, root is None
        self.courier = FileTransfer(remote) if remote else None
        self._shared: dict[RunId, SharedStore] = {}
        self._known: dict[RunId, dict[str, Workspace]] = {}

    @property
    def root(self) -> Path:
        """The folder of the runs' folders."""
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix='hemicycle-'))
        return self._root

    def of(self, run: RunId, agent: str) -> Workspace:
        """Return an agent's folder, which is created on the first write."""
        workspaces = self._known.setdefault(run, {})
        if agent not in workspaces:
            home = self.home(run)
            workspaces[agent] = Workspace(
                home / 'agents' / folder_name(agent), self.objects(run), owner=sandbox_uid(f'{run}/{agent}')
            )
        return workspaces[agent]

    def objects(self, run: RunId) -> ObjectStore:
        """Return a run's object store, which holds snapshots and results too long for a conversation."""
        folder = self.home(run) / 'objects'
        if self.courier is None:
            return ObjectStore(folder)
        if run not in self._shared:
            self._shared[run] = SharedStore(folder, self.courier.remote, f'{run}/objects')
        return self._shared[run]

    async def upload(self, run: RunId) -> None:
        """Upload a run's objects, so that other machines can find them before a step refers to them.

        Raises:
            FilesUnavailable
        """
        if self.courier and isinstance(store := self.objects(run), SharedStore):
            await self.courier.send(store)

    async def fetch(self, run: RunId) -> None:
        """Fetch all objects of a run. Raises `WorkspaceError`, `FilesUnavailable`."""
        if self.courier and isinstance(store := self.objects(run), SharedStore):
            await self.courier.fetch_all(store)

    async def files(self, run: RunId, snapshot: str) -> list[FileVersion]:
        """List the files of a snapshot. Raises `WorkspaceError`."""
        return await asyncio.to_thread(lambda: list(files_of(self.objects(run), snapshot)))

    async def content(self, run: RunId, digest: str) -> bytes:
        """Return the content of a file or an artifact. Raises `WorkspaceError`."""
        return await asyncio.to_thread(self.objects(run).get, digest)

    async def give(self, run: RunId, files: Mapping[str, FileContent]) -> GivenFiles:
        """Store the files that a run is started with; no folder has them yet. Raises `WorkspaceError`."""
        contents = {path: file_bytes(content) for path, content in files.items()}
        snapshot = await asyncio.to_thread(store_files, self.objects(run), contents)
        return GivenFiles(snapshot=snapshot, sizes={path: len(data) for path, data in contents.items()})

    async def diff(
        self, run: RunId, before: str, after: str, *, other: RunId | None = None
    ) -> list[FileChange]:
        """Compare two snapshots of one or two agents; '' is an empty folder.

        Args:
            run: the run of the snapshots.
            before: the earlier snapshot.
            after: the later snapshot.
            other: the run of `after`, if different.

        Raises:
            WorkspaceError
        """
        objects = self.objects(run) if other is None else ChainedStore(self.objects(run), self.objects(other))
        return await asyncio.to_thread(diff_snapshots, objects, before, after)

    async def export(self, run: RunId, snapshot: str, archive: Path) -> None:
        """Write a snapshot's files to a ZIP file, omitting any that could do harm when unpacked.

        Raises:
            WorkspaceError, OSError
        """
        await self._fetch_trees(run, [snapshot])
        await asyncio.to_thread(write_zip, self.objects(run), snapshot, archive)

    async def restore(self, run: RunId, snapshots: Mapping[str, str]) -> None:
        """Restore a run's folders to one moment; folders of agents without a snapshot are removed.

        Args:
            run: the run.
            snapshots: the snapshot of each agent, by its path.

        Raises:
            WorkspaceError: a snapshot no longer exists.
            FilesUnavailable
        """
        await self._fetch_trees(run, snapshots.values())
        if self._root is None and not snapshots:
            return
        # Dependencies are in no snapshot. Once the agents have their first files, they are complete.
        retained = {folder_name(agent) for agent in snapshots} | ({DEPENDENCIES} if snapshots else set())
        await asyncio.to_thread(_clear, self.home(run) / 'agents', retained)
        for agent, snapshot in snapshots.items():
            await self.of(run, agent).restore(snapshot)

    async def fork(self, parent: RunId, run: RunId, snapshots: Iterable[str]) -> None:
        """Give a new run its parent's objects and installed dependencies, as hard links.

        Idempotent, so that it can be repeated after an interruption.

        Raises:
            WorkspaceError: one of the snapshots no longer exists.
        """
        stores, ids = (self.objects(run), self.objects(parent)), tuple(snapshots)
        lost = await asyncio.to_thread(
            lambda: [snapshot for snapshot in ids if not any(snapshot in objects for objects in stores)]
        )
        if lost:
            raise WorkspaceError(f'the snapshot {lost[0][:12]} of run {parent} is no longer kept')
        if (self.home(parent) / 'objects').is_dir():
            await asyncio.to_thread(self.objects(parent).link_all, self.objects(run))
        if self.courier:
            await self._copy(parent, run, self.courier)
        installed = self.home(parent) / 'agents' / DEPENDENCIES
        if ids and installed.is_dir():
            await asyncio.to_thread(link_tree, installed, self.home(run) / 'agents' / DEPENDENCIES)

    async def delete(self, run: RunId) -> None:
        """Delete the agents' files of a run, here and in the remote storage."""
        self.forget(run)
        if self.courier:
            await self.courier.remove(f'{run}/')
        if self._root is not None:
            await asyncio.to_thread(remove_tree, self.home(run))

    def forget(self, run: RunId) -> None:
        """Drop cached data about a run's folders, without deleting the folders."""
        self._known.pop(run, None)
        self._shared.pop(run, None)

    async def sweep(self, exists: Callable[[RunId], Awaitable[bool]], before: float) -> list[RunId]:
        """Remove remote files of runs that no longer exist, such as those a displaced worker wrote late.

        Args:
            exists: returns whether a run exists.
            before: folders with newer files are left alone, since their run may be about to be created.

        Returns:
            The runs whose files were removed.

        Raises:
            FilesUnavailable
        """
        swept = []
        if self.courier:
            for run in map(RunId, await self.courier.do(self.courier.remote.folders)):
                is_orphan = RUN_ID.fullmatch(run) and not await exists(run)
                if is_orphan and await self.courier.remove(f'{run}/', before=before):
                    swept.append(run)
        return swept

    async def close(self) -> None:
        """Remove the root if it is temporary."""
        self._known.clear()
        if self.courier:
            self.courier.close()
        if self._temporary and self._root is not None:
            root, self._root = self._root, None
            await asyncio.to_thread(remove_tree, root)

    def home(self, run: RunId) -> Path:
        """Return the folder of a run. Raises `WorkspaceError` if its id is not valid."""
        if not RUN_ID.fullmatch(run):
            raise WorkspaceError(f'{run[:80]!r} is not the id of a run')
        return self.root / run

    def agent_home(self, run: RunId, agent: str) -> Path:
        """Return the home of a run's external agent, which holds its sign-in and sessions."""
        return self.home(run) / AGENT_HOMES / folder_name(agent)

    async def remove_agent_homes(self, run: RunId) -> None:
        """Remove the homes of a run's external agents, with their credentials and all stored data."""
        if self._root is not None and (homes := self.home(run) / AGENT_HOMES).is_dir():
            await asyncio.to_thread(remove_tree, homes)

    async def _fetch_trees(self, run: RunId, snapshots: Iterable[str]) -> None:
        if self.courier and isinstance(store := self.objects(run), SharedStore):
            await self.courier.fetch_trees(store, snapshots)

    async def _copy(self, parent: RunId, run: RunId, courier: FileTransfer) -> None:
        """Copy a parent's objects to its fork in the remote store."""
        await self.upload(run)  # the parent's objects that exist only locally
        source, target = self.objects(parent), self.objects(run)
        if isinstance(source, SharedStore) and isinstance(target, SharedStore):
            lacking = await courier.do(lambda: source.remote_digests() - target.remote_digests())
            await courier.each(
                lambda digest: courier.remote.copy(source.path_there(digest), target.path_there(digest)),
                lacking,
            )


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


def folder_name(agent: str) -> str:
    """Return a folder name for an agent's path that is unique even on case-insensitive file systems."""
    name = re.sub(r'[^a-z0-9_.-]|^\.', lambda match: ''.join(f'%{b:02X}' for b in match[0].encode()), agent)
    digest = f'{zlib.crc32(agent.encode()):08x}'
    return name if 0 < len(name) <= MAX_FOLDER_NAME else f'{name[:MAX_FOLDER_NAME]}%{digest}'


def sandbox_uid(name: str) -> int | None:
    """Return the uid that commands in a workspace run as, if this process is root.

    No other files belong to this uid, so commands can access only their workspace and world-accessible files.
    They are also subject to the limit on processes, from which root is exempt.
    """
    if os.geteuid() != 0:
        return None
    return FIRST_UID + zlib.crc32(name.encode()) % UID_COUNT if _has_many_uids() else NOBODY_UID


@cache
def _has_many_uids() -> bool:
    """Return whether this process may use the uids of sandboxes; cached, since its uid map never changes."""
    try:
        ranges = [line.split() for line in Path('/proc/self/uid_map').read_text().splitlines()]
    except OSError:
        return False
    return any(int(first) == 0 and int(count) > FIRST_UID + UID_COUNT for first, _, count in ranges)


FIRST_UID, UID_COUNT, NOBODY_UID = 1_900_000_000, 90_000_000, 65_534


def _clear(agents: Path, retained: set[str]) -> None:
    for path in agents.glob('*'):
        if path.name not in retained:
            remove_tree(path)
