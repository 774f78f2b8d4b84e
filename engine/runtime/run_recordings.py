"""Recordings of runs: the answers of model endpoints, stored in each run's own folder."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from engine.errors import InvalidInput
from engine.models.recording.cassette import Cassette
from engine.models.recording.exchange import read_lines
from engine.models.recording.recorded_call import RecordedCall
from engine.records import RunId, RunInfo
from engine.workspace.workspaces import Workspaces


class RunPosition(Protocol):
    """A run at one step: a view, or a `RunProjection`."""

    @property
    def seq(self) -> int:
        """The step."""

    @property
    def entered(self) -> Mapping[str, tuple[int, float]]:
        """For each active state: the step and the time of entry."""


class Recordings:
    """Finds and maintains the recordings of runs.

    A call in progress when a run was cut off or forked is made again: what was recorded of it is dropped, so
    that a recording holds exactly the answers its run used.
    """

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._replays: dict[RunId, asyncio.Future[Cassette]] = {}

    def path(self, run: RunId) -> Path:
        """Where the recording of a run is, if it has one."""
        return self._workspaces.home(run) / 'recording.jsonl'

    def check(self, info: RunInfo) -> None:
        """Raise `InvalidInput` if a run is to replay another that has no recording."""
        source = info.options.get('replay', '')
        if source and not self.path(source).is_file():
            raise InvalidInput({'replay': f'run {source} has no recording; it was not started with `record`'})

    async def copy_source(self, info: RunInfo) -> None:
        """Give a run that replays another a copy of the recording. Raises `InvalidInput`."""
        if info.options.get('replay') and not self.replayed_path(info.id).is_file():
            self.check(info)
            await asyncio.to_thread(_copy, self.path(info.options['replay']), self.replayed_path(info.id))

    async def recorded_call(self, info: RunInfo, state: str, step: int) -> RecordedCall | None:
        """The wrapper for a call of this state, if any. Raises `EngineError`."""
        if info.options.get('record'):
            return RecordedCall(Cassette(self.path(info.id), 'record'), state, step)
        if not info.options.get('replay'):
            return None
        if info.id not in self._replays:
            self._replays[info.id] = asyncio.ensure_future(asyncio.to_thread(self._open, info))
        return RecordedCall(await asyncio.shield(self._replays[info.id]), state, step)

    async def truncate(self, run: RunId, position: RunPosition, into: RunId | None = None) -> None:
        """Keep, or copy to another run, only what was recorded of calls that had ended at this position."""
        source, target = self.path(run), self.path(into or run)
        if source.is_file():
            going_on = {(state, entered) for state, (entered, _) in position.entered.items()}
            await asyncio.to_thread(_truncate, source, target, position.seq, going_on)

    def forget(self, run: RunId) -> None:
        """Drop cached data of a run; its recording stays."""
        self._replays.pop(run, None)

    def _open(self, info: RunInfo) -> Cassette:
        return Cassette(self.replayed_path(info.id), 'replay', name=f'of run {info.options["replay"]}')

    def replayed_path(self, run: RunId) -> Path:
        """Where the copy of the recording that a run replays is, if any."""
        return self._workspaces.home(run) / 'replayed.jsonl'


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_suffix('.new')
    shutil.copyfile(source, made)
    os.replace(made, target)


def _truncate(source: Path, target: Path, last: int, going_on: set[tuple[str, int]]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_suffix('.new')
    with made.open('wb') as file:
        for line, exchange in read_lines(source):
            if exchange['step'] <= last and (exchange['state'], exchange['step']) not in going_on:
                file.write(line)
    os.replace(made, target)
