"""Append on SQLite: stores a run's next transitions, its summary and, if given, a snapshot."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Executable, bindparam, insert, select, update
from sqlalchemy.dialects import sqlite
from sqlalchemy.sql.elements import ClauseElement

from engine.errors import EngineError, JournalConflict, JournalError, StaleOwner, UnknownRun
from engine.records import RunInfo, Snapshot, Transition
from storage.codec import Codec, Encoded
from storage.sql.rows import RUN, STEP, STORED, USAGE, budget_text, usage_values

SHORT = 32_768
"""Bytes of JSON that are compressed and written in well under a millisecond."""


def _compile_sql(statement: ClauseElement | Executable) -> str:
    """Compile a statement once: SQLAlchemy's execution takes several times as long as the insert itself.

    The driver gets these texts, with parameters in table order.
    """
    assert isinstance(statement, ClauseElement)
    return str(statement.compile(dialect=sqlite.dialect(paramstyle='qmark')))


INSERT_STEP = _compile_sql(insert(STEP))
INSERT_SNAPSHOT = _compile_sql(insert(STORED).prefix_with('OR REPLACE'))

SELECT_EPOCH = _compile_sql(select(RUN.c.epoch).where(RUN.c.id == bindparam('id')))
_ADVANCE = (
    update(RUN)
    .where(RUN.c.id == bindparam('key'), RUN.c.epoch == bindparam('owned'), RUN.c.seq == bindparam('before'))
    .values({name: bindparam(name) for name in ('updated', 'seq', *USAGE)})
    .values(bytes=RUN.c.bytes + bindparam('more'))
)
ADVANCE = _compile_sql(
    _ADVANCE.returning(RUN.c.number, RUN.c.status, RUN.c.error, RUN.c.waiting, RUN.c.budget)
)
"""Updates columns that every append changes, none of them indexed. No row if epoch or step mismatch."""
ADVANCE_KNOWN = _compile_sql(_ADVANCE.where(RUN.c.number == bindparam('known')))
"""The same for a known number: finds the row by it, and returns nothing."""
UPDATE_STATUS = _compile_sql(
    update(RUN)
    .where(RUN.c.number == bindparam('key'))
    .values({name: bindparam(name) for name in ('status', 'error', 'waiting', 'budget')})
)
"""Updates columns that only some appends change."""


class CachedRow(NamedTuple):
    """The values of a run's row after the last append, valid until another process claims the run."""

    epoch: int
    number: int
    status_values: list[str]
    """The columns that only some appends change."""


class Append:
    """Work for `Writer.do`.

    Long bodies are encoded in the writer's thread: compression releases the GIL, so the loop can run.
    """

    def __init__(
        self,
        codec: Codec,
        info: RunInfo,
        transitions: Sequence[Transition],
        snapshot: Snapshot | None,
        cached: CachedRow | None = None,
    ) -> None:
        self._codec, self._info, self._transitions, self._snapshot = codec, info, transitions, snapshot
        self._texts: list[Encoded] | None = None
        self._before = cached
        self.cached = cached
        """The row's values once this is committed."""

    def is_short(self) -> bool:
        """Return whether doing this work takes no longer than passing it to another thread."""
        if self._snapshot:
            return False
        try:
            self._texts = [self._codec.text(step) for step in self._transitions]
        except JournalError:
            return False
        return sum(len(text) for _, text in self._texts) < SHORT

    def __call__(self, connection: sqlite3.Connection) -> int:
        """Validate, raise if invalid, then write; return the bytes stored."""
        codec, info, snapshot = self._codec, self._info, self._snapshot
        texts = self._texts or [codec.text(step) for step in self._transitions]
        bodies = [codec.pack(text) for text in texts]
        picture = codec.snapshot(snapshot) if snapshot else b''
        size = sum(map(len, bodies)) + len(picture)
        before = self._transitions[0].seq - 1 if self._transitions else info.seq
        for number, step in enumerate(self._transitions, start=before + 1):
            if step.seq != number:
                raise self._rejection(connection, step.seq)
        seq = before + len(self._transitions)
        number, turn = self._advance(connection, seq, size, before)
        rows = [
            (number, step.seq, step.time, step.event.name, step.event.at, body)
            for step, body in zip(self._transitions, bodies, strict=True)
        ]
        connection.executemany(INSERT_STEP, rows)
        if snapshot:
            connection.execute(INSERT_SNAPSHOT, (number, snapshot.seq, picture))
        now = [info.status.value, info.error, info.waiting, budget_text(info.budget)]
        if turn != now:
            connection.execute(UPDATE_STATUS, (*now, number))
        self.cached = CachedRow(info.epoch, number, now)
        return size

    def _advance(
        self, connection: sqlite3.Connection, seq: int, size: int, before: int
    ) -> tuple[int, list[str]]:
        """Write the run's summary; return its number and the columns that only some appends change."""
        info, cached = self._info, self._before
        values = (info.updated, seq, *usage_values(info.usage), size, info.id, info.epoch, before)
        if cached and cached.epoch == info.epoch:
            if connection.execute(ADVANCE_KNOWN, (*values, cached.number)).rowcount:
                return cached.number, cached.status_values
        elif rows := connection.execute(ADVANCE, values).fetchall():
            number, *turn = rows[0]
            return number, turn
        raise self._rejection(connection, before + 1)

    def _rejection(self, connection: sqlite3.Connection, seq: int) -> EngineError:
        """Return the reason why step `seq` was rejected; nothing was written."""
        info = self._info
        row = connection.execute(SELECT_EPOCH, (info.id,)).fetchone()
        if row is None:
            return UnknownRun(info.id)
        if row != (info.epoch,):
            return StaleOwner(info.id, info.epoch)
        return JournalConflict(info.id, seq)
