"""What readers ask of many runs' trails: which are not up to date, and all of them added up."""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, Select, and_, func, select

from engine.records import RULES, EdgeTraffic, RunId, RunQuery, Shape, StatePath, StateTraffic, Traffic
from storage.queries import filters
from storage.rows import LAUNCH, RUN, SHAPE
from storage.trails import EDGE, STATE, TRAIL


def due(connection: Connection, query: RunQuery) -> list[RunId]:
    """All that match, newest first, and have gone on since their trail was kept."""
    up_to_date = and_(TRAIL.c.run == RUN.c.number, TRAIL.c.rules == RULES)
    wanted = and_(func.coalesce(TRAIL.c.seq, 0) < RUN.c.seq, *filters(replace(query, edges=(), state='')))
    found = connection.execute(
        select(RUN.c.id)
        .select_from(RUN.outerjoin(TRAIL, up_to_date))
        .where(wanted)
        .order_by(RUN.c.created.desc(), RUN.c.id.desc())
    )
    return [RunId(run) for run in found.scalars()]


def traffic(connection: Connection, query: RunQuery) -> Traffic:
    """What all runs that match went through together."""
    wanted = and_(True, *filters(query))
    statuses = connection.execute(
        select(RUN.c.status, func.count()).where(wanted).group_by(RUN.c.status)
    ).all()
    matching = select(RUN.c.number).where(wanted)
    return Traffic(
        runs=sum(count for _, count in statuses),
        statuses={status: count for status, count in statuses},
        shapes=_shapes(connection, matching),
        edges=_edges(connection, matching),
        states=_states(connection, matching),
    )


def _shapes(connection: Connection, matching: Select[tuple[int]]) -> tuple[tuple[Shape, int], ...]:
    """Charts by how many runs have each. Texts of several versions may differ where the charts do not."""
    texts = connection.execute(
        select(LAUNCH.c.shape, func.count(), func.max(LAUNCH.c.run))
        .where(LAUNCH.c.run.in_(matching))
        .group_by(LAUNCH.c.shape)
        .order_by(func.max(LAUNCH.c.run).desc())
    )
    found: dict[Shape, int] = {}
    for text, count, _ in texts:
        shape = SHAPE.validate_json(text)
        found[shape] = found.get(shape, 0) + count
    return tuple(sorted(found.items(), key=lambda item: -item[1]))


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
