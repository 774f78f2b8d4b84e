"""Reads a bundle line by line into a staging folder and checks everything, importing nothing yet."""

from __future__ import annotations

import base64
import gzip
import hashlib
import math
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import BinaryIO

import orjson

from engine.errors import BundleError, InvalidInput
from engine.history.bundle.closing import closing_step
from engine.history.bundle.documents import DocumentImport
from engine.history.bundle.format import (
    LOCAL_FIELDS,
    MAX_LINE,
    NOT_A_BUNDLE,
    AnyLine,
    DocumentLine,
    EndLine,
    ExchangeLine,
    HeadLine,
    ObjectLine,
    ObjectRefLine,
    RunLine,
    StepLine,
    decompress,
    parse_head,
    parse_line,
)
from engine.history.bundle.staging import SNAPSHOT_PREFIX, ChunkedWriter, StagedRun, Staging
from engine.history.bundle.validation import check_document, check_shape, check_step, check_trees
from engine.journal.projection import Fold
from engine.records import RunId
from engine.records.events import DIGEST
from engine.runtime.recorder import SNAPSHOT_STEPS, summary
from engine.statechart.shape_builder import START

MAX_UNPACKED_BYTES = 4 << 30
"""Maximum bytes of all lines together, uncompressed."""
MAX_DOCUMENTS = 250_000
MEASURE_EVERY = 8 << 20
"""Bytes of steps between two checks of the size of a run's data."""


class ImportAborted(Exception):
    """Raised in the reading thread once the import was cancelled."""


