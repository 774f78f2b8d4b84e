"""Read queries: summaries, lists, steps, snapshots, path statistics. Each takes a reader's connection."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, exists, func, select, text, tuple_

from engine.errors import JournalDamaged, StepDamaged, UnknownRun
from engine.records import (
    RULES,
    SUMMED,
    EdgeTraffic,
    Note,
    PathStats,
    RunId,
    RunInfo,
    RunOrder,
    RunPage,
    RunQuery,
    Shape,
    Snapshot,
    StatePath,
    StateTraffic,
    Status,
    Traffic,
    Transition,
    Usage,
)
from engine.records.document import join_tails
from storage.codec import read_snapshot, read_transition
from storage.sql.path_stats import EDGE, PATH, STATE, path_filters, read_path_stats
from storage.sql.rows import (
    LAUNCH,
    NOTE,
    RUN,
    SHAPE,
    STEP,
    STORED,
    TAG,
    list_info,
    read_info,
    read_shape,
    select_infos,
)
from storage.sql.search import text_filters


def info(connection: Connection, run: RunId) -> RunInfo:
    """The run's summary. Raises `UnknownRun`."""
    row = connection.execute(select_infos().where(RUN.c.id == run)).one_or_none()
    if row is None:
        raise UnknownRun(run)
    return read_info(row)


def shape(connection: Connection, run: RunId) -> Shape:
    """The run's chart. Raises `UnknownRun`."""
    row = connection.execute(
        select(LAUNCH.c.shape).join(RUN, RUN.c.number == LAUNCH.c.run).where(RUN.c.id == run)
    ).scalar_one_or_none()
    if row is None:
        raise UnknownRun(run)
    return read_shape(run, row)


def transitions(
    connection: Connection, run: RunId, after: int, until: int | None, limit: int | None
) -> list[Transition]:
    """The steps in a range, in order. Raises `UnknownRun`, `StepDamaged` if one is missing."""
    number, last = _key_and_last_step(connection, run)
    query = (
        select(STEP.c.seq, STEP.c.time, STEP.c.name, STEP.c.at, STEP.c.body)
        .where(STEP.c.run == number, STEP.c.seq > after)
        .order_by(STEP.c.seq)
        .limit(limit)
    )
    if until is not None:
        query = query.where(STEP.c.seq <= until)
        last = min(last, until)
    rows = connection.execute(query).cursor
    assert rows is not None
    # Fetch the driver's tuples: with SQLAlchemy's rows, reading a long history takes a third longer.
    stored = rows.fetchall()
    first = max(after, 0) + 1
    expected = last - first + 1 if limit is None else min(last - first + 1, limit)
    if len(stored) < expected or (stored and stored[-1][0] != first + len(stored) - 1):
        run_key(connection, run)  # It may have been deleted meanwhile.
        missing = next((seq for seq, row in enumerate(stored, first) if row[0] != seq), first + len(stored))
        raise StepDamaged(run, missing, 'is missing')
    return [read_transition(run, row) for row in stored]


def snapshot(connection: Connection, run: RunId, at: int) -> Snapshot | None:
    """The latest snapshot at or before a step. Raises `UnknownRun`."""
    row = connection.execute(
        select(STORED.c.seq, STORED.c.body)
        .where(STORED.c.run == run_key(connection, run), STORED.c.seq <= at)
        .order_by(STORED.c.seq.desc())
        .limit(1)
    ).one_or_none()
    return None if row is None else read_snapshot(run, row.seq, row.body)


def long_list(connection: Connection, run: RunId, at: int, field: str) -> list[Any]:
    """A long list of memory in the snapshot at step `at`. Raises `UnknownRun`, `JournalDamaged`."""
    query = (
        select(STORED.c.seq, STORED.c.body)
        .where(STORED.c.run == run_key(connection, run), STORED.c.seq <= at)
        .order_by(STORED.c.seq.desc())
        .execution_options(yield_per=BATCH_ROWS)
    )
    with connection.execute(query) as rows:
        return join_tails(field, (read_snapshot(run, row.seq, row.body) for row in rows))


BATCH_ROWS = 50
"""Snapshots fetched at a time."""


def path_stats(connection: Connection, run: RunId) -> PathStats | None:
    """The stored path statistics of a run. Raises `UnknownRun`."""
    return read_path_stats(connection, run_key(connection, run))


def runs(connection: Connection, query: RunQuery) -> RunPage:
    """One page of the list, newest first, and the total number of matches."""
    condition = and_(True, *filters(query))
    total = connection.execute(select(func.count()).select_from(RUN).where(condition)).scalar_one()
    rows = connection.execute(
        select_infos()
        .where(condition, *_beyond(query))
        .order_by(*_order(query))
        .limit(query.limit)
        .offset(query.offset)
    )
    usage = _sum_usage(connection, condition) if query.totals else None
    return RunPage(runs=tuple(map(list_info, rows)), total=total, usage=usage)


