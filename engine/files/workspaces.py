"""The workspaces of all runs under one root: found by run and agent, forked, restored, deleted."""

from __future__ import annotations

import asyncio
import os
import posixpath
import re
import shutil
import stat
import tempfile
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

import platformdirs

from engine.errors import WorkspaceError
from engine.files.difference import FileChange, differences
from engine.files.objects import Both, Objects
from engine.files.tree import FileVersion, files_of
from engine.files.workspace import Workspace
from engine.records import RunId

MOST_NAME = 120


class Workspaces:
    """One folder per run: the folders of its agents, and the contents of all their snapshots.

    Each run keeps its own contents, so that a run is deleted with its folder; a fork gets those of its
    parent under second names, which take no room.

    Args:
        root: where the runs' folders are; None is a temporary folder, gone with `close`.
    """

    def __init__(self, root: Path | None = None) -> None:
        self._root, self._temporary = root, root is None
        self._known: dict[RunId, dict[str, Workspace]] = {}

    @property
    def root(self) -> Path:
        """Where the runs' folders are."""
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix='hemicycle-'))
        return self._root

    def of(self, run: RunId, agent: str) -> Workspace:
        """An agent's folder; made when it is first written to."""
        known = self._known.setdefault(run, {})
        if agent not in known:
            home = self.home(run)
            known[agent] = Workspace(
                home / 'agents' / folder_name(agent), self.objects(run), owner=guest(f'{run}/{agent}')
            )
        return known[agent]

    def objects(self, run: RunId) -> Objects:
        """The contents that a run keeps: its snapshots, and results too long for a conversation."""
        return Objects(self.home(run) / 'objects')

    async def files(self, run: RunId, snapshot: str) -> list[FileVersion]:
        """The files of a snapshot. Raises `WorkspaceError`."""
        return await asyncio.to_thread(lambda: list(files_of(self.objects(run), snapshot)))

    async def content(self, run: RunId, digest: str) -> bytes:
        """A file's content, or an artifact. Raises `WorkspaceError`."""
        return await asyncio.to_thread(self.objects(run).get, digest)

    async def diff(
        self, run: RunId, before: str, after: str, *, other: RunId | None = None
    ) -> list[FileChange]:
        """What differs between two snapshots, of one agent or of two; '' is an empty folder.

        Args:
            run: whose they are.
            before: one snapshot.
            after: the other.
            other: the run that `after` is of, where that is another.

        Raises:
            WorkspaceError
        """
        kept = self.objects(run) if other is None else Both(self.objects(run), self.objects(other))
        return await asyncio.to_thread(differences, kept, before, after)

    async def export(self, run: RunId, snapshot: str, archive: Path) -> None:
        """Write the files of a snapshot to a ZIP file; a link that leads out of the folder is left out.

        Raises:
            WorkspaceError, OSError
        """
        await asyncio.to_thread(_export, self.objects(run), snapshot, archive)

    async def restore(self, run: RunId, snapshots: Mapping[str, str]) -> None:
        """Bring the folders of a run back to one moment: those of agents without a snapshot are removed.

        Args:
            run: which.
            snapshots: the snapshot of each agent, by its path.

        Raises:
            WorkspaceError: a snapshot is not kept any more.
        """
        if self._root is None and not snapshots:
            return
        kept = {folder_name(agent) for agent in snapshots}
        await asyncio.to_thread(_clear, self.home(run) / 'agents', kept)
        for agent, snapshot in snapshots.items():
            await self.of(run, agent).restore(snapshot)

    async def fork(self, parent: RunId, run: RunId, snapshots: Iterable[str]) -> None:
        """Give a new run the contents of its parent.

        Raises:
            WorkspaceError: one of these snapshots of the parent's is not kept any more.
        """
        lost = [snapshot for snapshot in snapshots if snapshot not in self.objects(parent)]
        if lost:
            raise WorkspaceError(f'the snapshot {lost[0][:12]} of run {parent} is not kept any more')
        if (self.home(parent) / 'objects').is_dir():
            await asyncio.to_thread(self.objects(parent).lend, self.objects(run))

    async def delete(self, run: RunId) -> None:
        """Remove all that a run has here."""
        self.forget(run)
        if self._root is not None:
            await asyncio.to_thread(shutil.rmtree, self.home(run), ignore_errors=True)

    def forget(self, run: RunId) -> None:
        """Let go of what is known of a run's folders; the folders stay."""
        self._known.pop(run, None)

    async def close(self) -> None:
        """Remove a temporary root."""
        self._known.clear()
        if self._temporary and self._root is not None:
            root, self._root = self._root, None
            await asyncio.to_thread(shutil.rmtree, root, ignore_errors=True)

    def home(self, run: RunId) -> Path:
        """The folder of all that a run has here. Raises `WorkspaceError`."""
        if not re.fullmatch(r'[A-Za-z0-9][\w-]{0,99}', run):
            raise WorkspaceError(f'{run[:80]!r} names no run')
        return self.root / run


