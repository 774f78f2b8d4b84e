"""The lines of a bundle: the fields of each kind, and how lines are encoded, parsed and rejected."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Annotated, Any, BinaryIO, Literal, TypeVar, cast

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from engine.errors import UNRELEASED, BundleError
from engine.history.bundle.documents import Document
from engine.models.recording.exchange import Exchange
from engine.records import (
    MAX_NOTE,
    Change,
    Edge,
    Event,
    GuardResult,
    Note,
    RunId,
    RunInfo,
    Shape,
    StatePath,
    Transition,
)
from engine.records.jsonable import to_jsonable, to_plain

T = TypeVar('T')
FORMAT, VERSION = 'bundle', 1
UNRELEASED_FORMAT = 'runs'
NOT_A_BUNDLE = 'this is not a bundle of runs; create one with `hemicycle runs export --bundle`'
MAX_LINE = 16 << 20
"""Maximum bytes of a line; parsing can take about twenty times as much memory."""
CHUNK_BYTES = 1 << 19
"""Maximum bytes of file content in one line."""
LOCAL_FIELDS = frozenset({'owner', 'epoch', 'bytes', 'author', 'deleted'})
"""Fields of a run's summary that describe how it is stored here, not the run itself. Whoever imports a run is
its author, so that a private one is visible to them, and to nobody who could not see it before."""
Id = Annotated[str, Field(pattern=r'^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$')]
Digest = Annotated[str, Field(pattern=r'^[0-9a-f]{64}$')]


class _Line(BaseModel):
    model_config = ConfigDict(extra='forbid', strict=True, frozen=True)


class HeadLine(_Line):
    """The first line: the file's format and the program that wrote it."""

    hemicycle: Literal['bundle']
    version: int
    program: str
    """The version of the program that wrote the file."""
    exported: float = Field(allow_inf_nan=False)
    runs: list[Id] = Field(max_length=100_000)
    """The runs that follow, in order: a parent before its forks."""


class NoteLine(_Line):
    """A line with a person's note on a step."""

    seq: int = Field(ge=1)
    text: str = Field(min_length=1, max_length=MAX_NOTE)
    created: float = Field(allow_inf_nan=False)
    edited: float = Field(allow_inf_nan=False)


class DocumentLine(_Line):
    """A record that belongs to the runs; all such lines come before the first run."""

    kind: Literal['document'] = 'document'
    of: str = Field(min_length=1, max_length=100)
    """What kind of record it is."""
    key: str = Field(min_length=1, max_length=500)
    value: dict[str, Any]

    @property
    def document(self) -> Document:
        """The record."""
        return Document(kind=self.of, key=self.key, value=self.value)


class RunLine(_Line):
    """The start of a run; its steps, files and recordings follow, up to the next such line."""

    kind: Literal['run'] = 'run'
    info: RunInfo
    shape: Shape
    notes: tuple[NoteLine, ...]


class StepLine(_Line):
    """A transition, as journaled."""

    kind: Literal['step'] = 'step'
    seq: int = Field(ge=1)
    time: float = Field(allow_inf_nan=False)
    event: Event
    raised: bool
    left: tuple[StatePath, ...]
    entered: tuple[StatePath, ...]
    active: tuple[StatePath, ...]
    edges: tuple[Edge, ...]
    guards: tuple[GuardResult, ...]
    changes: tuple[Change, ...]

    def transition(self, run: RunId) -> Transition:
        """Return the step, as one of this run."""
        return Transition(run=run, **{name: getattr(self, name) for name in STEP_FIELDS})


class ObjectLine(_Line):
    """An object of the run, or a piece of one."""

    kind: Literal['object'] = 'object'
    digest: Digest
    data: str
    """Base64."""
    more: bool = False
    """Whether the next line holds another piece."""


class ObjectRefLine(_Line):
    """A reference to an object written earlier in this file, with another run."""

    kind: Literal['same'] = 'same'
    digest: Digest
    run: Id


class ExchangeLine(_Line):
    """A recorded exchange with a model endpoint, made by the run or by the one it replays."""

    kind: Literal['take'] = 'take'
    of: Literal['recording', 'replayed']
    take: Exchange


