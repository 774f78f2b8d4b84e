"""Transitions and snapshots to bytes and back: JSON by position, compressed when that pays.

A body is one byte that names its form, then the JSON. A model's reply stands twice in a transition (in the
event, and in the change of memory it caused): zstd at level 1 takes out the second copy and about half of the
first, for less time than any cleverer layout of ours took. JSON is orjson's, unless it refuses (an integer
wider than 64 bits, a lone surrogate): then it is the standard library's, which takes both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import orjson

from engine.errors import JournalDamaged, JournalError
from engine.records import Change, Edge, Event, Guard, RunId, Snapshot, StatePath, Transition

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PLAIN, PACKED = 0, 1
"""Bit 0 of the form."""
ORJSON, STDLIB = 0, 2
"""Bit 1 of the form."""
WORTHWHILE = 512
"""Bytes of JSON from which compressing saves more than it costs."""


Text = tuple[int, bytes]
"""JSON, and the writer's bit of the form."""


class Codec:
    """Encodes for one thread and decodes for any; holds a compressor so that it is made once."""

    def __init__(self) -> None:
        options = {
            int(zstd.CompressionParameter.compression_level): 1,
            int(zstd.CompressionParameter.checksum_flag): 1,  # a flipped bit on the disk is found, not shown
        }
        self._compressor = zstd.ZstdCompressor(options=options)

    def transition(self, step: Transition) -> bytes:
        """The body of a transition."""
        return self.pack(self.text(step))

    def text(self, step: Transition) -> Text:
        """A transition, not yet packed: all but its run, seq, time and the event's name and address."""
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
            *([event.played] if event.played else ()),
        ]
        return _encode(value, f'step {step.seq} of run {step.run}')

    def snapshot(self, snapshot: Snapshot) -> bytes:
        """The body of a snapshot: its state."""
        what = f'the snapshot at step {snapshot.seq} of run {snapshot.run}'
        return self.pack(_encode(snapshot.state, what))

    def pack(self, encoded: Text) -> bytes:
        """A body: the form, and the JSON, compressed when that pays."""
        form, text = encoded
        if len(text) < WORTHWHILE:
            return bytes((form | PLAIN,)) + text
        return bytes((form | PACKED,)) + self._compressor.compress(text, zstd.ZstdCompressor.FLUSH_FRAME)


def _encode(value: Any, what: str) -> Text:
    try:
        return ORJSON, orjson.dumps(value, default=plain)
    except TypeError:
        try:
            return STDLIB, json.dumps(value, default=plain, separators=(',', ':')).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise JournalError(f'{what} cannot be kept: it is not JSON ({error})') from error


def read_transition(run: RunId, row: tuple[int, float, str, str, bytes]) -> Transition:
    """The transition of a row: its seq, time, event's name, address and body.

    Raises:
        JournalDamaged: the bytes are not what `Codec` wrote.
    """
    seq, time, name, at, body = row
    try:
        data, attempt, since, raised, left, entered, active, edges, guards, changes, *played = _decode(body)
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
                played=played[0] if played else 0,
            ),
            raised=raised,
            left=tuple(left),
            entered=tuple(entered),
            active=tuple(active),
            edges=tuple([Edge(source=source, dest=dest) for source, dest in edges]),
            guards=tuple(
                [
                    Guard(name=name, value=value, wanted=wanted, source=source, dest=dest)
                    for name, value, wanted, source, dest in guards
                ]
            ),
            changes=tuple([Change(op=op, path=path, value=value) for op, path, value in changes]),
        )
    except (ValueError, TypeError, IndexError, zstd.ZstdError) as error:
        raise JournalDamaged(f'step {seq} of run {run} cannot be read: its bytes are damaged') from error


def read_snapshot(run: RunId, seq: int, body: bytes) -> Snapshot:
    """The snapshot of a row. Raises `JournalDamaged`."""
    try:
        return Snapshot(run=run, seq=seq, state=_decode(body))
    except (ValueError, IndexError, zstd.ZstdError) as error:
        raise JournalDamaged(f'the snapshot at step {seq} of run {run} is damaged') from error


def _decode(body: bytes) -> Any:
    form, text = body[0], body[1:]
    if form & PACKED:
        text = zstd.decompress(text)
    return json.loads(text) if form & STDLIB else orjson.loads(text)


def plain(value: object) -> object:
    """For the mappings that JSON writers do not know, as `MappingProxyType`."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f'{type(value).__name__} is not a JSON type')
