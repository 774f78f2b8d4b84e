"""Trails of runs: kept as rows by the writer, read back, and what a query asks of them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select
from sqlmodel import SQLModel

from engine.records import RULES, RunId, RunQuery, StatePath, Stay, Trail
from storage.rows import RUN
from storage.tables import Passed, Stayed, Taken
from storage.writer import Work

TRAIL, EDGE, STATE = (SQLModel.metadata.tables[str(model.__tablename__)] for model in (Passed, Taken, Stayed))
TROUBLED = or_(STATE.c.failed > 0, STATE.c.expired > 0, STATE.c.fell > 0)
"""That something failed in a state."""


def keep(trails: Mapping[RunId, Trail]) -> Work[None]:
    """Keep trails, but for those of runs that are gone and those that a longer one is kept of."""
    rests = {run: json.dumps(dict(trail.rest)) if trail.rest else '' for run, trail in trails.items()}

    def work(connection: sqlite3.Connection) -> None:
        for run, trail in trails.items():
            found = connection.execute(
                'SELECT number, CASE WHEN trail.rules = ? THEN trail.seq ELSE 0 END'
                ' FROM run LEFT JOIN trail ON trail.run = number WHERE id = ?',
                (trail.rules, run),
            ).fetchone()
            if found and found[1] <= trail.seq:
                _keep(connection, found[0], trail, rests[run])

    return work


def _keep(connection: sqlite3.Connection, number: int, trail: Trail, rest: str) -> None:
    connection.execute('DELETE FROM trail WHERE run = ?', (number,))  # the others go with it
    connection.execute('INSERT INTO trail VALUES (?, ?, ?, ?)', (number, trail.seq, trail.rules, rest))
    connection.executemany(
        'INSERT INTO trail_edge VALUES (?, ?, ?, ?)',
        [(number, source, dest, times) for (source, dest), times in trail.edges.items()],
    )
    connection.executemany(
        'INSERT INTO trail_state VALUES (?, ?, ?, ?, ?, ?, ?)',
        [
            (number, path, stay.visits, stay.seconds, stay.failed, stay.expired, stay.fell)
            for path, stay in trail.stays.items()
        ],
    )


def read_trail(connection: Connection, number: int) -> Trail | None:
    """The trail of the run with this key, if there is one that was made by the present rules."""
    row = connection.execute(select(TRAIL).where(TRAIL.c.run == number, TRAIL.c.rules == RULES)).one_or_none()
    if row is None:
        return None
    edges = connection.execute(select(EDGE).where(EDGE.c.run == number))
    stays = connection.execute(select(STATE).where(STATE.c.run == number))
    return Trail(
        seq=row.seq,
        edges={(StatePath(edge.source), edge.dest): edge.times for edge in edges},
        stays={
            StatePath(stay.path): Stay(
                visits=stay.visits,
                seconds=stay.seconds,
                failed=stay.failed,
                expired=stay.expired,
                fell=stay.fell,
            )
            for stay in stays
        },
        rest=json.loads(row.rest) if row.rest else {},
    )


def passing(query: RunQuery) -> list[ColumnElement[bool]]:
    """What rows of `run` must fulfil for the edge and the state of a query."""
    found: list[ColumnElement[bool]] = []
    if query.edges:
        named = [edge.partition('>')[::2] for edge in query.edges]
        any_of = or_(*(and_(EDGE.c.source == source, EDGE.c.dest == dest) for source, dest in named))
        found.append(exists(select(EDGE.c.run).where(and_(EDGE.c.run == RUN.c.number, any_of))))
    if query.state:
        there = and_(STATE.c.run == RUN.c.number, STATE.c.path == query.state)
        found.append(exists(select(STATE.c.run).where(and_(there, TROUBLED) if query.trouble else there)))
    return found
