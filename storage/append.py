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
    """Encode now, in the caller's thread, while nothing can change the values; write later."""
    bodies = [codec.transition(step) for step in transitions]
    picture = codec.snapshot(snapshot) if snapshot else b''
    size = sum(map(len, bodies))

    def work(connection: sqlite3.Connection) -> int:
        head = connection.execute(HEAD, {'id': info.id}).fetchone()
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
            rows.append(
                {
                    'run': number,
                    'seq': seq,
                    'time': step.time,
                    'name': event.name,
                    'at': event.at,
                    'body': body,
                }
            )
        connection.executemany(INSERT_STEP, rows)
        if snapshot:
            connection.execute(INSERT_SNAPSHOT, {'run': number, 'seq': snapshot.seq, 'body': picture})
        usage = info.usage
        news = {
            'key': number,
            'seq': seq,
            'updated': info.updated,
            'input': usage.input,
            'output': usage.output,
            'calls': usage.calls,
            'more': size,
        }
        if turn == [info.status.value, info.error, info.waiting]:
            connection.execute(ADVANCE, news)
        else:
            connection.execute(
                TURN, news | {'status': info.status.value, 'error': info.error, 'waiting': info.waiting}
            )
        return size

    return work
