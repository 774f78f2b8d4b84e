"""Path statistics: written as rows by the writer, read back, and used to filter queries."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, fields

from sqlalchemy import ColumnElement, Connection, and_, delete, exists, insert, or_, select
from sqlmodel import SQLModel

from engine.records import RULES, Dwell, PathStats, RunId, RunQuery, StatePath
from storage.protocol import Work
from storage.sql.rows import RUN
from storage.sql.tables import PathEdgeRow, PathRow, PathStateRow

PATH, EDGE, STATE = (
    SQLModel.metadata.tables[str(model.__tablename__)] for model in (PathRow, PathEdgeRow, PathStateRow)
)
TROUBLED = or_(STATE.c.failed > 0, STATE.c.expired > 0, STATE.c.fell > 0)
"""Whether something failed in a state."""


def store_path_stats(stats_by_run: Mapping[RunId, PathStats]) -> Work[None]:
    """Store path statistics, except for deleted runs and where longer ones are already stored."""
    rests = {run: json.dumps(dict(stats.rest)) if stats.rest else '' for run, stats in stats_by_run.items()}

    def work(connection: Connection) -> None:
        # In a fixed order, so that two writers cannot deadlock.
        for run, stats in sorted(stats_by_run.items()):
            number = connection.execute(
                select(RUN.c.number).where(RUN.c.id == run).with_for_update()
            ).scalar()
            stored = select(PATH.c.seq).where(PATH.c.run == number, PATH.c.rules == stats.rules)
            if number is not None and (connection.execute(stored).scalar() or 0) <= stats.seq:
                _replace_stats(connection, number, stats, rests[run])

    return work


def _replace_stats(connection: Connection, number: int, stats: PathStats, rest: str) -> None:
    connection.execute(delete(PATH).where(PATH.c.run == number))  # cascades to edges and states
    connection.execute(insert(PATH), {'run': number, 'seq': stats.seq, 'rules': stats.rules, 'rest': rest})
    if stats.edges:
        edges = [
            {'run': number, 'source': source, 'dest': dest, 'times': times}
            for (source, dest), times in stats.edges.items()
        ]
        connection.execute(insert(EDGE), edges)
    if stats.stays:
        stays = [{'run': number, 'path': path, **asdict(stay)} for path, stay in stats.stays.items()]
        connection.execute(insert(STATE), stays)


def read_path_stats(connection: Connection, number: int) -> PathStats | None:
    """Return the path statistics of the run with this key, if computed by the current rules."""
    row = connection.execute(select(PATH).where(PATH.c.run == number, PATH.c.rules == RULES)).one_or_none()
    if row is None:
        return None
    try:
        rest = json.loads(row.rest) if row.rest else {}
    except ValueError:
        return None  # damaged: recomputed from the steps
    edges = connection.execute(select(EDGE).where(EDGE.c.run == number))
    stays = connection.execute(select(STATE).where(STATE.c.run == number))
    return PathStats(
        seq=row.seq,
        edges={(StatePath(edge.source), edge.dest): edge.times for edge in edges},
        stays={
            StatePath(stay.path): Dwell(**{field.name: getattr(stay, field.name) for field in fields(Dwell)})
            for stay in stays
        },
        rest=rest,
    )


def path_filters(query: RunQuery) -> list[ColumnElement[bool]]:
    """Return the conditions on rows of `run` for a query's edges and state."""
    conditions: list[ColumnElement[bool]] = []
    if query.edges:
        named = [edge.partition('>')[::2] for edge in query.edges]
        any_of = or_(*(and_(EDGE.c.source == source, EDGE.c.dest == dest) for source, dest in named))
        conditions.append(exists(select(EDGE.c.run).where(and_(EDGE.c.run == RUN.c.number, any_of))))
    if query.state:
        there = and_(STATE.c.run == RUN.c.number, STATE.c.path == query.state)
        conditions.append(
            exists(select(STATE.c.run).where(and_(there, TROUBLED) if query.trouble else there))
        )
    return conditions
