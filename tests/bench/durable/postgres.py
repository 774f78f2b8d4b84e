"""A durable step on PostgreSQL, one run and many at once, against bare inserts of the same rows there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg

from engine import Catalog, Conductor, LocalConductor
from engine.records import RunId
from storage import open_journal
from tests.bench.table import Row
from tests.bench.timing import Lap, Stopwatch, compare, percentile
from tests.bench.work import Bounded, texts
from tests.support.journals.postgres import PostgresServer, postgres_server

SAFE = {
    'fsync': 'on',
    'full_page_writes': 'on',
    'autovacuum': 'on',
    'shared_buffers': '128MB',
    'wal_level': 'replica',
}
"""PostgreSQL's default settings: each commit is on the disk."""
STORED = 'SELECT run, seq, time, name, at, body FROM transition ORDER BY run DESC, seq DESC LIMIT %s'


@contextmanager
def safe_postgres() -> Iterator[PostgresServer]:
    """A server whose commits survive a crash of the machine.

    Raises:
        RuntimeError: If none is installed.
    """
    with postgres_server(**SAFE) as server:
        if server is None:
            raise RuntimeError('PostgreSQL is not installed (apt install postgresql)')
        yield server


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """One run that waits for each step to be stored, and a hundred that wait only for their own steps."""
    with safe_postgres() as server:
        for runs in (1, 4) if fast else (1, 100):
            yield await _row(server, runs=runs, fast=fast)


async def _row(server: PostgresServer, *, runs: int, fast: bool) -> Row:
    rounds, each = (2, 10) if fast else (7, max(10, 300 // runs))
    database = server.create()
    ours: list[Lap] = []
    base: list[Lap] = []
    catalog = Catalog(patterns={Bounded.name: Bounded})
    with psycopg.connect(database, autocommit=True) as bare:
        async with LocalConductor(await open_journal(database), catalog=catalog) as conductor:
            bare.execute('CREATE TABLE bare (LIKE transition INCLUDING INDEXES)')
            started = [(await conductor.start('bounded')).id for _ in range(runs)]
            await _round(conductor, started, texts(5))
            for number in range(rounds):
                replies = texts(each, seed=number)
                with Stopwatch(runs * each) as watch:
                    await _round(conductor, started, replies)
                ours.append(watch.lap)
                rows = bare.execute(STORED, (min(runs * each, 300),)).fetchall()
                with Stopwatch(len(rows)) as watch:
                    for row in rows:
                        bare.execute('INSERT INTO bare VALUES (%s, %s, %s, %s, %s, %s)', row)
                base.append(watch.lap)
                bare.execute('TRUNCATE bare')
    return compare(
        f'durable on PostgreSQL, {"1 run" if runs == 1 else f"{runs:,} runs"}',
        ours,
        base,
        against='bare insert',
        worst_round=percentile([lap.wall for lap in ours], 1.0),
    )


async def _round(conductor: Conductor, runs: list[RunId], replies: list[str]) -> None:
    async def one(run: RunId) -> None:
        for text in replies:
            await conductor.send(run, 'go', data={'text': text})

    await asyncio.gather(*map(one, runs))