def _sum_usage(connection: Connection, condition: ColumnElement[bool]) -> Usage:
    sums = [func.coalesce(func.sum(RUN.c[name]), 0).label(name) for name in SUMMED]
    row = connection.execute(select(*sums).where(condition)).one()
    return Usage(**row._mapping)


def family(connection: Connection, run: RunId) -> list[RunInfo]:
    """Return the run, its ancestors and all their forks, oldest first. Raises `UnknownRun`."""
    info(connection, run)
    ids = [id for (id,) in connection.execute(FAMILY, {'run': run})]
    oldest_first = (RUN.c.created, RUN.c.number)
    rows = connection.execute(select_infos().where(RUN.c.id.in_(ids)).order_by(*oldest_first))
    return [list_info(row) for row in rows]


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
    """Every run outside the trash that has not ended, oldest first."""
    going = [status.value for status in Status if not status.ended]
    condition = and_(RUN.c.deleted == 0, RUN.c.status.in_(going))
    rows = connection.execute(select_infos().where(condition).order_by(RUN.c.created, RUN.c.id))
    return [list_info(row) for row in rows]


def notes(connection: Connection, run: RunId) -> list[Note]:
    """Return the notes on a run's steps, in step order. Raises `UnknownRun`."""
    number = run_key(connection, run)
    rows = connection.execute(select(NOTE).where(NOTE.c.run == number).order_by(NOTE.c.seq, NOTE.c.id))
    return [Note(**{**row._mapping, 'run': run}) for row in rows]


def run_key(connection: Connection, run: RunId) -> int:
    """The numeric key of a run. Raises `UnknownRun`."""
    return _key_and_last_step(connection, run)[0]


def _key_and_last_step(connection: Connection, run: RunId) -> tuple[int, int]:
    """The numeric key of a run, and its last step. Raises `UnknownRun`."""
    row = connection.execute(select(RUN.c.number, RUN.c.seq).where(RUN.c.id == run)).one_or_none()
    if row is None:
        raise UnknownRun(run)
    return int(row.number), int(row.seq)


def _order(query: RunQuery) -> list[ColumnElement[Any]]:
    by: list[ColumnElement[Any]] = [RUN.c.created, RUN.c.id]
    if query.sort != 'created':
        by.insert(0, SORT_COLUMNS[query.sort])
    else:
        by[:0] = [RUN.c.deleted] if query.place == 'trash' else []
        by[:0] = [RUN.c.pinned] if query.pins_first else []
    return [column.asc() if query.ascending else column.desc() for column in by]


SORT_COLUMNS: dict[RunOrder, ColumnElement[Any]] = {
    'title': func.lower(RUN.c.title),
    'bytes': RUN.c.bytes,
    'steps': RUN.c.seq,
    'tokens': RUN.c.input + RUN.c.output,
    'duration': RUN.c.updated - RUN.c.created,
}


def _beyond(query: RunQuery) -> list[ColumnElement[bool]]:
    if query.beyond is None:
        return []
    deleted, created, id = query.beyond
    if query.place == 'trash':
        return [tuple_(RUN.c.deleted, RUN.c.created, RUN.c.id) < tuple_(deleted, created, id)]
    return [tuple_(RUN.c.created, RUN.c.id) < tuple_(created, id)]


PLACE_CONDITIONS = {'list': RUN.c.deleted == 0, 'trash': RUN.c.deleted > 0, 'purging': RUN.c.deleted < 0}


def filters(query: RunQuery) -> list[ColumnElement[bool]]:
    """The conditions on rows of `run` for a query."""
    conditions = [
        PLACE_CONDITIONS[query.place],
        *label_filters(query),
        *path_filters(query),
        *text_filters(query.text),
    ]
    if query.starred:
        conditions.append(RUN.c.starred)
    if query.pinned:
        conditions.append(RUN.c.pinned)
    if query.seen_by is not None:
        conditions.append(~RUN.c.private | (RUN.c.author == query.seen_by))
    if query.status:
        conditions.append(RUN.c.status.in_([status.value for status in query.status]))
    if query.since is not None:
        conditions.append(RUN.c.created >= query.since)
    if query.until is not None:
        conditions.append(RUN.c.created < query.until)
    return conditions


def label_filters(query: RunQuery) -> Iterator[ColumnElement[bool]]:
    """Yield the conditions of a query on the pattern of a run, its version and its tags."""
    if query.pattern:
        yield RUN.c.pattern == query.pattern
    if query.version:
        yield RUN.c.version == query.version
    if query.tag:
        yield RUN.c.number.in_(select(TAG.c.run).where(TAG.c.label == query.tag))
    if query.without_tag:
        # Asked of each run that is looked at, by its own tags: home lists a few of perhaps millions.
        barred = TAG.c.label.startswith(query.without_tag, autoescape=True)
        yield ~exists().where(TAG.c.run == RUN.c.number, barred)


