"""Imports whole runs: encoded into a separate database first, so that the transaction is short."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from tempfile import gettempdir

from sqlalchemy import Connection, Table, insert

from engine.errors import JournalConflict
from engine.journal.documents import Entry
from engine.journal.protocol import WholeRun
from engine.records import Transition
from storage.codec import Codec
from storage.sql.commands import check_new, insert_run, write_note
from storage.sql.entries import check_versions, replace_entries
from storage.sql.rows import STEP, STORED
from storage.sqlite.file import translate_errors

BATCH_ROWS = 500
"""Rows written at a time."""


class StagedRuns:
    """The rows of whole runs and of their entries in a temporary database, deleted when closed."""

    def __init__(self, runs: Sequence[WholeRun], documents: Iterable[Entry] = ()) -> None:
        self._runs, self._documents = runs, documents
        # An unnamed database stays in memory while small, and otherwise in a file that is removed even after
        # a crash.
        self._rows = sqlite3.connect('', check_same_thread=False, isolation_level=None)
        self._last: list[int] = []

    def fill(self) -> None:
        """Read the histories. Blocks.

        Raises:
            JournalConflict: a step is missing.
            JournalUnavailable: the disk for temporary files is full.
        """
        with translate_errors(Path(gettempdir())):
            self._fill()

    def _fill(self) -> None:
        codec, rows = Codec(), self._rows
        rows.execute('CREATE TABLE step (run, seq, time, name, at, body)')
        rows.execute('CREATE TABLE snapshot (run, seq, body)')
        rows.execute('CREATE TABLE entry (json)')
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
        encoded = ((json.dumps(asdict(entry)),) for entry in self._documents)
        rows.executemany('INSERT INTO entry VALUES (?)', encoded)
        for name in ('step', 'snapshot'):  # Each run is looked for in all rows, while nobody else can write.
            rows.execute(f'CREATE INDEX {name}_of_run ON {name} (run, seq)')
        rows.execute('COMMIT')

    def __call__(self, connection: Connection) -> None:
        """Validate, raise if invalid, then write: work for `Database.write`."""
        for entries in self._entries():
            check_versions(connection, entries)
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
            key = insert_run(connection, replace(run.info, seq=self._last[number], bytes=size), run.shape)
            self._copy(connection, 'step', STEP, number, key)
            for note in run.notes:
                write_note(replace(note, id=0, run=run.info.id))(connection)
            self._copy(connection, 'snapshot', STORED, number, key)
        for entries in self._entries():
            replace_entries(connection, entries)

    def _copy(self, connection: Connection, source: str, table: Table, number: int, key: int) -> None:
        """Write one run's rows."""
        names = [column.name for column in table.c if column.name != 'run']
        query = f'SELECT {", ".join(names)} FROM {source} WHERE run = ? ORDER BY seq'
        cursor = self._rows.execute(query, (number,))
        while rows := cursor.fetchmany(BATCH_ROWS):
            connection.execute(insert(table), [dict(zip(names, row, strict=True), run=key) for row in rows])

    def _entries(self) -> Iterator[list[Entry]]:
        """Yield the entries, some at a time."""
        cursor = self._rows.execute('SELECT json FROM entry ORDER BY rowid')
        while rows := cursor.fetchmany(BATCH_ROWS):
            yield [Entry(**json.loads(text)) for (text,) in rows]

    def close(self) -> None:
        """Discard the rows."""
        self._rows.close()