class EndLine(_Line):
    """The last line; without it, the file was truncated."""

    kind: Literal['end'] = 'end'
    lines: int
    """Number of lines before this one."""
    sha256: Digest
    """Digest of all bytes before this line."""
    hidden: int
    """Number of strings from which a secret was removed."""


AnyLine = DocumentLine | RunLine | StepLine | ObjectLine | ObjectRefLine | ExchangeLine | EndLine
LINE_ADAPTER: TypeAdapter[AnyLine] = TypeAdapter(Annotated[AnyLine, Field(discriminator='kind')])
STEP_FIELDS = tuple(item.name for item in fields(Transition) if item.name != 'run')
INFO_FIELDS = tuple(item.name for item in fields(RunInfo) if item.name not in LOCAL_FIELDS)


def document_line(document: Document) -> dict[str, Any]:
    """Return the line for a document."""
    return {'kind': 'document', 'of': document.kind, 'key': document.key, 'value': document.value}


def run_line(info: RunInfo, shape: Shape, notes: Sequence[Note]) -> dict[str, Any]:
    """Return the line for a run: its summary without `LOCAL_FIELDS`, its chart and its notes."""
    lines = [{name: getattr(note, name) for name in NoteLine.model_fields} for note in notes]
    return {
        'kind': 'run',
        'info': {name: getattr(info, name) for name in INFO_FIELDS},
        'shape': shape,
        'notes': lines,
    }


def step_line(step: Transition) -> dict[str, Any]:
    """Return a step as the JSON object of its line."""
    return {'kind': 'step', **{name: getattr(step, name) for name in STEP_FIELDS}}


def jsonable(value: Any) -> Any:
    """Convert a line's value to JSON values."""
    return json.loads(_dump(value))


def encode_line(value: Any) -> bytes:
    """Encode a line as bytes, with its line feed. Raises `BundleError` if it is too long."""
    line = _dump(value)
    if len(line) >= MAX_LINE:
        raise BundleError(0, f'a {value["kind"]} of the run takes {len(line):,} bytes: too long for a bundle')
    return line + b'\n'


def _dump(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=to_plain)
    except TypeError:  # The standard library accepts integers wider than 64 bits and lone surrogates.
        fields = to_jsonable(TypeAdapter(type(value)).dump_python(value, mode='python'))
        return json.dumps(fields, separators=(',', ':'), allow_nan=False).encode()


def decompress(file: BinaryIO) -> BinaryIO:
    """Return a file's content, decompressed if it is compressed with gzip; rewinds the file."""
    magic = file.read(2)
    file.seek(0)
    return cast(BinaryIO, gzip.GzipFile(fileobj=file)) if magic == b'\x1f\x8b' else file


def parse_head(line: bytes) -> HeadLine:
    """Parse the head of a bundle. Raises `BundleError`."""
    try:
        head = orjson.loads(line)
    except ValueError:
        head = None
    kind = head.get('hemicycle') if isinstance(head, dict) else None
    if kind == UNRELEASED_FORMAT:
        raise BundleError(0, f'this bundle {UNRELEASED}')
    if kind != FORMAT:
        raise BundleError(0, NOT_A_BUNDLE)
    version = head.get('version')
    if isinstance(version, int) and version > VERSION:
        raise BundleError(
            1,
            f'it was written by a newer version ({str(head.get("program"))[:40]}): its format is {version},'
            f' and this program knows formats up to {VERSION}. Install the newer version',
            field='version',
        )
    return _parse(1, lambda: HeadLine.model_validate_json(line))


def parse_line(number: int, line: bytes) -> AnyLine:
    """Parse any line but the head. Raises `BundleError`, which names the line and the field."""
    return _parse(number, lambda: LINE_ADAPTER.validate_json(line))


def _parse(number: int, read: Callable[[], T]) -> T:
    try:
        return read()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = first['loc'][1:] if first['loc'][:1] and first['loc'][0] in LINE_KINDS else first['loc']
        raise BundleError(number, first['msg'], field='.'.join(map(str, where))[:200]) from None
    except RecursionError:
        raise BundleError(number, 'it is nested too deeply') from None


LINE_KINDS = frozenset({'document', 'run', 'step', 'object', 'same', 'take', 'end'})
"""The validator puts the kind of line in front of the field's path."""
