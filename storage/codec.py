"""Encodes transitions and snapshots as bytes: positional JSON, compressed when that pays.

A body is a form byte followed by the JSON. A model's reply appears twice in a transition (in the event and in
the memory change it caused). Zstd at level 1 removes the second copy and about half of the first, faster than
any cleverer layout we tried. JSON is written by orjson, or by the standard library if orjson refuses
(integers wider than 64 bits, lone surrogates).
"""

from __future__ import annotations

import json
import threading
from functools import lru_cache
from typing import Any

import orjson
import zstandard

from engine.errors import JournalDamaged, JournalError, StepDamaged
from engine.records import Change, Edge, Event, GuardResult, RunId, Snapshot, StatePath, Transition
from engine.records.jsonable import to_plain

PLAIN, COMPRESSED = 0, 1
"""Bit 0 of the form byte."""
ORJSON, STDLIB = 0, 2
"""Bit 1 of the form byte."""
MIN_COMPRESSED = 512
"""Minimum bytes of JSON for which compression saves more than it costs."""


DAMAGED = (ValueError, IndexError, zstandard.ZstdError, MemoryError)
"""Errors that decoding damaged bytes raises. `MemoryError`: a frame's claimed size is allocated up front."""


class _Thread(threading.local):
    """One context per thread: creating one for each body costs more than decoding most bodies."""

    def __init__(self) -> None:
        self.decompressor = zstandard.ZstdDecompressor()


_thread = _Thread()

Encoded = tuple[int, bytes]
"""The form bit of the JSON writer, and the JSON."""


class Codec:
    """Encodes for one thread and decodes for any; reuses one compressor."""

    def __init__(self) -> None:
        # With a checksum, flipped bits on disk raise an error instead of being shown.
        self._compressor = zstandard.ZstdCompressor(level=1, write_checksum=True)

    def transition(self, step: Transition) -> bytes:
        """Return the packed JSON of a step, to be stored."""
        return self.pack(self.text(step))

    def text(self, step: Transition) -> Encoded:
        """Encode a transition, uncompressed: all but its run, seq, time and the event's name and address."""
        event = step.event
        value = [
            event.data,
            event.attempt,
            event.since,
            step.raised,
            step.left,
            step.entered,
            step.active,
            [(edge.source, edge.dest) for edge in step.edges],
            [(guard.name, guard.value, guard.wanted, guard.source, guard.dest) for guard in step.guards],
            [(change.op, change.path, change.value) for change in step.changes],
            *_drop_defaults(event),
        ]
        return _encode(value, f'step {step.seq} of run {step.run}')

    def snapshot(self, snapshot: Snapshot) -> bytes:
        """Return the body of a snapshot: its state."""
        what = f'the snapshot at step {snapshot.seq} of run {snapshot.run}'
        return self.pack(_encode(snapshot.state, what))

    def pack(self, encoded: Encoded) -> bytes:
        """Return a body: the form byte and the JSON, compressed when that pays."""
        form, text = encoded
        if len(text) < MIN_COMPRESSED:
            return bytes((form | PLAIN,)) + text
        return bytes((form | COMPRESSED,)) + self._compressor.compress(text)


def _drop_defaults(event: Event) -> list[Any]:
    """Return the rarely set fields of an event, up to the last one that is set."""
    values = [event.played, event.who, event.key]
    while values and not values[-1]:
        values.pop()
    return values


def _encode(value: Any, what: str) -> Encoded:
    try:
        return ORJSON, orjson.dumps(value, default=to_plain)
    except TypeError:
        try:
            return STDLIB, json.dumps(value, default=to_plain, separators=(',', ':')).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise JournalError(f'{what} cannot be stored: it is not JSON ({error})') from error


COLUMNS = (float, str, str)
"""The types of a step's time, name and address."""


def read_transition(run: RunId, row: tuple[int, float, str, str, bytes]) -> Transition:
    """Decode a transition from its row: seq, time, event's name, address and body.

    Raises:
        StepDamaged: the bytes are not what `Codec` wrote.
    """
    seq, time, name, at, body = row
    try:
        if (type(time), type(name), type(at)) != COLUMNS:  # SQLite stores any type in any column.
            raise TypeError
        data, attempt, since, raised, left, entered, active, edges, guards, changes, *more = _decode(body)
        return Transition(
            run=run,
            seq=seq,
            time=time,
            event=Event(
                name=name,
                at=StatePath(at),
                data=data,
                attempt=attempt,
                since=since,
                played=more[0] if more else 0,
                who=more[1] if len(more) > 1 else '',
                key=more[2] if len(more) > 2 else '',
            ),
            raised=raised,
            left=_paths(tuple(left)),
            entered=_paths(tuple(entered)),
            active=_paths(tuple(active)),
            edges=_edges(tuple(map(tuple, edges))),
            guards=_guard_results(tuple(map(tuple, guards))),
            changes=tuple([Change(op=op, path=path, value=value) for op, path, value in changes]),
        )
    except (*DAMAGED, TypeError) as error:
        raise StepDamaged(run, seq, 'cannot be read: its bytes are damaged') from error


# A run takes the same few edges again and again. Creating new objects for them takes a third of the time it
# takes to read a history, because the garbage collector visits every new object several times.


@lru_cache(4096)
def _paths(paths: tuple[StatePath, ...]) -> tuple[StatePath, ...]:
    return paths


@lru_cache(4096)
def _edges(edges: tuple[tuple[StatePath, str], ...]) -> tuple[Edge, ...]:
    return tuple([Edge(source=source, dest=dest) for source, dest in edges])


@lru_cache(4096)
def _guard_results(
    guards: tuple[tuple[str, bool, bool, StatePath, str], ...],
) -> tuple[GuardResult, ...]:
    return tuple(
        [
            GuardResult(name=name, value=value, wanted=wanted, source=source, dest=dest)
            for name, value, wanted, source, dest in guards
        ]
    )


def read_snapshot(run: RunId, seq: int, body: bytes) -> Snapshot:
    """Decode a snapshot from its row. Raises `JournalDamaged`."""
    try:
        return Snapshot(run=run, seq=seq, state=_decode(body))
    except DAMAGED as error:
        raise JournalDamaged(f'the snapshot at step {seq} of run {run} is damaged') from error


def _decode(body: bytes) -> Any:
    form, text = body[0], memoryview(body)[1:]
    read = _thread.decompressor.decompress(text) if form & COMPRESSED else text.tobytes()
    return json.loads(read) if form & STDLIB else orjson.loads(read)
