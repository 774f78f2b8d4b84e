"""What runs take on the disk: their histories in the journal, their agents' files, their recordings."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from engine.clock import Clock
from engine.files.workspaces import Workspaces
from engine.records import RunId, RunInfo

RECORDINGS = frozenset({'recording.jsonl', 'replayed.jsonl'})
AGAIN = 10.0
"""Seconds until the folder of a run that goes on is measured again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """Bytes of a run."""

    history: int = 0
    """In the journal: its steps and snapshots, as they are stored."""
    files: int = 0
    """The agents' folders, and the contents of their snapshots."""
    recording: int = 0

    @property
    def total(self) -> int:
        """All of it."""
        return self.history + self.files + self.recording


class Scales:
    """Weighs runs, in a thread; a run that has not moved since is not weighed again."""

    def __init__(self, workspaces: Workspaces, clock: Clock) -> None:
        self._workspaces, self._clock = workspaces, clock
        self._known: dict[RunId, tuple[float, float, Weight]] = {}
        """Of each run: when it had moved last, when it was weighed, and the folder's weight."""
        self._busy = asyncio.Lock()

    async def weigh(self, infos: Iterable[RunInfo]) -> dict[RunId, Weight]:
        """What these runs take. A file that a fork shares with its parent counts for each by its share."""
        wanted = list(infos)
        async with self._busy:
            stale = {info.id: self._workspaces.home(info.id) for info in wanted if self._is_stale(info)}
            found = await asyncio.to_thread(_weighed, stale) if stale else {}
            now = self._clock.now()
            moved = {info.id: info.updated for info in wanted}
            self._known |= {run: (moved[run], now, weight) for run, weight in found.items()}
        return {info.id: self._with_history(info) for info in wanted}

    def forget(self, run: RunId) -> None:
        """Let go of what is known of a run."""
        self._known.pop(run, None)

    def _with_history(self, info: RunInfo) -> Weight:
        folder = self._known[info.id][2]
        return Weight(history=info.bytes, files=folder.files, recording=folder.recording)

    def _is_stale(self, info: RunInfo) -> bool:
        if info.id not in self._known:
            return True
        moved, weighed, _ = self._known[info.id]
        # What its agents had under way may go on for a moment after its last step.
        settled = weighed - moved > AGAIN
        return moved != info.updated or (not settled and self._clock.now() - weighed >= AGAIN)


def _weighed(homes: dict[RunId, Path]) -> dict[RunId, Weight]:
    return {run: _weight(home) for run, home in homes.items()}


def _weight(home: Path) -> Weight:
    recorded = sum(_share(found) for name in RECORDINGS if (found := _stat(home / name)))
    return Weight(files=round(folder_bytes(home, shared=True) - recorded), recording=round(recorded))


def folder_bytes(folder: Path, *, shared: bool = False) -> float:
    """Bytes of the files in a folder; 0 where there is none. Blocks, and follows no link.

    Args:
        folder: which.
        shared: whether a file with several names counts by the share of this one.
    """
    todo, total = [str(folder)], 0.0
    while todo:
        try:
            with os.scandir(todo.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        todo.append(entry.path)
                    else:
                        found = entry.stat(follow_symlinks=False)
                        total += _share(found) if shared else found.st_size
        except OSError:
            continue  # it is gone meanwhile, or not for us to read
    return total


def _share(found: os.stat_result) -> float:
    return found.st_size / max(found.st_nlink, 1)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat(follow_symlinks=False)
    except OSError:
        return None
