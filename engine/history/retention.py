"""RunMaintenance: notes on runs and steps, disk usage, trash, purge and retention."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Unpack

from engine.errors import EventRefused, FilesUnavailable, InvalidInput, UnknownRun, UnknownStep
from engine.history.bundle.staging import sweep
from engine.host.clock import Clock
from engine.journal.retention_policy import DAY, ExpiredRun, Retention, expired_runs
from engine.records import (
    MAX_NOTE,
    MAX_TAG,
    MAX_TAGS,
    MAX_TITLE,
    PURGING,
    Annotation,
    Note,
    RunId,
    RunInfo,
    RunQuery,
)
from engine.records.jsonable import refuse_nul
from engine.records.run_info import tidy
from engine.runtime.live_runs import LiveRuns
from engine.runtime.run_control import RunControl
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
        """Bytes of all parts together."""
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
        requested = list(infos)
        async with self._busy:
            stale = {info.id: self._workspaces.home(info.id) for info in requested if self._is_stale(info)}
            measured = await asyncio.to_thread(_measure_all, stale) if stale else {}
            if courier := self._workspaces.courier:
                measured = await courier.do(_measure_remote, courier.remote, measured)
            now = self._clock.now()
            moved = {info.id: info.updated for info in requested}
            self._known |= {run: (moved[run], now, weight) for run, weight in measured.items()}
        return {info.id: self._with_history(info) for info in requested}

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
    usages = {}
    try:
        for run in here:
            sizes = {file.path: file.size for file in remote.list_files(f'{run}/')}
            files = sum(size for path, size in sizes.items() if path.startswith(f'{run}/objects/'))
            usages[run] = DiskUsage(files=files, recording=sum(sizes.values()) - files)
    except FilesUnavailable:
        return here
    return usages


def _measure(home: Path) -> DiskUsage:
    recorded = sum(_share(status) for name in RECORDING_FILES if (status := _stat(home / name)))
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
                status = entry.stat(follow_symlinks=False)
                total += _share(status) if shared else status.st_size
    return total


def _share(status: os.stat_result) -> float:
    return status.st_size / max(status.st_nlink, 1)


def _stat(path: Path) -> os.stat_result | None:
    try:
        return path.stat(follow_symlinks=False)
    except OSError:
        return None


RUNS_PER_PAGE = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanupResult:
    """The result of `RunMaintenance.clean_up`."""

    taken: tuple[ExpiredRun, ...] = ()
    """Runs that the policy moved to the trash."""
    purged: tuple[RunId, ...] = ()
    """Runs removed permanently because their time in the trash was up."""


class RunMaintenance:
    """Annotates runs and deletes them: first into the trash, and only from there permanently."""

    def __init__(self, live: LiveRuns, control: RunControl) -> None:
        self._live, self._control = live, control
        self.journal, self.workspaces, self.clock = live.journal, live.workspaces, live.services.clock
        self._meter = DiskUsageMeter(self.workspaces, self.clock)

    @property
    def retention(self) -> Retention:
        """The configured retention policy."""
        return self._live.catalog.configuration.retention

    async def annotate(self, run: RunId, **changes: Unpack[Annotation]) -> RunInfo:
        """Change a person's annotations of a run; what is not given stays as it is.

        Raises:
            UnknownRun
            InvalidInput: the title is blank, a tag is blank, or something is too long.
        """
        return await self.journal.annotate(run, **_check_annotation(changes))

    async def write_note(self, run: RunId, text: str, *, at: int = 0, note: int = 0) -> Note:
        """Add a note to step `at`, or replace the text of note number `note`.

        Notes are stored separately from the history: no transition is changed or added.

        Raises:
            UnknownRun, UnknownStep, UnknownNote
            InvalidInput: the text is empty or too long.
        """
        refuse_nul({'note': text})
        text, info = text.strip(), await self.journal.info(run)
        if not 0 < len(text) <= MAX_NOTE:
            raise InvalidInput({'note': f'it needs 1 to {MAX_NOTE:,} characters, and has {len(text):,}'})
        if not note and not 1 <= at <= info.seq:
            raise UnknownStep(run, at, info.seq)
        now = self.clock.now()
        if note:
            return await self.journal.write_note(Note(id=note, run=run, seq=at, text=text, edited=now))
        return await self.journal.write_note(Note(run=run, seq=at, text=text, created=now))

    async def disk_usage(self, infos: Iterable[RunInfo]) -> dict[RunId, DiskUsage]:
        """Return the size of each run's history, files and recording on disk."""
        return await self._meter.disk_usage(infos)

    async def delete(self, run: RunId, *, cancel: bool = False) -> None:
        """Move a run to the trash, from which it can be restored until it is purged.

        Args:
            run: the run. Its forks are unaffected: each has its own copy of the shared history.
            cancel: whether to first cancel a run that has not ended.

        Raises:
            UnknownRun
            EventRefused: it has not ended and is not stranded.
        """
        info = await self.journal.info(run)
        if cancel and self._live.can_control(run) and not info.status.ended:
            await self._control.cancel(run, 'it was deleted')
        elif not info.status.ended and run not in self._live.stranded:
            raise EventRefused(run, 'delete', 'it has not ended; cancel it first')
        if not info.deleted:
            await self.journal.annotate(run, deleted=self.clock.now())

    async def restore(self, run: RunId) -> RunInfo:
        """Restore a run from the trash. An unfinished run continues at the next `recover`.

        Raises:
            UnknownRun: it does not exist, or was purged.
            EventRefused: it was not deleted.
        """
        info = await self.journal.info(run)
        if info.deleted == PURGING:
            raise UnknownRun(run)
        if not info.deleted:
            raise EventRefused(run, 'restore', 'it was not deleted')
        return await self.journal.annotate(run, deleted=0.0)

    async def purge(self, run: RunId) -> None:
        """Remove a run in the trash permanently, with its files.

        The run is marked first, so that after an interruption it is either complete and still in the trash,
        or hidden until `clean_up` removes the rest.

        Raises:
            UnknownRun
            EventRefused: it is not in the trash.
        """
        if not (await self.journal.info(run)).deleted:
            raise EventRefused(run, 'purge', 'it is not deleted; delete it first')
        await self.journal.annotate(run, deleted=PURGING)
        await self.workspaces.delete(run)
        await self.journal.delete(run)
        self._live.stranded.pop(run, None)
        self._meter.forget(run)

    async def preview_cleanup(self, policy: Retention | None = None) -> list[ExpiredRun]:
        """Return the runs the policy would remove now, oldest first, without changing anything."""
        chosen = policy or self.retention
        if chosen.idle:
            return []
        runs = [info async for info in self.iter_runs('list')]
        weights = await self.disk_usage(runs) if chosen.size is not None else {}
        sizes = [(info, weights[info.id].total if weights else info.bytes) for info in runs]
        return expired_runs(chosen, sizes, self.clock.now())

    async def clean_up(self, policy: Retention | None = None) -> CleanupResult:
        """Apply the policy: move runs to the trash, purge overdue ones from it, and remove leftover files."""
        chosen = policy or self.retention
        expired = await self.preview_cleanup(chosen)
        now = self.clock.now()
        for item in expired:
            await self.journal.annotate(item.info.id, deleted=now)
        overdue = [
            info.id
            async for info in self.iter_runs('trash')
            if now - info.deleted >= chosen.trash_days * DAY and info.deleted < now
        ]
        overdue += [info.id async for info in self.iter_runs('purging')]  # their purge was interrupted
        for run in overdue:
            await self.purge(run)
        await sweep(self.workspaces.root, self._exists)
        # Files that displaced workers wrote after a purge; those of runs being imported are safe for a day.
        await self.workspaces.sweep(self._exists, now - DAY)
        return CleanupResult(taken=tuple(expired), purged=tuple(overdue))

    async def _exists(self, run: RunId) -> bool:
        try:
            await self.journal.info(run)
        except UnknownRun:
            return False
        return True

    async def iter_runs(self, place: Literal['list', 'trash', 'purging'] = 'list') -> AsyncIterator[RunInfo]:
        """Yield all runs that are listed, in the trash, or being purged, newest first."""
        offset = 0
        while page := (
            await self.journal.runs(RunQuery(place=place, offset=offset, limit=RUNS_PER_PAGE))
        ).runs:
            for info in page:
                yield info
            offset += len(page)


def _check_annotation(changes: Annotation) -> Annotation:
    """Return the changes without surrounding space. Raises `InvalidInput`, naming the fields."""
    refuse_nul(changes)
    checked, wrong = changes.copy(), {}
    if 'title' in changes:
        title = checked['title'] = tidy(changes['title'])
        if not 1 <= len(title) <= MAX_TITLE:
            wrong['title'] = f'must have 1 to {MAX_TITLE} characters'
    if 'tags' in changes:
        tags = checked['tags'] = [tidy(tag) for tag in changes['tags']]
        if len(tags) > MAX_TAGS:
            wrong['tags'] = f'a run can have at most {MAX_TAGS} tags'
        elif not all(tags):
            wrong['tags'] = 'must not be empty'
        elif max(map(len, tags), default=0) > MAX_TAG:
            wrong['tags'] = f'each must have at most {MAX_TAG} characters'
    if 'note' in changes:
        note = checked['note'] = changes['note'].strip()
        if len(note) > MAX_NOTE:
            wrong['note'] = f'must have at most {MAX_NOTE:,} characters'
    if wrong:
        raise InvalidInput(wrong)
    return checked
