"""Keeps whole runs from elsewhere: encoded aside first, so that the writer has little to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from engine.errors import JournalConflict
from engine.journal import WholeRun
from engine.records import Transition
from storage.codec import Codec
from storage.commands import check_new, insert, write_note
from storage.statements import INSERT_SNAPSHOT, INSERT_STEP


class Aside:
    """The rows of whole runs in a database of their own, which is gone when it is closed."""

    def __init__(self, runs: Sequence[WholeRun]) -> None:
        self._runs = runs
        # Without a name SQLite keeps it in memory while it is small, and else in a file that no crash leaves.
        self._rows = sqlite3.connect('', check_same_thread=False, isolation_level=None)
        self._last: list[int] = []

    def fill(self) -> None:
        """Go through the histories. Blocks. Raises `JournalConflict` where a step is missing."""
        codec, rows = Codec(), self._rows
        rows.execute('CREATE TABLE step (run, seq, time, name, at, body)')
        rows.execute('CREATE TABLE snapshot (run, seq, body)')
        rows.execute('BEGIN')
        for number, run in enumerate(self._runs):
            seq = 0
            for item in run.history:
                if not isinstance(item, Transition):
                    row = (number, item.seq, codec.snapshot(item))
                    rows.execute('INSERT INTO snapshot VALUES (?, ?, ?)', row)
                    continue
                seq += 1
                if item.seq != seq:
                    raise JournalConflict(run.info.id, item.seq)
                event = item.event
                rows.execute(
                    'INSERT INTO step VALUES (?, ?, ?, ?, ?, ?)',
                    (number, seq, item.time, event.name, event.at, codec.transition(item)),
                )
            self._last.append(seq)
        rows.execute('COMMIT')

    def __call__(self, connection: sqlite3.Connection) -> None:
        """Look, raise what is against it, and only then write: a piece of work for `Writer.do`."""
        seen = set()
        for run in self._runs:
            check_new(connection, run.info.id)
            if run.info.id in seen:
                raise JournalConflict(run.info.id, 0)
            seen.add(run.info.id)
        for number, run in enumerate(self._runs):
            (size,) = self._rows.execute(
                'SELECT coalesce((SELECT sum(length(body)) FROM step WHERE run = :run), 0)'
                ' + coalesce((SELECT sum(length(body)) FROM snapshot WHERE run = :run), 0)',
                {'run': number},
            ).fetchone()
            key = insert(connection, replace(run.info, seq=self._last[number], bytes=size), run.shape)
            query = 'SELECT ?, seq, time, name, at, body FROM step WHERE run = ? ORDER BY seq'
            connection.executemany(INSERT_STEP, self._rows.execute(query, (key, number)))
            for note in run.notes:
                write_note(replace(note, id=0, run=run.info.id))(connection)
            query = 'SELECT seq, body FROM snapshot WHERE run = ? ORDER BY seq'
            for seq, body in self._rows.execute(query, (number,)):
                connection.execute(INSERT_SNAPSHOT, {'run': key, 'seq': seq, 'body': body})

    def close(self) -> None:
        """Let go of the rows."""
        self._rows.close()
