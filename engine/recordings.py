"""The recordings of runs: what their models' endpoints answered, kept in the runs' own folders."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from engine.errors import InvalidInput
from engine.files.workspaces import Workspaces
from engine.records import RunId, RunInfo
from engine.wire.take import lines
from engine.wire.tape import Tape
from engine.wire.taped import Taped


class Moment(Protocol):
    """A run at one step: a view, or a ledger."""

    @property
    def seq(self) -> int:
        """The step."""

    @property
    def entered(self) -> Mapping[str, tuple[int, float]]:
        """For each active state: the step and the time it was entered."""


class Recordings:
    """Finds and keeps the recording of each run that has one.

    A call that was under way when a run was cut off, or forked, is made again: what was recorded of it until
    then is dropped, so that a recording holds the answers that its run went on with.
    """

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._replays: dict[RunId, asyncio.Future[Tape]] = {}

    def path(self, run: RunId) -> Path:
        """Where the recording of a run is, if it has one."""
        return self._workspaces.home(run) / 'recording.jsonl'

    async def begin(self, info: RunInfo) -> None:
        """Give a run that replays another a copy of what it replays. Raises `InvalidInput`."""
        source = info.options.get('replay', '')
        if not source:
            return
        if not self.path(source).is_file():
            raise InvalidInput({'replay': f'run {source} has no recording; it was not started with `record`'})
        await asyncio.to_thread(_copy, self.path(source), self.replayed(info.id))

    async def taped(self, info: RunInfo, state: str, step: int) -> Taped | None:
        """What a call of this state goes through, if anything. Raises `EngineError`."""
        if info.options.get('record'):
            return Taped(Tape(self.path(info.id), 'record'), state, step)
        if not info.options.get('replay'):
            return None
        if info.id not in self._replays:
            self._replays[info.id] = asyncio.ensure_future(asyncio.to_thread(self._open, info))
        return Taped(await asyncio.shield(self._replays[info.id]), state, step)

    async def cut(self, run: RunId, moment: Moment, into: RunId | None = None) -> None:
        """Keep, or give to another run, what was recorded of the calls that had ended at this moment."""
        source, target = self.path(run), self.path(into or run)
        if source.is_file():
            going_on = {(state, entered) for state, (entered, _) in moment.entered.items()}
            await asyncio.to_thread(_cut, source, target, moment.seq, going_on)

    def forget(self, run: RunId) -> None:
        """Let go of what is known of a run; its recording stays."""
        self._replays.pop(run, None)

    def _open(self, info: RunInfo) -> Tape:
        return Tape(self.replayed(info.id), 'replay', name=f'of run {info.options["replay"]}')

    def replayed(self, run: RunId) -> Path:
        """Where the copy of what a run replays is, if it replays one."""
        return self._workspaces.home(run) / 'replayed.jsonl'


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _cut(source: Path, target: Path, last: int, going_on: set[tuple[str, int]]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    made = target.with_suffix('.new')
    with made.open('wb') as file:
        for line, take in lines(source):
            if take['step'] <= last and (take['state'], take['step']) not in going_on:
                file.write(line)
    os.replace(made, target)
