"""The cost of a long history: disk space, each further step, and opening it anywhere."""

from __future__ import annotations

import asyncio
import random
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median

from engine import Conductor
from engine.journal import fold
from engine.records import RunId
from tests.bench.pages.chromium import chromium
from tests.bench.pages.debugger import time_opening
from tests.bench.servers.processes import free_port, server
from tests.bench.table import Row
from tests.bench.timing import Lap, Stopwatch, compare, percentile
from tests.bench.work import SIZE, texts, working

ROOM, FLAT, SEEK, FOLD, PAGE = 1.5, 1.15, 50.0, 300.0, 1_000.0
"""The targets: times the payload; times the cost of a step of a short run; milliseconds, the last for the
page of the longest run."""
SHORT, LONG, LONGEST = 100, 10_000, 100_000


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """All measurements of a long run: with memory of constant size, and with growing memory."""
    lengths = [('bounded', LONG), ('growing', LONG), ('bounded', LONGEST), ('growing', LONGEST)]
    for pattern, long in [(pattern, 300) for pattern in ('bounded', 'growing')] if fast else lengths:
        database = folder / f'{pattern}-{long}.db'
        async with working(database) as conductor:
            run = await _grow(conductor, pattern, long)
        yield _room(database, pattern, long)
        async with working(database) as conductor:
            await conductor.recover()
            if long < LONGEST:
                yield await _flatness(conductor, run, pattern, long, fast=fast)
            for row in await _opening(conductor, run, pattern, long, fast=fast):
                yield row
            steps = (await conductor.info(run)).seq + 1
            await conductor.send(run, 'stop')
        if long == LONGEST or (fast and pattern == 'growing'):
            yield await _page(database, run, pattern, steps)


async def _grow(conductor: Conductor, pattern: str, steps: int) -> RunId:
    run = (await conductor.start(pattern)).id
    for text in texts(steps - 1):
        await conductor.send(run, 'go', data={'text': text})
    return run


def _room(database: Path, pattern: str, steps: int) -> Row:
    """Bytes of the whole file after a checkpoint: rows, keys, snapshots, empty tables and indexes."""
    connection = sqlite3.connect(database)
    connection.execute('PRAGMA wal_checkpoint(TRUNCATE)')
    (bodies,) = connection.execute('SELECT sum(length(body)) FROM "transition"').fetchone()
    snapshots, count = connection.execute(
        'SELECT coalesce(sum(length(body)), 0), count(*) FROM snapshot'
    ).fetchone()
    connection.close()
    return Row(
        name=f'disk per step, {pattern} memory' + (f', {steps:,} steps' if steps > LONG else ''),
        value=database.stat().st_size / steps,
        unit='B',
        base=SIZE,
        against='payload',
        target=ROOM,
        details={'bodies': bodies / steps, 'snapshots': snapshots / steps, 'snapshot_count': count},
    )


async def _flatness(conductor: Conductor, run: RunId, pattern: str, long: int, *, fast: bool) -> Row:
    """Steps of a run that is `long` steps old, alternating with those of one that is `SHORT` steps old."""
    rounds, count = (2, 20) if fast else (15, 100)
    after_long: list[Lap] = []
    after_short: list[Lap] = []
    for number in range(rounds):
        replies = texts(count, seed=number)
        young = await _grow(conductor, pattern, SHORT)
        for one, laps in ((young, after_short), (run, after_long)):
            with Stopwatch(count) as watch:
                for text in replies:
                    await conductor.send(one, 'go', data={'text': text})
            laps.append(watch.lap)
    return compare(
        f'step {long:,}, {pattern} memory', after_long, after_short, against=f'step {SHORT}', target=FLAT
    )


async def _page(database: Path, run: RunId, pattern: str, steps: int) -> Row:
    """The run's page, in a server and a browser that have shown only the list of runs before."""
    port = free_port()
    url, served = f'http://127.0.0.1:{port}', ['serve', '--port', str(port), '--database', str(database)]
    with server(['-m', 'ui', *served], f'{url}/', database.parent):
        async with chromium() as probe:
            await probe.page.goto(f'{url}/runs')
            await probe.page.wait_for_timeout(2_000)
            spent = await time_opening(probe, f'{url}/runs/{run}', steps)
    name = f'run of {steps:,} steps, {pattern} memory: opening its page'
    return Row(name=name, value=spent, unit='ms', target=PAGE)


async def _opening(conductor: Conductor, run: RunId, pattern: str, long: int, *, fast: bool) -> list[Row]:
    shape = await conductor.shape(run)
    folds: list[float] = []
    for _ in range(1 if fast or long > LONG else 3):
        begun = time.perf_counter()
        await asyncio.to_thread(fold, run, shape, await conductor.transitions(run))
        folds.append((time.perf_counter() - begun) * 1e3)
    chance = random.Random(0)
    count = 5 if fast else 100
    steps = [chance.randint(1, long) for _ in range(count)] + [long]
    seeks: list[float] = []
    for step in steps:
        tries = []
        for _ in range(1 if fast else 3):  # The best of three, to measure the seek and not noise.
            begun = time.perf_counter()
            await conductor.view(run, step)
            tries.append((time.perf_counter() - begun) * 1e3)
        seeks.append(min(tries))
    what = f'{long:,} steps, {pattern} memory'
    return [
        Row(
            name=f'fold of {what}',
            value=median(folds),
            unit='ms',
            target=FOLD if long <= LONG else None,
            details={'microseconds_a_step': median(folds) / long * 1e3},
        ),
        Row(
            name=f'seek in {what}, max of {len(steps)}',
            value=max(seeks),
            unit='ms',
            target=SEEK,
            details={'median': median(seeks), 'p95': percentile(seeks, 0.95)},
        ),
        Row(name=f'seek in {what}, median', value=median(seeks), unit='ms'),
    ]
