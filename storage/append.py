"""The writer's main work: the next transitions of a run, with its summary and perhaps a snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from engine.errors import JournalConflict, JournalError, StaleOwner, UnknownRun
from engine.records import RunInfo, Snapshot, Transition
from storage.codec import Codec, Text
from storage.rows import budget_text, usage_row
from storage.statements import ADVANCE, HEAD, INSERT_SNAPSHOT, INSERT_STEP, TURN

SHORT = 32_768
"""Bytes of JSON that are packed and written in well under a millisecond."""


class Append:
    """A piece of work for `Writer.do`.

    What is long is encoded in the writer's thread: compressing leaves the interpreter to the loop.
    """

    def __init__(
        self, codec: Codec, info: RunInfo, transitions: Sequence[Transition], snapshot: Snapshot | None
    ) -> None:
        self._codec, self._info, self._transitions, self._snapshot = codec, info, transitions, snapshot
        self._texts: list[Text] | None = None

    def short(self) -> bool:
        """Whether it takes no longer than handing it to another thread does."""
        if self._snapshot:
            return False
        try:
            self._texts = [self._codec.text(step) for step in self._transitions]
        except JournalError:
            return False
        return sum(len(text) for _, text in self._texts) < SHORT

    def __call__(self, connection: sqlite3.Connection) -> int:
        """Look, raise what is against it, and only then write; gives the bytes it takes."""
        codec, info, snapshot = self._codec, self._info, self._snapshot
        texts = self._texts or [codec.text(step) for step in self._transitions]
        bodies = [codec.pack(text) for text in texts]
        picture = codec.snapshot(snapshot) if snapshot else b''
        size = sum(map(len, bodies)) + len(picture)
        head = connection.execute(HEAD, (info.id,)).fetchone()
        if head is None:
            raise UnknownRun(info.id)
        number, epoch, seq, *turn = head
        if epoch != info.epoch:
            raise StaleOwner(info.id, info.epoch)
        rows = []
        for step, body in zip(self._transitions, bodies, strict=True):
            seq += 1
            if step.seq != seq:
                raise JournalConflict(info.id, step.seq)
            event = step.event
            rows.append((number, seq, step.time, event.name, event.at, body))
        connection.executemany(INSERT_STEP, rows)
        if snapshot:
            connection.execute(INSERT_SNAPSHOT, {'run': number, 'seq': snapshot.seq, 'body': picture})
        used = usage_row(info.usage).values()
        connection.execute(ADVANCE, (info.updated, seq, *used, size, number))
        now = [info.status.value, info.error, info.waiting, budget_text(info.budget)]
        if turn != now:
            connection.execute(TURN, (*now, number))
        return size
