"""Commands: all database changes but appends, such as create, fork, claim, annotate, delete, reserve.

Each function returns work for `Database.write` that validates, raises if invalid, and only then writes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    bindparam,
    delete,
    func,
    insert,
    literal,
    select,
    text,
    update,
)

from engine.errors import JournalConflict, JournalDamaged, UnknownNote, UnknownRun
from engine.journal.documents import RESERVATION_SECONDS, Reservation
from engine.records import Annotation, Note, RunId, RunInfo, Shape
from storage.protocol import Work
from storage.sql.dialects import forget_words
from storage.sql.rows import LAUNCH, NOTE, RESERVATION, RUN, STEP, STORED, TAG, launch_row, run_row
from storage.sql.search import index, index_new

ANNOTATION_COLUMNS = ('title', 'note', 'starred', 'pinned', 'private', 'deleted')
"""The fields of an annotation with a column of the same name."""

# Built once, for those that every start of a run executes: SQLAlchemy keeps what it makes of a statement.
SELECT_NUMBER = select(RUN.c.number).where(RUN.c.id == bindparam('id'))
INSERT_RUN, INSERT_LAUNCH = insert(RUN).returning(RUN.c.number), insert(LAUNCH)


def create(info: RunInfo, shape: Shape) -> Work[None]:
    """Store a new run."""

    def work(connection: Connection) -> None:
        check_new(connection, info.id)
        insert_run(connection, info, shape)

    return work


def fork(info: RunInfo, shape: Shape) -> Work[None]:
    """Store a new run whose history begins as a copy of its parent's."""

    def work(connection: Connection) -> None:
        parent = lock_run_key(connection, info.parent or RunId(''))
        check_new(connection, info.id)
        steps, size = _extent(connection, STEP, parent, info.parent_at)
        _, snapshot_bytes = _extent(connection, STORED, parent, info.parent_at)
        if steps != info.parent_at:
            raise JournalDamaged(f'a step of run {info.parent} is missing')
        number = insert_run(connection, replace(info, seq=steps, bytes=size + snapshot_bytes), shape)
        for table in (STEP, STORED):
            columns = [literal(number) if column.name == 'run' else column for column in table.c]
            copied = (
                select(*columns).where(*_steps_up_to(table, parent, info.parent_at)).order_by(table.c.seq)
            )
            connection.execute(insert(table).from_select(list(table.c), copied))

    return work


def _extent(connection: Connection, table: Table, run: int, at: int) -> tuple[int, int]:
    """Return the number of rows that a run has up to a step, and their total bytes."""
    size = func.coalesce(func.sum(func.length(table.c.body)), 0)
    row = connection.execute(select(func.count(), size).where(*_steps_up_to(table, run, at))).one()
    return int(row[0]), int(row[1])


def _steps_up_to(table: Table, run: int, at: int) -> tuple[ColumnElement[bool], ...]:
    return table.c.run == run, table.c.seq <= at


def claim(run: RunId, owner: str) -> Work[int]:
    """Make `owner` the only writer; return the new epoch."""

    def work(connection: Connection) -> int:
        claimed = update(RUN).where(RUN.c.id == run).values(owner=owner, epoch=RUN.c.epoch + 1)
        epoch = connection.execute(claimed.returning(RUN.c.epoch)).scalar()
        if epoch is None:
            raise UnknownRun(run)
        return int(epoch)

    return work


def annotate(run: RunId, changes: Annotation) -> Work[None]:
    """Change a person's annotations of a run, or move it into or out of the trash."""
    columns = {name: value for name, value in changes.items() if name in ANNOTATION_COLUMNS}

    def work(connection: Connection) -> None:
        number = lock_run_key(connection, run)
        if columns:
            connection.execute(update(RUN).where(RUN.c.number == number).values(columns))
        if 'tags' in changes:
            connection.execute(delete(TAG).where(TAG.c.run == number))
            _tag(connection, number, changes['tags'])
        index(connection, number)

    return work


