"""Recordings: the stored answers of model endpoints, in each run's own folder."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path

from engine.errors import InvalidInput
from engine.journal.projection import RunProjection
from engine.models.recording.cassette import Cassette
from engine.models.recording.exchange import read_lines
from engine.models.recording.recorded_call import RecordedCall
from engine.records import RunId, RunInfo, View
from engine.workspace.shared.remote_files import RemoteFiles
from engine.workspace.workspaces import Workspaces


class Recordings:
    """Finds and maintains the recordings of runs.

    A call in progress when a run was cut off or forked is repeated. Its partial recording is dropped, so that
    a recording holds exactly the answers its run used.

    With shared file storage, a recording is uploaded in parts as it grows, named after the epoch of the run's
    owner and the offset. Only the newest epoch counts: its first part holds all that its owner took over.
    """

    def __init__(self, workspaces: Workspaces) -> None:
        self._workspaces = workspaces
        self._replays: dict[RunId, asyncio.Future[Cassette]] = {}
        self._sent: dict[RunId, tuple[int, int]] = {}
        """For each run executed here: the owner's epoch, and the number of bytes uploaded."""

    def path(self, run: RunId) -> Path:
        """Return the path of a run's recording, which may not exist."""
        return self._workspaces.home(run) / 'recording.jsonl'

    async def check(self, info: RunInfo) -> None:
        """Raise `InvalidInput` if a run is to replay another that has no recording."""
        source = info.options.get('replay', '')
        if not source:
            return
        await self.fetch(source)
        if not self.path(source).is_file():
            raise InvalidInput({'replay': f'run {source} has no recording; it was not started with `record`'})

    async def copy_source(self, info: RunInfo) -> None:
        """Give a run that replays another a copy of the recording. Raises `InvalidInput`."""
        if info.options.get('replay') and not await self._has_replayed(info.id):
            await self.check(info)
            await asyncio.to_thread(_copy, self.path(info.options['replay']), self.replayed_path(info.id))
            await self.publish(info.id)

    async def recorded_call(self, info: RunInfo, state: str, step: int) -> RecordedCall | None:
        """Return the wrapper for a call of this state, if any. Raises `EngineError`."""
        if info.options.get('record'):
            self._sent.setdefault(info.id, (info.epoch, 0))
            return RecordedCall(Cassette(self.path(info.id), 'record'), state, step)
        if not info.options.get('replay'):
            return None
        if info.id not in self._replays:
            await self._has_replayed(info.id)
            self._replays[info.id] = asyncio.ensure_future(asyncio.to_thread(self._open, info))
        return RecordedCall(await asyncio.shield(self._replays[info.id]), state, step)

    async def truncate(self, run: RunId, position: View | RunProjection, *, epoch: int) -> None:
        """Drop the recordings of calls that had not ended at this position, as the owner of an epoch."""
        self._sent.pop(run, None)
        await self._copy_until(run, run, position)
        self._sent[run] = (epoch, 0)
        await self.upload(run)

    async def fork(self, run: RunId, position: View | RunProjection, into: RunId) -> None:
        """Copy the recordings of calls that had ended at this position to another run."""
        await self._copy_until(run, into, position)
        await self.publish(into)

    async def upload(self, run: RunId) -> None:
        """Upload everything recorded since the last upload. Raises `FilesUnavailable`."""
        courier = self._workspaces.courier
        if courier is None or run not in self._sent:
            return
        epoch, begin = self._sent[run]
        if piece := await asyncio.to_thread(_lines_from, self.path(run), begin):
            await courier.do(courier.remote.send, f'{run}/recording/{epoch:010}-{begin:015}', piece)
            self._sent[run] = (epoch, begin + len(piece))

    async def publish(self, run: RunId) -> None:
        """Upload the recordings of a run that is not being executed yet. Raises `FilesUnavailable`."""
        if courier := self._workspaces.courier:
            for path in (self.path(run), self.replayed_path(run)):
                if path.is_file():
                    await courier.do(courier.remote.send, f'{run}/{path.name}', path)

    async def fetch(self, run: RunId) -> None:
        """Download a run's current recording, unless the run is executed here. Raises `FilesUnavailable`."""
        if (courier := self._workspaces.courier) and run not in self._sent:
            await courier.do(_fetch, courier.remote, run, self.path(run))
            await self._has_replayed(run)

    def forget(self, run: RunId) -> None:
        """Drop cached data of a run; its recording stays."""
        self._replays.pop(run, None)
        self._sent.pop(run, None)

    async def _copy_until(self, run: RunId, into: RunId, position: View | RunProjection) -> None:
        await self.fetch(run)
        source, target = self.path(run), self.path(into)
        if source.is_file():
            unfinished = {(state, entered) for state, (entered, _) in position.entered.items()}
            await asyncio.to_thread(_truncate, source, target, position.seq, unfinished)

    async def _has_replayed(self, run: RunId) -> bool:
        """Download the recording a run replays if necessary; return whether there is one."""
        path = self.replayed_path(run)
        if (courier := self._workspaces.courier) and not path.is_file():
            await courier.do(_download, courier.remote, [f'{run}/{path.name}'], path)
        return path.is_file()

    def _open(self, info: RunInfo) -> Cassette:
        return Cassette(self.replayed_path(info.id), 'replay', name=f'of run {info.options["replay"]}')

    def replayed_path(self, run: RunId) -> Path:
        """Return the path of the copied recording that a run replays, which may not exist."""
        return self._workspaces.home(run) / 'replayed.jsonl'


def _fetch(remote: RemoteFiles, run: RunId, target: Path) -> None:
    """Download the newest owner's parts as one file or, without any, the recording the run began with."""
    parts = sorted(file.path for file in remote.list_files(f'{run}/recording'))
    newest = [part for part in parts if _epoch_of(part) == _epoch_of(parts[-1])]
    _download(remote, newest or [f'{run}/{target.name}'], target)


def _epoch_of(part: str) -> str:
    return part.rpartition('-')[0]


def _download(remote: RemoteFiles, parts: Sequence[str], target: Path) -> None:
    """Download files and concatenate them into one; a no-op if one is missing."""
    temporary = target.with_name(f'{target.name}.{secrets.token_hex(4)}')
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with temporary.open('wb') as file:
            for part in parts:
                file.writelines(remote.read(part))
        os.replace(temporary, target)
    except FileNotFoundError:
        return
    finally:
        temporary.unlink(missing_ok=True)


def _lines_from(path: Path, begin: int) -> bytes:
    """Return the complete lines of a file from a position on."""
    if not path.is_file():
        return b''
    with path.open('rb') as file:
        file.seek(begin)
        data = file.read()
    return data[: data.rfind(b'\n') + 1]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix('.new')
    shutil.copyfile(source, temporary)
    os.replace(temporary, target)


def _truncate(source: Path, target: Path, last: int, unfinished: set[tuple[str, int]]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix('.new')
    with temporary.open('wb') as file:
        for line, exchange in read_lines(source):
            if exchange['step'] <= last and (exchange['state'], exchange['step']) not in unfinished:
                file.write(line)
    os.replace(temporary, target)
