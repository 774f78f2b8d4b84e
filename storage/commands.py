"""What the writer does besides appending: create, fork, claim, annotate, delete.

Each function gives a piece of work for `Writer.do`: it looks first, raises what it has to, only then writes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace

from engine.errors import JournalConflict, UnknownNote, UnknownRun
from engine.records import Annotation, Note, RunId, RunInfo, Shape
from storage.rows import launch_row, run_row
from storage.search import forget, index
from storage.statements import INSERT_LAUNCH, INSERT_RUN, INSERT_TAG
from storage.writer import Work

SAID = ('title', 'note', 'starred', 'pinned', 'deleted')
"""What of an annotation has a column of its own name."""


def create(info: RunInfo, shape: Shape) -> Work[None]:
    """Keep a new run."""

    def work(connection: sqlite3.Connection) -> None:
        check_new(connection, info.id)
        insert(connection, info, shape)

    return work


def fork(info: RunInfo, shape: Shape) -> Work[None]:
    """Keep a new run whose history begins as a copy of its parent's."""

    def work(connection: sqlite3.Connection) -> None:
        parent = number_of(connection, info.parent or RunId(''))
        check_new(connection, info.id)
        seq, size = connection.execute(
            'SELECT coalesce(max(seq), 0), coalesce(sum(length(body)), 0) + ('
            '   SELECT coalesce(sum(length(body)), 0) FROM snapshot WHERE run = :run AND seq <= :at'
            ' ) FROM "transition" WHERE run = :run AND seq <= :at',
            {'run': parent, 'at': info.parent_at},
        ).fetchone()
        number = insert(connection, replace(info, seq=seq, bytes=size), shape)
        connection.execute(
            'INSERT INTO "transition" (run, seq, time, name, at, body)'
            ' SELECT ?, seq, time, name, at, body FROM "transition" WHERE run = ? AND seq <= ? ORDER BY seq',
            (number, parent, info.parent_at),
        )
        connection.execute(
            'INSERT INTO snapshot (run, seq, body)'
            ' SELECT ?, seq, body FROM snapshot WHERE run = ? AND seq <= ?',
            (number, parent, info.parent_at),
        )

    return work


def claim(run: RunId, owner: str) -> Work[int]:
    """Make `owner` the only writer; gives the new epoch."""

    def work(connection: sqlite3.Connection) -> int:
        number = number_of(connection, run)
        connection.execute('UPDATE run SET owner = ?, epoch = epoch + 1 WHERE number = ?', (owner, number))
        (epoch,) = connection.execute('SELECT epoch FROM run WHERE number = ?', (number,)).fetchone()
        return int(epoch)

    return work


def annotate(run: RunId, said: Annotation) -> Work[None]:
    """Change what a person says of a run, or where it is."""
    columns = {name: value for name, value in said.items() if name in SAID}

    def work(connection: sqlite3.Connection) -> None:
        number = number_of(connection, run)
        if columns:
            names = ', '.join(f'{name} = ?' for name in columns)
            connection.execute(f'UPDATE run SET {names} WHERE number = ?', (*columns.values(), number))
        if 'tags' in said:
            connection.execute('DELETE FROM tag WHERE run = ?', (number,))
            _tag(connection, number, said['tags'])
        index(connection, number)

    return work


def write_note(note: Note) -> Work[Note]:
    """Keep a note on a step, or change one."""

    def work(connection: sqlite3.Connection) -> Note:
        number = number_of(connection, note.run)
        kept = note
        if note.id:
            seq, created = _note(connection, number, note.run, note.id)
            connection.execute(
                'UPDATE note SET text = ?, edited = ? WHERE id = ?', (note.text, note.edited, note.id)
            )
            kept = replace(note, seq=seq, created=created)
        else:
            values = (number, note.seq, note.text, note.created, note.edited)
            made = connection.execute(
                'INSERT INTO note (run, seq, text, created, edited) VALUES (?, ?, ?, ?, ?)', values
            )
            kept = replace(note, id=made.lastrowid or 0)
        index(connection, number)
        return kept

    return work


def delete_note(run: RunId, note: int) -> Work[None]:
    """Forget a note on a step."""

    def work(connection: sqlite3.Connection) -> None:
        number = number_of(connection, run)
        _note(connection, number, run, note)
        connection.execute('DELETE FROM note WHERE id = ?', (note,))
        index(connection, number)

    return work


def delete(run: RunId) -> Work[None]:
    """Forget a run; what hangs on it goes with it, by its foreign keys."""

    def work(connection: sqlite3.Connection) -> None:
        number = number_of(connection, run)
        connection.execute('DELETE FROM run WHERE number = ?', (number,))
        forget(connection, number)

    return work


def number_of(connection: sqlite3.Connection, run: RunId) -> int:
    """The key of a run. Raises `UnknownRun`."""
    found = connection.execute('SELECT number FROM run WHERE id = ?', (run,)).fetchone()
    if found is None:
        raise UnknownRun(run)
    return int(found[0])


def _note(connection: sqlite3.Connection, number: int, run: RunId, note: int) -> tuple[int, float]:
    found = connection.execute('SELECT seq, created FROM note WHERE id = ? AND run = ?', (note, number))
    row = found.fetchone()
    if row is None:
        raise UnknownNote(run, note)
    return int(row[0]), float(row[1])


def check_new(connection: sqlite3.Connection, run: RunId) -> None:
    """Raises `JournalConflict` where there is such a run."""
    if connection.execute('SELECT 1 FROM run WHERE id = ?', (run,)).fetchone():
        raise JournalConflict(run, 0)


def insert(connection: sqlite3.Connection, info: RunInfo, shape: Shape) -> int:
    """Write all of a new run but its history; gives its key."""
    number = connection.execute(INSERT_RUN, run_row(info)).lastrowid
    assert number is not None  # for the type checker: an INSERT has one
    connection.execute(INSERT_LAUNCH, launch_row(number, info, shape))
    _tag(connection, number, info.tags)
    index(connection, number)
    return number


def _tag(connection: sqlite3.Connection, number: int, tags: Sequence[str]) -> None:
    rows = [{'run': number, 'position': position, 'label': label} for position, label in enumerate(tags)]
    connection.executemany(INSERT_TAG, rows)