def write_note(note: Note) -> Work[Note]:
    """Store or change a note on a step."""

    def work(connection: Connection) -> Note:
        number = lock_run_key(connection, note.run)
        if note.id:
            seq, created = _note(connection, number, note.run, note.id)
            changed = update(NOTE).where(NOTE.c.id == note.id).values(text=note.text, edited=note.edited)
            connection.execute(changed)
            stored = replace(note, seq=seq, created=created)
        else:
            row = {name: value for name, value in asdict(note).items() if name != 'id'}
            added = insert(NOTE).values({**row, 'run': number}).returning(NOTE.c.id)
            stored = replace(note, id=int(connection.execute(added).scalar_one()))
        index(connection, number)
        return stored

    return work


def delete_note(run: RunId, note: int) -> Work[None]:
    """Return the work that deletes a note. Raises `UnknownRun`, `UnknownNote`."""

    def work(connection: Connection) -> None:
        number = lock_run_key(connection, run)
        _note(connection, number, run, note)
        connection.execute(delete(NOTE).where(NOTE.c.id == note))
        index(connection, number)

    return work


def delete_run(run: RunId) -> Work[None]:
    """Delete a run; foreign keys cascade to everything that belongs to it."""

    def work(connection: Connection) -> None:
        number = lock_run_key(connection, run)
        forget_words(connection, number)
        connection.execute(delete(RUN).where(RUN.c.number == number))

    return work


def reserve(requested: Reservation) -> Work[Reservation]:
    """Store a reservation unless its key is in use, delete expired ones, and return the stored one."""

    def work(connection: Connection) -> Reservation:
        connection.execute(
            delete(RESERVATION).where(RESERVATION.c.created < requested.created - RESERVATION_SECONDS)
        )
        connection.execute(RESERVE, asdict(requested))
        row = connection.execute(select(RESERVATION).where(RESERVATION.c.key == requested.key)).one()
        return Reservation(**row._mapping)

    return work


RESERVE = text(
    'INSERT INTO reservation (key, digest, run, created, reply)'
    ' VALUES (:key, :digest, :run, :created, :reply) ON CONFLICT (key) DO NOTHING'
)


def finish_reservation(key: str, reply: str | None) -> Work[None]:
    """Store the reply to a reserved request, or free its key."""

    def work(connection: Connection) -> None:
        key_matches = RESERVATION.c.key == key
        if reply is None:
            connection.execute(delete(RESERVATION).where(key_matches))
        else:
            connection.execute(update(RESERVATION).where(key_matches).values(reply=reply))

    return work


def lock_run_key(connection: Connection, run: RunId) -> int:
    """Return a run's numeric key; no one else can change the run until the transaction ends.

    Raises:
        UnknownRun
    """
    query = select(RUN.c.number).where(RUN.c.id == run).with_for_update(key_share=True)
    number = connection.execute(query).scalar()
    if number is None:
        raise UnknownRun(run)
    return int(number)


def _note(connection: Connection, number: int, run: RunId, note: int) -> tuple[int, float]:
    query = select(NOTE.c.seq, NOTE.c.created).where(NOTE.c.id == note, NOTE.c.run == number)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise UnknownNote(run, note)
    return int(row.seq), float(row.created)


def check_new(connection: Connection, run: RunId) -> None:
    """Raise `JournalConflict` if the run exists."""
    if connection.execute(SELECT_NUMBER, {'id': run}).scalar() is not None:
        raise JournalConflict(run, 0)


def insert_run(connection: Connection, info: RunInfo, shape: Shape) -> int:
    """Write a new run except its history; return its key."""
    number = connection.execute(INSERT_RUN, run_row(info)).scalar_one()
    launched = launch_row(number, info, shape)
    connection.execute(INSERT_LAUNCH, launched)
    _tag(connection, number, info.tags)
    index_new(connection, number, info, launched['parameters'])
    return int(number)


def _tag(connection: Connection, number: int, tags: Sequence[str]) -> None:
    rows = [{'run': number, 'position': position, 'label': label} for position, label in enumerate(tags)]
    if rows:
        connection.execute(insert(TAG), rows)