class BundleReader:
    """Reads one bundle.

    Args:
        file: the bundle, at its beginning; compressed or not.
        staging: the folder to unpack it to.
        progress: called with the bytes read so far, from another thread than the event loop's.
        documents: checks what it holds besides runs.
    """

    def __init__(
        self,
        file: BinaryIO,
        staging: Staging,
        progress: Callable[[int], None],
        documents: DocumentImport,
    ) -> None:
        self._source, self._staging, self._progress = file, staging, progress
        self.documents = documents
        self._number = self._read = 0
        self._digest = hashlib.sha256()
        self.stop = threading.Event()
        """Set to abort reading once nobody is waiting for the result."""
        self.runs: list[StagedRun] = []
        self._numbers: dict[RunId, int] = {}
        self.count_documents = 0
        self.exported = 0.0
        """When the file was written."""
        self.hidden = 0

    def read(self) -> list[StagedRun]:
        """Read the whole file. Blocks. Raises `BundleError`, which names the line and the field."""
        try:
            self._read_all()
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise BundleError(self._number, TRUNCATED) from None
        finally:
            self._close()
        return self.runs

    def _close(self) -> None:
        if self.runs:
            self._file.close()
            self._pieces.close()

    def _read_all(self) -> None:
        file = decompress(self._source)
        lines = self._read_lines(file)
        head = parse_head(next(lines))
        self._head, self.exported = head, head.exported
        if len(set(head.runs)) < len(head.runs):
            raise BundleError(1, 'a run is named twice', field='runs')
        for raw in lines:
            line = parse_line(self._number, raw)
            if isinstance(line, EndLine):
                self._check_end(line, head)
                break
            self._handle_line(line, raw)
        if file.read(1):
            raise BundleError(self._number, 'there is data after its last line')
        self._progress(self._source.tell())

    def _read_lines(self, file: BinaryIO) -> Iterator[bytes]:
        while not self.stop.is_set():
            self._number += 1
            line = file.readline(MAX_LINE + 1)
            self._read += len(line)
            if len(line) > MAX_LINE:
                raise BundleError(self._number, f'it is longer than {MAX_LINE >> 20} MiB')
            if self._read > MAX_UNPACKED_BYTES:
                raise BundleError(self._number, f'the file holds more than {MAX_UNPACKED_BYTES:,} bytes')
            if not line.endswith(b'\n'):
                raise (
                    BundleError(self._number, TRUNCATED) if self._number > 1 else BundleError(0, NOT_A_BUNDLE)
                )
            self._digest_before = self._digest.copy()
            self._digest.update(line)
            if self._number % 100 == 0:
                self._progress(self._source.tell())
            yield line
        raise ImportAborted

    def _handle_line(self, line: AnyLine, raw: bytes) -> None:
        if isinstance(line, DocumentLine):
            self._add_document(line, raw)
            return
        if isinstance(line, RunLine):
            self._finish_documents()
            self._finish_run()
            self._begin_run(line)
            return
        if not self.runs:
            raise BundleError(self._number, 'it belongs to no run: a line of the kind `run` must come first')
        if self._pieces.digest and not (isinstance(line, ObjectLine) and line.digest == self._pieces.digest):
            raise BundleError(self._number, f'the rest of the content {self._pieces.digest[:12]} is missing')
        match line:
            case StepLine():
                self._add_step(line, raw)
            case ObjectLine():
                self._add_object(line)
            case ObjectRefLine():
                self._link_object(line)
            case ExchangeLine():
                self._append_to_file(f'{line.of}.jsonl', orjson.dumps(asdict(line.take)) + b'\n')

    def _add_document(self, line: DocumentLine, raw: bytes) -> None:
        self.count_documents += 1
        if self.runs or self.count_documents > MAX_DOCUMENTS:
            most = f'at most {MAX_DOCUMENTS:,} documents are allowed'
            raise BundleError(self._number, 'documents come before the runs' if self.runs else most)
        with self._naming_line():
            self.documents.check(line.document)
        self._staging.add_document(raw)

    def _finish_documents(self) -> None:
        if self.count_documents and not self.runs:
            with self._naming_line():
                self.documents.finish()

    @contextmanager
    def _naming_line(self) -> Iterator[None]:
        try:
            yield
        except InvalidInput as error:
            name, problem = next(iter(error.problems.items()))
            raise BundleError(self._number, problem, field=f'value.{name}'[:200] if name else '') from None

    def _begin_run(self, line: RunLine) -> None:
        number = len(self.runs)
        info = line.info
        if number >= len(self._head.runs) or info.id != self._head.runs[number]:
            raise BundleError(self._number, 'it is not the run that the first line names', field='info.id')
        if any(getattr(info, name) for name in LOCAL_FIELDS):
            raise BundleError(
                self._number, 'it sets fields of the run that a bundle must not set', field='info'
            )
        if not (math.isfinite(info.created) and math.isfinite(info.updated)):
            raise BundleError(self._number, 'it is not a valid time', field='info.created')
        if info.pattern != line.shape.pattern:
            raise BundleError(self._number, 'it is not the pattern of its chart', field='info.pattern')
        if any(note.seq > info.seq for note in line.notes):
            raise BundleError(self._number, 'it is on a step that does not exist', field='notes')
        check_shape(self._number, line.shape)
        file = self._staging.folder / f'{number}.steps'
        file.touch()
        self._numbers[info.id] = number
        self.runs.append(StagedRun(info=info, shape=line.shape, file=file, notes=line.notes))
        self._fold = Fold(info.id, line.shape)
        self._known = frozenset(state.path for state in line.shape.states) | {START}
        self._pieces = ChunkedWriter(self._staging.objects(number))
        self._unmeasured = self._steps_since_snapshot = self._bytes_since_snapshot = (
            self._last_snapshot_size
        ) = 0
        self._have_steps_ended = False
        self._file = file.open('wb')

    def _add_step(self, line: StepLine, raw: bytes) -> None:
        run = self.runs[-1]
        if self._have_steps_ended:
            raise BundleError(self._number, 'the steps of a run come before its files')
        if line.seq != self._fold.projection.seq + 1:
            raise BundleError(self._number, f'step {self._fold.projection.seq + 1} is missing', field='seq')
        step = line.transition(run.info.id)
        check_step(self._number, step, self._known)
        try:
            self._fold.apply(step)
        except Exception as error:
            problem = f'it does not fit what came before: {type(error).__name__} {str(error)[:200]}'
            raise BundleError(self._number, problem, field='changes') from None
        for tree in self._fold.projection.files.values() if 'snapshots' in step.event.data else ():
            run.trees.setdefault(tree, self._number)
        self._file.write(raw)
        self._unmeasured += len(raw)
        self._bytes_since_snapshot += len(raw)
        if self._unmeasured > MEASURE_EVERY:
            self._measure()
        self._steps_since_snapshot += 1
        # Like the recorder: seeking stays fast, and snapshots take no more space than the steps.
        if (
            self._steps_since_snapshot >= SNAPSHOT_STEPS
            and self._bytes_since_snapshot >= self._last_snapshot_size
        ):
            self._measure()
            state = orjson.dumps([line.seq, self._fold.snapshot().state])
            self._file.write(SNAPSHOT_PREFIX + state + b'\n')
            self._steps_since_snapshot, self._bytes_since_snapshot, self._last_snapshot_size = (
                0,
                0,
                len(state),
            )

    def _measure(self) -> None:
        check_document(self._number, self._fold.document)
        self._unmeasured = 0

    def _add_object(self, line: ObjectLine) -> None:
        self._end_steps()
        try:
            data = base64.b64decode(line.data, validate=True)
        except ValueError:
            raise BundleError(self._number, 'it is not base64', field='data') from None
        if not self._pieces.add(line.digest, data, more=line.more):
            raise BundleError(self._number, 'the content does not match its digest', field='digest')

    def _link_object(self, line: ObjectRefLine) -> None:
        self._end_steps()
        last = len(self.runs) - 1
        number = self._numbers.get(RunId(line.run), last)
        if number == last or line.digest not in self._staging.objects(number):
            raise BundleError(self._number, 'no run before this one has that content', field='digest')
        self._staging.objects(number).link_one(line.digest, self._staging.objects(last))

    def _append_to_file(self, name: str, line: bytes) -> None:
        self._end_steps()
        home = self._staging.home(len(self.runs) - 1)
        home.mkdir(mode=0o700, exist_ok=True)
        with (home / name).open('ab') as file:
            file.write(line)

    def _end_steps(self) -> None:
        self._have_steps_ended = True

    def _finish_run(self) -> None:
        """Check and finish the run read last, whose lines are now complete."""
        if not self.runs:
            return
        self._file.close()
        run, projection = self.runs[-1], self._fold.projection
        if run.info.seq != projection.seq:
            raise BundleError(
                self._number,
                f'run {run.info.id} has {run.info.seq} steps, but the file holds {projection.seq}',
            )
        if self._pieces.digest:
            raise BundleError(self._number, f'the rest of the content {self._pieces.digest[:12]} is missing')
        self._measure()
        objects = self._staging.objects(len(self.runs) - 1)
        for tree, line in run.trees.items():
            if DIGEST.fullmatch(tree):
                check_trees(line, objects, [tree])
        if not projection.status.ended:
            run.closing = closing_step(run.info, projection)
            self._fold.apply(run.closing)
        # The status in the file is not trusted: it is derived from the steps.
        run.info = summary(run.info, projection)

    def _check_end(self, line: EndLine, head: HeadLine) -> None:
        self._finish_documents()
        self._finish_run()
        if not head.runs and not self.count_documents:
            raise BundleError(1, 'it must name at least one run', field='runs')
        if len(self.runs) != len(head.runs):
            raise BundleError(
                self._number, f'{len(head.runs)} runs are named, but the file holds {len(self.runs)}'
            )
        if line.lines != self._number - 1 or line.sha256 != self._digest_before.hexdigest():
            raise BundleError(
                self._number, 'the file is damaged: its checksum does not match', field='sha256'
            )
        self.hidden = line.hidden


TRUNCATED = 'the file is damaged or was cut off: its last line is missing'
