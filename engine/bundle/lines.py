"""The lines of a bundle: what each kind holds, how it is written, and how it is read and refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any, Literal, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from engine.errors import BundleError
from engine.keeping.keeper import LONGEST_NOTE
from engine.plain import plain
from engine.records import Change, Edge, Event, Guard, Note, RunId, RunInfo, Shape, StatePath, Transition
from engine.wire.take import Take

T = TypeVar('T')
FORMAT, VERSION = 'runs', 1
MOST_LINE = 16 << 20
"""Bytes of a line: what is read from it takes some twenty times as much memory at worst."""
PIECE = 1 << 19
"""Bytes of a file's content that a line holds at most."""
ELSEWHERE = frozenset({'owner', 'epoch', 'bytes', 'deleted'})
"""Fields of a run's summary that say how it is kept, and not what it is."""
Id = Annotated[str, Field(pattern=r'^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$')]
Digest = Annotated[str, Field(pattern=r'^[0-9a-f]{64}$')]


class _Line(BaseModel):
    model_config = ConfigDict(extra='forbid', strict=True, frozen=True)


class HeadLine(_Line):
    """The first line: what the file is, and by whom."""

    hemicycle: Literal['runs']
    version: int
    program: str
    """The version of the program that wrote it."""
    exported: float = Field(allow_inf_nan=False)
    runs: list[Id] = Field(min_length=1, max_length=10_000)
    """Those that follow, in their order: a parent before its forks."""


class Noted(_Line):
    """A note on a step."""

    seq: int = Field(ge=1)
    text: str = Field(min_length=1, max_length=LONGEST_NOTE)
    created: float = Field(allow_inf_nan=False)
    edited: float = Field(allow_inf_nan=False)


class RunLine(_Line):
    """The beginning of a run: its steps, its files and its recordings follow, up to the next one."""

    kind: Literal['run'] = 'run'
    info: RunInfo
    shape: Shape
    notes: tuple[Noted, ...]


class StepLine(_Line):
    """A transition, as it is journaled."""

    kind: Literal['step'] = 'step'
    seq: int = Field(ge=1)
    time: float = Field(allow_inf_nan=False)
    event: Event
    raised: bool
    left: tuple[StatePath, ...]
    entered: tuple[StatePath, ...]
    active: tuple[StatePath, ...]
    edges: tuple[Edge, ...]
    guards: tuple[Guard, ...]
    changes: tuple[Change, ...]

    def transition(self, run: RunId) -> Transition:
        """It, as a step of this run."""
        return Transition(run=run, **{name: getattr(self, name) for name in STEP})


class ObjectLine(_Line):
    """A content that the run keeps, or a piece of it."""

    kind: Literal['object'] = 'object'
    digest: Digest
    data: str
    """In base64."""
    more: bool = False
    """Whether its next piece is on the next line."""


class SameLine(_Line):
    """A content that stands in this file already, with a run before this one."""

    kind: Literal['same'] = 'same'
    digest: Digest
    run: Id


class TakeLine(_Line):
    """An exchange with a model's endpoint: of the run's recording, or of the one that it replays."""

    kind: Literal['take'] = 'take'
    of: Literal['recording', 'replayed']
    take: Take


class EndLine(_Line):
    """The last line: without it the file was cut off."""

    kind: Literal['end'] = 'end'
    lines: int
    """Those before it."""
    sha256: Digest
    """Of all bytes before it."""
    hidden: int
    """How many texts had something secret taken out of them."""


AnyLine = RunLine | StepLine | ObjectLine | SameLine | TakeLine | EndLine
LINE: TypeAdapter[AnyLine] = TypeAdapter(Annotated[AnyLine, Field(discriminator='kind')])
STEP = tuple(item.name for item in fields(Transition) if item.name != 'run')
INFO = tuple(item.name for item in fields(RunInfo) if item.name not in ELSEWHERE)


def run_line(info: RunInfo, shape: Shape, notes: Sequence[Note]) -> dict[str, Any]:
    """What a run's line holds; of the summary all but how it is kept here."""
    said = [{name: getattr(note, name) for name in Noted.model_fields} for note in notes]
    return {
        'kind': 'run',
        'info': {name: getattr(info, name) for name in INFO},
        'shape': shape,
        'notes': said,
    }


def step_line(step: Transition) -> dict[str, Any]:
    """What a step's line holds."""
    return {'kind': 'step', **{name: getattr(step, name) for name in STEP}}


def jsonable(value: Any) -> Any:
    """Any value of a line as JSON values."""
    return json.loads(_dumped(value))


def written(value: Any) -> bytes:
    """A line with its end."""
    line = _dumped(value)
    if len(line) >= MOST_LINE:
        raise BundleError(0, f'a {value["kind"]} of the run takes {len(line):,} bytes: too long for a bundle')
    return line + b'\n'


def _dumped(value: Any) -> bytes:
    try:
        return orjson.dumps(value, default=_plain)
    except TypeError:  # An integer wider than 64 bits, half of a character: the standard library takes both.
        return json.dumps(_spread(value), separators=(',', ':'), allow_nan=False).encode()


def _spread(value: Any) -> Any:
    return plain(TypeAdapter(type(value)).dump_python(value, mode='python'))


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f'{type(value).__name__} is not a JSON type')


def head_of(line: bytes) -> HeadLine:
    """The head of a bundle. Raises `BundleError`."""
    try:
        found = orjson.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get('hemicycle') != FORMAT:
        raise BundleError(0, 'this is no bundle of runs: it does not begin as one')
    version = found.get('version')
    if isinstance(version, int) and version > VERSION:
        raise BundleError(
            1,
            f'it was written by a newer version ({str(found.get("program"))[:40]}): its format is {version},'
            f' and this program knows formats up to {VERSION}. Install the newer version',
            field='version',
        )
    return _checked(1, lambda: HeadLine.model_validate_json(line))


def line_of(number: int, line: bytes) -> AnyLine:
    """A later line. Raises `BundleError`, which names the line and the field."""
    return _checked(number, lambda: LINE.validate_json(line))


def _checked(number: int, read: Callable[[], T]) -> T:
    try:
        return read()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = first['loc'][1:] if first['loc'][:1] and first['loc'][0] in KINDS else first['loc']
        raise BundleError(number, first['msg'], field='.'.join(map(str, where))[:200]) from None
    except RecursionError:
        raise BundleError(number, 'it is nested too deeply') from None


KINDS = frozenset({'run', 'step', 'object', 'same', 'take', 'end'})
"""The validator puts the kind of the line before the field."""
