"""Staging: a temporary folder where a bundle is unpacked and checked before anything is imported."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import os
import secrets
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, cast

import orjson

from engine.history.bundle.documents import Document
from engine.history.bundle.format import DocumentLine, NoteLine, StepLine, parse_line
from engine.journal.protocol import WholeRun
from engine.records import Note, RunId, RunInfo, Shape, Snapshot, Transition
from engine.runtime.run_factory import ACTOR
from engine.workspace.directories import remove_tree
from engine.workspace.object_store import ObjectStore

STAGING_PREFIX = '.importing-'
"""No run id begins with this."""
MOVED = 'moved'
"""The subfolder that lists runs moved into place; if the process dies, `sweep` removes unjournaled ones."""

DOCUMENTS = 'documents'
"""The file with the lines of documents."""
SNAPSHOT_PREFIX = b'!'
"""Marks a line of the steps file that holds a snapshot instead of a step."""


class Staging:
    """A folder next to the runs' folders; `sweep` removes it if this process dies.

    Args:
        root: the folder of all runs' workspaces.
    """

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, mode=0o700, exist_ok=True)
        self._root, self.folder = root, root / f'{STAGING_PREFIX}{secrets.token_hex(8)}'
        with _locked(root):  # Keeps `sweep` from finding the folder before it is locked.
            self.folder.mkdir(mode=0o700)
            self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._moved: list[Path] = []

    def home(self, number: int) -> Path:
        """Return the folder of the run at index `number`."""
        return self.folder / str(number)

    def objects(self, number: int) -> ObjectStore:
        """Return the staged files of the run with this number in the bundle."""
        return ObjectStore(self.home(number) / 'objects')

    def add_document(self, line: bytes) -> None:
        """Keep the line of a document."""
        with (self.folder / DOCUMENTS).open('ab') as file:
            file.write(line)

    def documents(self) -> Iterator[Document]:
        """Yield the documents, in order. Blocks."""
        file = self.folder / DOCUMENTS
        with file.open('rb') if file.exists() else BytesIO() as lines:
            for line in lines:
                yield cast(DocumentLine, parse_line(0, line)).document

    def move_into_place(self, number: int, home: Path) -> None:
        """Move an unpacked run into place, replacing any existing folder."""
        if not self.home(number).is_dir():
            return
        if home.exists():
            remove_tree(home)
        else:
            (self.folder / MOVED).mkdir(exist_ok=True)
            (self.folder / MOVED / home.name).touch()
            self._moved.append(home)
        self.home(number).rename(home)

    def roll_back(self) -> None:
        """Roll back: remove the folders that were moved into place."""
        for home in self._moved:
            remove_tree(home)

    def close(self) -> None:
        """Remove the staging folder."""
        remove_tree(self.folder)
        os.close(self._lock)


async def sweep(root: Path, exists: Callable[[RunId], Awaitable[bool]]) -> None:
    """Clean up after imports whose process died: their folders, and the files of runs never journaled."""
    for folder in await asyncio.to_thread(_find, root, f'{STAGING_PREFIX}*'):
        with contextlib.suppress(OSError):
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                with _locked(root):
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # Raises if another process uses it.
                moved = [RunId(path.name) for path in await asyncio.to_thread(_find, folder / MOVED, '*')]
                lost = [root / run for run in moved if not await exists(run)]
                for left in (*lost, folder):
                    await asyncio.to_thread(remove_tree, left)
            finally:
                os.close(lock)


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Hold the root's lock; blocks until it is free."""
    lock = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _find(folder: Path, pattern: str) -> list[Path]:
    return list(folder.glob(pattern))


@dataclass(slots=True)
class StagedRun:
    """A run that has been read and checked but not yet imported; its history is in a file."""

    info: RunInfo
    shape: Shape
    file: Path
    notes: tuple[NoteLine, ...] = ()
    closing: Transition | None = None
    """The final step added to an unfinished run."""
    trees: dict[str, int] = field(default_factory=dict)
    """The snapshots its steps refer to, each with the number of the first line that does."""

    def history(self, run: RunId) -> Iterator[Transition | Snapshot]:
        """Yield its steps and snapshots, in order, as those of run `run`. Blocks."""
        with self.file.open('rb') as lines:
            for line in lines:
                if line.startswith(SNAPSHOT_PREFIX):
                    seq, state = orjson.loads(line[len(SNAPSHOT_PREFIX) :])
                    yield Snapshot(run=run, seq=seq, state=state)
                else:
                    yield cast(StepLine, parse_line(0, line)).transition(run)
        if self.closing:
            yield replace(self.closing, run=run)

    def as_run(self, run: RunId, parent: RunId | None, tags: Mapping[str, str]) -> WholeRun:
        """Return the complete run under the id `run`, with these tags replaced."""
        replaced = tuple(tags.get(tag, tag) for tag in self.info.tags)
        info = replace(self.info, id=run, parent=parent, tags=replaced, author=ACTOR.get())
        notes = [Note(run=run, **note.model_dump()) for note in self.notes]
        return WholeRun(info=info, shape=self.shape, history=self.history(run), notes=notes)


class ChunkedWriter:
    """Assembles objects that come in pieces, and verifies their digests."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects
        self._file: BinaryIO | None = None
        self._hashed = hashlib.sha256()
        self.digest = ''
        """The digest of the object that is still incomplete, or ''."""

    def add(self, digest: str, data: bytes, *, more: bool) -> bool:
        """Add a piece. Returns False and discards the object if it is complete but has another digest."""
        if self._file is None:
            self._file = tempfile.TemporaryFile()  # noqa: SIM115  (closed with its last piece)
            self._hashed, self.digest = hashlib.sha256(), digest
        self._file.write(data)
        self._hashed.update(data)
        if more:
            return True
        file, self._file, self.digest = self._file, None, ''
        with file:
            if self._hashed.hexdigest() != digest:
                return False
            file.seek(0)
            self._objects.put_file(file)
            return True

    def close(self) -> None:
        """Discard an incomplete object."""
        if self._file is not None:
            self._file.close()
