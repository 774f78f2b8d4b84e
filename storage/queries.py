"""What readers ask: summaries, pages of lists, steps, snapshots. Each takes a connection of a reader."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, literal_column, select, text

from engine.errors import UnknownRun
from engine.records import Note, RunId, RunInfo, RunPage, RunQuery, Shape, Snapshot, Status, Trail, Transition
from storage.codec import read_snapshot, read_transition
from storage.rows import LAUNCH, RUN, SHAPE, TAG, infos, read_info
from storage.search import matching
from storage.statements import NOTE, STEP, STORED
from storage.trails import passing, read_trail


def info(connection: Connection, run: RunId) -> RunInfo:
    """The run's summary. Raises `UnknownRun`."""
    row = connection.execute(infos().where(RUN.c.id == run)).one_or_none()
    if row is None:
        raise UnknownRun(run)
    return read_info(row)


def shape(connection: Connection, run: RunId) -> Shape:
    """The run's chart. Raises `UnknownRun`."""
    found = connection.execute(
        select(LAUNCH.c.shape).join(RUN, RUN.c.number == LAUNCH.c.run).where(RUN.c.id == run)
    ).scalar_one_or_none()
    if found is None:
        raise UnknownRun(run)
    return SHAPE.validate_json(found)


def transitions(
    connection: Connection, run: RunId, after: int, until: int | None, limit: int | None
) -> list[Transition]:
    """The steps of a range, in order. Raises `UnknownRun`."""
    query = (
        select(STEP.c.seq, STEP.c.time, STEP.c.name, STEP.c.at, STEP.c.body)
        .where(STEP.c.run == number_of(connection, run), STEP.c.seq > after)
        .order_by(STEP.c.seq)
        .limit(limit)
    )
    if until is not None:
        query = query.where(STEP.c.seq <= until)
    return [read_transition(run, row) for row in connection.execute(query).all()]


def snapshot(connection: Connection, run: RunId, at: int) -> Snapshot | None:
    """The latest snapshot at or before a step. Raises `UnknownRun`."""
    row = connection.execute(
        select(STORED.c.seq, STORED.c.body)
        .where(STORED.c.run == number_of(connection, run), STORED.c.seq <= at)
        .order_by(STORED.c.seq.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else read_snapshot(run, row.seq, row.body)


def trail(connection: Connection, run: RunId) -> Trail | None:
    """What is kept of what the run went through. Raises `UnknownRun`."""
    return read_trail(connection, number_of(connection, run))


def runs(connection: Connection, query: RunQuery) -> RunPage:
    """One page of the list, newest first, and the number of all that match."""
    wanted = and_(True, *filters(query))
    total = connection.execute(select(func.count()).select_from(RUN).where(wanted)).scalar_one()
    rows = connection.execute(
        infos().where(wanted).order_by(*_order(query)).limit(query.limit).offset(query.offset)
    )
    return RunPage(runs=tuple(map(read_info, rows)), total=total)


def family(connection: Connection, run: RunId) -> list[RunInfo]:
    """The run, its ancestors, and all forks of these, oldest first. Raises `UnknownRun`."""
    info(connection, run)
    ids = [id for (id,) in connection.execute(FAMILY, {'run': run})]
    rows = connection.execute(infos().where(RUN.c.id.in_(ids)).order_by(RUN.c.created, RUN.c.id))
    return [read_info(row) for row in rows]


FAMILY = text("""
WITH RECURSIVE
    up (id, parent) AS (
        SELECT id, parent FROM run WHERE id = :run
        UNION SELECT run.id, run.parent FROM up JOIN run ON run.id = up.parent
    ),
    down (id) AS (
        SELECT id FROM up WHERE parent IS NULL OR parent NOT IN (SELECT id FROM run)
        UNION SELECT run.id FROM down JOIN run ON run.parent = down.id
    )
SELECT id FROM down
""")


def unfinished(connection: Connection) -> list[RunInfo]:
    """Every run of the list that has not ended, oldest first."""
    going = [status.value for status in Status if not status.ended]
    wanted = and_(RUN.c.deleted == 0, RUN.c.status.in_(going))
    rows = connection.execute(infos().where(wanted).order_by(RUN.c.created, RUN.c.id))
    return [read_info(row) for row in rows]


def notes(connection: Connection, run: RunId) -> list[Note]:
    """The notes on a run's steps, in their order. Raises `UnknownRun`."""
    number = number_of(connection, run)
    rows = connection.execute(select(NOTE).where(NOTE.c.run == number).order_by(NOTE.c.seq, NOTE.c.id))
    return [
        Note(id=row.id, run=run, seq=row.seq, text=row.text, created=row.created, edited=row.edited)
        for row in rows
    ]


def number_of(connection: Connection, run: RunId) -> int:
    """The key of a run. Raises `UnknownRun`."""
    number = connection.execute(select(RUN.c.number).where(RUN.c.id == run)).scalar_one_or_none()
    if number is None:
        raise UnknownRun(run)
    return int(number)


def _order(query: RunQuery) -> list[ColumnElement[Any]]:
    pins = [RUN.c.pinned.desc()] if query.pins_first else []
    deleted = [RUN.c.deleted.desc()] if query.place == 'trash' else []
    return [*pins, *deleted, RUN.c.created.desc(), RUN.c.id.desc()]


PLACES = {'list': RUN.c.deleted == 0, 'trash': RUN.c.deleted > 0, 'purging': RUN.c.deleted < 0}


def filters(query: RunQuery) -> list[ColumnElement[bool]]:
    """What rows of `run` must fulfil."""
    found: list[ColumnElement[bool]] = [PLACES[query.place], *passing(query)]
    if query.starred:
        found.append(RUN.c.starred)
    if query.pinned:
        found.append(RUN.c.pinned)
    if query.pattern:
        found.append(RUN.c.pattern == query.pattern)
    if query.status:
        found.append(RUN.c.status.in_([status.value for status in query.status]))
    if query.tag:
        found.append(RUN.c.number.in_(select(TAG.c.run).where(TAG.c.label == query.tag)))
    if query.since is not None:
        found.append(RUN.c.created >= query.since)
    if query.until is not None:
        found.append(RUN.c.created < query.until)
    if words := matching(query.text):
        hits: Select[Any] = select(literal_column('rowid')).select_from(text('search'))
        found.append(RUN.c.number.in_(hits.where(text('search MATCH :words').bindparams(words=words))))
    return found