def outdated_runs(connection: Connection, query: RunQuery) -> list[RunId]:
    """All matching runs whose path statistics are missing or out of date, newest first."""
    up_to_date = and_(PATH.c.run == RUN.c.number, PATH.c.rules == RULES)
    condition = and_(func.coalesce(PATH.c.seq, 0) < RUN.c.seq, *filters(replace(query, edges=(), state='')))
    outdated = connection.execute(
        select(RUN.c.id)
        .select_from(RUN.outerjoin(PATH, up_to_date))
        .where(condition)
        .order_by(RUN.c.created.desc(), RUN.c.id.desc())
    )
    return [RunId(run) for run in outdated.scalars()]


def total_traffic(connection: Connection, query: RunQuery) -> Traffic:
    """The traffic of all matching runs together."""
    condition = and_(True, *filters(query))
    statuses = connection.execute(
        select(RUN.c.status, func.count()).where(condition).group_by(RUN.c.status)
    ).all()
    versions = connection.execute(
        select(RUN.c.version, func.count())
        .where(condition)
        .group_by(RUN.c.version)
        .order_by(func.count().desc(), func.max(RUN.c.created).desc())
    ).all()
    forks, inherited = connection.execute(
        select(func.count(), func.coalesce(func.sum(RUN.c.parent_at), 0)).where(
            condition, RUN.c.parent.is_not(None)
        )
    ).one()
    matching = select(RUN.c.number).where(condition)
    return Traffic(
        runs=sum(count for _, count in statuses),
        statuses={status: count for status, count in statuses},
        versions={version: count for version, count in versions},
        forks=forks,
        inherited=inherited,
        shapes=_shapes(connection, matching),
        edges=_edges(connection, matching),
        states=_states(connection, matching),
    )


def _shapes(connection: Connection, matching: Select[tuple[int]]) -> tuple[tuple[Shape, int], ...]:
    """Return charts and their run counts. Equal charts may be stored as different text: see `StateShape`."""
    texts = connection.execute(
        select(LAUNCH.c.shape, func.count(), func.max(LAUNCH.c.run))
        .where(LAUNCH.c.run.in_(matching))
        .group_by(LAUNCH.c.shape)
        .order_by(func.max(LAUNCH.c.run).desc())
    )
    counts: dict[Shape, int] = {}
    unread = False
    for stored, count, _ in texts:
        try:
            shape = SHAPE.validate_json(stored)
        except ValueError:
            unread = True  # `path_statistics` names the run
            continue
        counts[shape] = counts.get(shape, 0) + count
    if unread and not counts:
        raise JournalDamaged('the charts of these runs in the database are damaged')
    return tuple(sorted(counts.items(), key=lambda item: -item[1]))


def _edges(connection: Connection, matching: Select[tuple[int]]) -> tuple[EdgeTraffic, ...]:
    rows = connection.execute(
        select(EDGE.c.source, EDGE.c.dest, func.sum(EDGE.c.times), func.count())
        .where(EDGE.c.run.in_(matching))
        .group_by(EDGE.c.source, EDGE.c.dest)
        .order_by(EDGE.c.source, EDGE.c.dest)
    )
    return tuple(
        EdgeTraffic(source=StatePath(source), dest=dest, times=times, runs=runs)
        for source, dest, times, runs in rows
    )


def _states(connection: Connection, matching: Select[tuple[int]]) -> tuple[StateTraffic, ...]:
    in_order = (
        select(
            STATE,
            func.row_number().over(partition_by=STATE.c.path, order_by=STATE.c.seconds).label('place'),
            func.count().over(partition_by=STATE.c.path).label('many'),
        )
        .where(STATE.c.run.in_(matching))
        .subquery()
    )
    c = in_order.c
    rows = connection.execute(
        select(
            c.path,
            func.count().label('runs'),
            func.sum(c.visits).label('visits'),
            func.count().filter(c.visits > 1).label('repeated'),
            func.max(c.visits).label('most'),
            func.sum(c.seconds).label('seconds'),
            func.max(c.seconds).filter(c.place == (c.many + 1) // 2).label('median'),
            func.max(c.seconds).filter(c.place == (c.many * 9 + 9) // 10).label('p90'),
            func.sum(c.failed).label('failed'),
            func.sum(c.expired).label('expired'),
            func.sum(c.fell).label('fell'),
            func.count().filter((c.failed > 0) | (c.expired > 0) | (c.fell > 0)).label('troubled'),
        )
        .group_by(c.path)
        .order_by(c.path)
    ).mappings()
    return tuple(StateTraffic(**row) for row in rows)