def default_root() -> Path:
    """Where workspaces are when nobody says where: in the folder that the system has for a user's data."""
    named = os.environ.get('HEMICYCLE_HOME', '').strip()
    home = Path(named).expanduser() if named else platformdirs.user_data_path('hemicycle', appauthor=False)
    return home / 'workspaces'


def folder_name(agent: str) -> str:
    """A folder's name for an agent's path: no two share one, also where case does not tell names apart."""
    name = re.sub(r'[^a-z0-9_.-]|^\.', lambda found: ''.join(f'%{b:02X}' for b in found[0].encode()), agent)
    digest = f'{zlib.crc32(agent.encode()):08x}'
    return name if 0 < len(name) <= MOST_NAME else f'{name[:MOST_NAME]}%{digest}'


def guest(name: str) -> int | None:
    """The user that commands in a workspace run as, where this process is the system's own user.

    Nobody has files under this number, so that such a command can read and write what everybody may, and
    its workspace; and the limit on processes, from which the system's own user is exempt, holds.
    """
    if os.geteuid() != 0:
        return None
    try:
        ranges = [line.split() for line in Path('/proc/self/uid_map').read_text().splitlines()]
    except OSError:
        return NOBODY
    wide = any(int(first) == 0 and int(count) > GUESTS + SPREAD for first, _, count in ranges)
    return GUESTS + zlib.crc32(name.encode()) % SPREAD if wide else NOBODY


GUESTS, SPREAD, NOBODY = 1_900_000_000, 90_000_000, 65_534


def _clear(agents: Path, kept: set[str]) -> None:
    for path in agents.glob('*'):
        if path.name not in kept:
            shutil.rmtree(path, ignore_errors=True)


def _export(objects: Objects, snapshot: str, archive: Path) -> None:
    with zipfile.ZipFile(archive, 'w', zipfile.ZIP_DEFLATED, strict_timestamps=False) as written:
        for file in files_of(objects, snapshot):
            name = file.path.encode(errors='replace').decode()
            info = zipfile.ZipInfo(name)  # dated 1980, so that the same files give the same archive
            info.compress_type = zipfile.ZIP_DEFLATED
            info.create_system = 3
            if file.target is None:
                mode, data = stat.S_IFREG | (0o755 if file.executable else 0o644), objects.get(file.digest)
            elif _stays(file):
                mode, data = stat.S_IFLNK | 0o777, os.fsencode(file.target)
            else:
                continue
            info.external_attr = mode << 16
            written.writestr(info, data)


def _stays(link: FileVersion) -> bool:
    """Whether a link leads to something inside the folder."""
    # A target that is absolute takes the place of what it is joined to.
    target = posixpath.normpath(posixpath.join(posixpath.dirname(link.path), link.target or '..'))
    return not target.startswith('/') and target.partition('/')[0] != '..'
