"""The writer's main work: the next transitions of a run, with its summary and perhaps a snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from engine.errors import JournalConflict, StaleOwner, UnknownRun
from engine.records import RunInfo, Snapshot, Transition
from storage.codec import Codec
from storage.statements import ADVANCE, HEAD, INSERT_SNAPSHOT, INSERT_STEP, TURN
from storage.writer import Work


def append(
    codec: Codec, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None
) -> Work[int]:
    """Encode and write. Both in the writer's thread: compressing leaves the interpreter to the loop."""

    def work(connection: sqlite3.Connection) -> int:
        bodies = [codec.transition(step) for step in transitions]
        picture = codec.snapshot(snapshot) if snapshot else b''
        size = sum(map(len, bodies)) + len(picture)
        head = connection.execute(HEAD, (info.id,)).fetchone()
        if head is None:
            raise UnknownRun(info.id)
        number, epoch, seq, *turn = head
        if epoch != info.epoch:
            raise StaleOwner(info.id, info.epoch)
        rows = []
        for step, body in zip(transitions, bodies, strict=True):
            seq += 1
            if step.seq != seq:
                raise JournalConflict(info.id, step.seq)
            event = step.event
            rows.append((number, seq, step.time, event.name, event.at, body))
        connection.executemany(INSERT_STEP, rows)
        if snapshot:
            connection.execute(INSERT_SNAPSHOT, {'run': number, 'seq': snapshot.seq, 'body': picture})
        usage = info.usage
        connection.execute(ADVANCE, (info.updated, seq, usage.input, usage.output, usage.calls, size, number))
        if turn != [info.status.value, info.error, info.waiting]:
            connection.execute(TURN, (info.status.value, info.error, info.waiting, number))
        return size

    return work
