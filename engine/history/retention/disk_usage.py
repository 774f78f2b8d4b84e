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
"""Seconds until the folder of an active run is measured again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskUsage:
    """Bytes used by a run."""

    history: int = 0
    """In the journal: steps and snapshots, as stored."""
    files: int = 0
    """The agents' folders and snapshot objects."""
    recording: int = 0

    @property
    def total(self) -> int:
        """Bytes in total."""
        return self.history + self.files + self.recording


class DiskUsageMeter:
    """Measures runs in a thread, and caches the result until a run changes."""

    def __init__(self, workspaces: Workspaces, clock: Clock) -> None:
        self._workspaces, self._clock = workspaces, clock
        self._known: dict[RunId, tuple[float, float, DiskUsage]] = {}
        """By run: the time of its last update, the time it was measured, and its folder's usage."""
        self._busy = asyncio.Lock()

    async def disk_usage(self, infos: Iterable[RunInfo]) -> dict[RunId, DiskUsage]:
        """Return the disk usage of these runs. The size of a file shared with forks is split evenly."""
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
        """Drop the cached measurement of a run."""
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
    """Return what these runs use in the shared storage, or `here`, the local usage, if it is unavailable."""
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
    """Return the bytes of all files in a folder; 0 if it does not exist. Blocks; follows no links.

    Args:
        folder: the folder to measure.
        shared: whether to divide the size of a file by its number of hard links.
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
