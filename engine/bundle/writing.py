"""Writes bundles: run after run, line after line, a page of steps at a time; holds no more of them."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import importlib.metadata
import tempfile
import zlib
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.bundle.contents import Contents
from engine.bundle.lines import FORMAT, VERSION, jsonable, run_line, step_line, written
from engine.bundle.redaction import Redaction
from engine.conductor import Conductor
from engine.errors import BundleError
from engine.records import RunId, RunInfo, Transition
from engine.wire.take import lines, packed, unpacked

PAGE = 200
"""Steps that are read at once."""
BATCH = 1 << 20
"""About so many bytes are handed on at once."""


def program() -> str:
    """The version of this program, where it was installed."""
    try:
        return importlib.metadata.version('hemicycle')
    except importlib.metadata.PackageNotFoundError:
        return 'from its source'


async def family(conductor: Conductor, run: RunId) -> list[RunId]:
    """A run with all that it was forked from and all that was forked of any of them; parents first.

    Others that are in the trash are left out.

    Raises:
        UnknownRun
    """
    members = (await conductor.lineage(run)).members()
    return [one.run for _, one in members if not one.info.deleted or one.run == run]


async def export_bundle(
    conductor: Conductor,
    runs: Sequence[RunId],
    *,
    redaction: Redaction | None = None,
    compressed: bool = True,
) -> AsyncIterator[bytes]:
    """Runs as a bundle, in pieces of a file.

    Args:
        conductor: where they are.
        runs: a parent before its forks. Of one that goes on, what there is of it now.
        redaction: what is taken out; by default, what this process knows to be secret.
        compressed: whether the file is, with gzip.

    Raises:
        UnknownRun, WorkspaceError, BundleError: a step is longer than a line may be.
    """
    hide = redaction or Redaction.of(conductor.catalog)
    press = zlib.compressobj(wbits=31) if compressed else None
    with tempfile.TemporaryDirectory(prefix='hemicycle-') as aside:
        writing = _Writing(conductor, hide, Path(aside))
        async for batch in writing.all(runs):
            if made := await asyncio.to_thread(press.compress, batch) if press else batch:
                yield made
    if press:
        yield press.flush()


class _Writing:
    def __init__(self, conductor: Conductor, redaction: Redaction, aside: Path) -> None:
        self._conductor, self._redaction, self._aside = conductor, redaction, aside
        self._digest, self._lines = hashlib.sha256(), 0
        self._known: dict[str, RunId] = {}
        """Which run each content was written with."""

    async def all(self, runs: Sequence[RunId]) -> AsyncIterator[bytes]:
        infos = [await self._conductor.info(run) for run in runs]
        head = {
            'hemicycle': FORMAT,
            'version': VERSION,
            'program': program(),
            'exported': self._conductor.clock.now(),
            'runs': [info.id for info in infos],
        }
        yield self._line(head)
        for info in infos:
            contents = Contents(self._conductor.workspaces.objects(info.id), self._redaction, self._aside)
            await asyncio.to_thread(contents.prepare)
            async for batch in self._run(info):
                yield batch
            for made in (self._contents(info, contents), self._recordings(info)):
                while batch := await asyncio.to_thread(_batch, made):
                    yield batch
        yield self._end()

    async def _run(self, info: RunInfo) -> AsyncIterator[bytes]:
        shape = await self._conductor.shape(info.id)
        notes = [note for note in await self._conductor.journal.notes(info.id) if note.seq <= info.seq]
        yield await asyncio.to_thread(self._hidden, run_line(info, shape, notes))
        for first in range(0, info.seq, PAGE):
            until = min(first + PAGE, info.seq)
            steps = await self._conductor.transitions(info.id, after=first, until=until)
            if len(steps) != until - first:
                raise BundleError(0, f'run {info.id} was deleted, or lacks steps after step {first}')
            yield await asyncio.to_thread(self._steps, steps)

    def _steps(self, steps: Sequence[Transition]) -> bytes:
        return b''.join([self._hidden(step_line(step)) for step in steps])

    def _contents(self, info: RunInfo, contents: Contents) -> Iterator[bytes]:
        for digest in contents.digests:
            name = self._redaction.renamed.get(digest, digest)
            if name in self._known:
                yield self._line({'kind': 'same', 'digest': name, 'run': self._known[name]})
                continue
            self._known[name] = info.id
            for _, piece, more in contents.pieces(digest):
                data = base64.b64encode(piece).decode()
                yield self._line({'kind': 'object', 'digest': name, 'data': data, 'more': more})

    def _recordings(self, info: RunInfo) -> Iterator[bytes]:
        recordings = self._conductor.recordings
        for of, path in (
            ('recording', recordings.path(info.id)),
            ('replayed', recordings.replayed(info.id)),
        ):
            for _, take in lines(path) if path.is_file() else ():
                if of == 'replayed' or take['step'] <= info.seq:
                    yield self._hidden({'kind': 'take', 'of': of, 'take': self._whole(take)})

    def _whole(self, take: dict[str, Any]) -> dict[str, Any]:
        """A take in whose pieces no secret is cut in two."""
        pieces = [(at, unpacked(piece)) for at, piece in take['pieces']]
        return take | {'pieces': packed(pieces, self._redaction.hide) if pieces else []}

    def _hidden(self, value: dict[str, Any]) -> bytes:
        return self._line(self._redaction.value(jsonable(value)))

    def _line(self, value: dict[str, Any]) -> bytes:
        made = written(value)
        self._digest.update(made)
        self._lines += 1
        return made

    def _end(self) -> bytes:
        digest, hidden = self._digest.hexdigest(), self._redaction.found
        return written({'kind': 'end', 'lines': self._lines, 'sha256': digest, 'hidden': hidden})


def _batch(made: Iterator[bytes]) -> bytes:
    batch = bytearray()
    for line in made:
        batch += line
        if len(batch) >= BATCH:
            break
    return bytes(batch)
