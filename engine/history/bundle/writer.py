"""Writes bundles line by line, with at most one page of steps in memory."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import importlib.metadata
import tempfile
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.errors import BundleError
from engine.history.bundle.contents import RedactedObjects
from engine.history.bundle.documents import Document
from engine.history.bundle.format import (
    FORMAT,
    VERSION,
    document_line,
    encode_line,
    jsonable,
    run_line,
    step_line,
)
from engine.history.bundle.redaction import Redaction
from engine.history.bundle.store import BundleStore
from engine.models.recording.exchange import pack, read_lines, unpack
from engine.records import RunId, RunInfo, Transition

STEPS_PER_PAGE = 200
"""Steps read at a time."""
BATCH_BYTES = 1 << 20
"""Approximate bytes yielded at a time."""


def program_version() -> str:
    """Return the installed version of this program."""
    try:
        return importlib.metadata.version('hemicycle')
    except importlib.metadata.PackageNotFoundError:
        return 'from its source'


def head_line(infos: Iterable[RunInfo], exported: float) -> dict[str, Any]:
    """Return the first line of a bundle of these runs."""
    return {
        'hemicycle': FORMAT,
        'version': VERSION,
        'program': program_version(),
        'exported': exported,
        'runs': [info.id for info in infos],
    }


async def export_bundle(
    store: BundleStore,
    runs: Sequence[RunId],
    *,
    documents: AsyncIterable[Document] | None = None,
    redaction: Redaction | None = None,
    compressed: bool = True,
) -> AsyncIterator[bytes]:
    """Export runs as a bundle; yields pieces of the file.

    Args:
        store: the storage that holds the runs.
        runs: parents before their forks. An unfinished run is exported up to its current step.
        documents: what belongs to the runs; secrets are removed from it, too.
        redaction: the secrets to remove; by default those this process knows.
        compressed: whether to compress the file with gzip.

    Raises:
        UnknownRun, WorkspaceError
        BundleError: a line would be too long, or steps of a run are missing.
    """
    redaction = redaction or Redaction.for_catalog(store.reader.catalog)
    press = zlib.compressobj(wbits=31) if compressed else None
    with tempfile.TemporaryDirectory(prefix='hemicycle-') as scratch:
        writer = _BundleWriter(store, redaction, Path(scratch))
        async for batch in writer.write_batches(runs, documents):
            if chunk := await asyncio.to_thread(press.compress, batch) if press else batch:
                yield chunk
    if press:
        yield press.flush()


class _BundleWriter:
    def __init__(self, store: BundleStore, redaction: Redaction, scratch: Path) -> None:
        self._store, self._redaction, self._scratch = store, redaction, scratch
        self._digest, self._lines = hashlib.sha256(), 0
        self._known: dict[str, RunId] = {}
        """The run each object was written with, by digest."""

    async def write_batches(
        self, runs: Sequence[RunId], documents: AsyncIterable[Document] | None
    ) -> AsyncIterator[bytes]:
        infos = [await self._store.reader.journal.info(run) for run in runs]
        yield self._encode_line(head_line(infos, self._store.clock.now()))
        if documents:
            async for document in documents:
                yield await asyncio.to_thread(self._encode_redacted, document_line(document))
        for info in infos:
            await self._store.workspaces.fetch(info.id)
            await self._store.recordings.fetch(info.id)
            contents = RedactedObjects(
                self._store.workspaces.objects(info.id), self._redaction, self._scratch
            )
            await asyncio.to_thread(contents.prepare)
            async for batch in self._run_batches(info):
                yield batch
            for lines in (self._object_lines(info, contents), self._recording_lines(info)):
                while batch := await asyncio.to_thread(_next_batch, lines):
                    yield batch
        yield self._end_line()

    async def _run_batches(self, info: RunInfo) -> AsyncIterator[bytes]:
        shape = await self._store.reader.journal.shape(info.id)
        notes = [note for note in await self._store.reader.journal.notes(info.id) if note.seq <= info.seq]
        yield await asyncio.to_thread(self._encode_redacted, run_line(info, shape, notes))
        for first in range(0, info.seq, STEPS_PER_PAGE):
            until = min(first + STEPS_PER_PAGE, info.seq)
            steps = await self._store.reader.journal.transitions(info.id, after=first, until=until)
            if len(steps) != until - first:
                raise BundleError(0, f'run {info.id} was deleted, or lacks steps after step {first}')
            yield await asyncio.to_thread(self._encode_steps, steps)

    def _encode_steps(self, steps: Sequence[Transition]) -> bytes:
        return b''.join([self._encode_redacted(step_line(step)) for step in steps])

    def _object_lines(self, info: RunInfo, contents: RedactedObjects) -> Iterator[bytes]:
        for digest in contents.digests:
            name = self._redaction.renamed.get(digest, digest)
            if name in self._known:
                yield self._encode_line({'kind': 'same', 'digest': name, 'run': self._known[name]})
                continue
            self._known[name] = info.id
            for _, piece, more in contents.read_pieces(digest):
                data = base64.b64encode(piece).decode()
                yield self._encode_line({'kind': 'object', 'digest': name, 'data': data, 'more': more})

    def _recording_lines(self, info: RunInfo) -> Iterator[bytes]:
        recordings = self._store.recordings
        for of, path in (
            ('recording', recordings.path(info.id)),
            ('replayed', recordings.replayed_path(info.id)),
        ):
            for _, take in read_lines(path) if path.is_file() else ():
                if of == 'replayed' or take['step'] <= info.seq:
                    yield self._encode_redacted(
                        {'kind': 'take', 'of': of, 'take': self._redact_exchange(take)}
                    )

    def _redact_exchange(self, take: dict[str, Any]) -> dict[str, Any]:
        """Redact an exchange's pieces as one string, so that a secret split between pieces is still found."""
        pieces = [(at, unpack(piece)) for at, piece in take['pieces']]
        return take | {'pieces': pack(pieces, self._redaction.hide) if pieces else []}

    def _encode_redacted(self, value: dict[str, Any]) -> bytes:
        return self._encode_line(self._redaction.redact_value(jsonable(value)))

    def _encode_line(self, value: dict[str, Any]) -> bytes:
        encoded = encode_line(value)
        self._digest.update(encoded)
        self._lines += 1
        return encoded

    def _end_line(self) -> bytes:
        digest, hidden = self._digest.hexdigest(), self._redaction.found
        return encode_line({'kind': 'end', 'lines': self._lines, 'sha256': digest, 'hidden': hidden})


def _next_batch(lines: Iterator[bytes]) -> bytes:
    batch = bytearray()
    for line in lines:
        batch += line
        if len(batch) >= BATCH_BYTES:
            break
    return bytes(batch)
