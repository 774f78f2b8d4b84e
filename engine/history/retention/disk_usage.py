"""Disk usage of runs: journal, agents' files and recordings."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.clock import Clock
from engine.errors import FilesUnavailable
from engine.records import RunId, RunInfo
from engine.workspace.directories import walk
from engine.workspace.shared.remote_files import RemoteFiles
from engine.workspace.workspaces import Workspaces

RECORDING_FILES = frozenset({'recording.jsonl', 'replayed.jsonl'})
REMEASURE_SECONDS = 10.0
"""Seconds before the folder of an active run is measured again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUsage:
    """Bytes used by a run."""

    history: int = 0
    """In the journal: steps and snapshots, as stored."""
    files: int = 0
    """The agents' folders and the objects of their snapshots."""
    recording: int = 0

    @property
    def total(self) -> int:
        """The total."""
        return self.history + self.files + self.recording


class DiskUsageMeter:
    """Measures runs in a thread; a run unchanged since is not measured again."""

    def __init__(self, workspaces: Workspaces, clock: Clock) -> None:
        self._workspaces, self._clock = workspaces, clock
        self._known: dict[RunId, tuple[float, float, DiskUsage]] = {}
        """Of each run: when it had moved last, when it was weighed, and the folder's weight."""
        self._busy = asyncio.Lock()

    async def disk_usage(self, infos: Iterable[RunInfo]) -> dict[RunId, DiskUsage]:
        """The disk usage of these runs. A file shared with a fork is split between them."""
        wanted = list(infos)
        async with self._busy:
            stale = {info.id: self._workspaces.home(info.id) for info in wanted if self._is_stale(info)}
            found = await asyncio.to_thread(_measure_all, stale) if stale else {}
            if courier := self._workspaces.courier:
                found = await courier.do(_measure_remote, courier.remote, found)
            now = self._clock.now()
            moved = {info.id: info.updated for info in wanted}
            self._known |= {run: (moved[run], now, weight) for run, weight in found.items()}
        return {info.id: self._with_history(info) for info in wanted}

    def forget(self, run: RunId) -> None:
        """Drop what is cached about a run."""
        self._known.pop(run, None)

    def _with_history(self, info: RunInfo) -> DiskUsage:
        folder = self._known[info.id][2]
        return DiskUsage(history=info.bytes, files=folder.files, recording=folder.recording)

    def _is_stale(self, info: RunInfo) -> bool:
        if info.id not in self._known:
            return True
        moved, weighed, _ = self._known[info.id]
        # Work in flight may continue for a moment after the run's last step.
        settled = weighed - moved > REMEASURE_SECONDS
        return moved != info.updated or (not settled and self._clock.now() - weighed >= REMEASURE_SECONDS)


def _measure_all(homes: dict[RunId, Path]) -> dict[RunId, DiskUsage]:
    return {run: _measure(home) for run, home in homes.items()}


def _measure_remote(remote: RemoteFiles, here: dict[RunId, DiskUsage]) -> dict[RunId, DiskUsage]:
    """What these runs use where all machines reach it; what they use here if that cannot be asked."""
    found = {}
    try:
        for run in here:
            sizes = {file.path: file.size for file in remote.list_files(f'{run}/')}
            files = sum(size for path, size in sizes.items() if path.startswith(f'{run}/objects/'))
            found[run] = DiskUsage(files=files, recording=sum(sizes.values()) - files)
    except FilesUnavailable:
        return here
    return found


def _measure(home: Path) -> DiskUsage:
    recorded = sum(_share(found) for name in RECORDING_FILES if (found := _stat(home / name)))
    return DiskUsage(files=round(folder_bytes(home, shared=True) - recorded), recording=round(recorded))


def folder_bytes(folder: Path, *, shared: bool = False) -> float:
    """The bytes of all files in a folder; 0 if it does not exist. Blocks; follows no links.

    Args:
        folder: the folder to measure.
        shared: whether a file with several hard links counts as its size divided by their number.
    """
    total = 0.0
    for _, entry in walk(folder):
        with contextlib.suppress(OSError):  # removed meanwhile
            if entry is not None and not entry.is_dir(follow_symlinks=False):
                found = entry.stat(follow_symlinks=False)
                total += _share(found) if shared else found.st_size
    return total


def _share(found: os.stat_result) -> float:
    return found.st_size / max(found.st_nlink, 1)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat(follow_symlinks=False)
    except OSError:
        return None
