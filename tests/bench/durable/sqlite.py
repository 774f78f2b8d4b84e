"""Deciding and storing a transition, one run and many at once, against bare inserts of the same rows."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal

from engine import Conductor
from engine.records import RunId
from tests.bench.durable.raw import Raw, read_stored
from tests.bench.table import Row
from tests.bench.timing import Lap, Stopwatch, compare
from tests.bench.work import texts, working

ONE, MANY = 8.0, 5.0
"""The targets, as multiples of a bare insert with its commit."""


async def one_run(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """One run that waits for each step to be stored before it takes the next, on both settings."""
    for synchronous in ('normal', 'full'):
        target = ONE if synchronous == 'normal' else None
        yield await _row(folder, synchronous, runs=1, target=target, fast=fast)  # type: ignore[arg-type]


async def many_runs(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Many runs, each of which waits for its own steps only."""
    for runs in (2, 20) if fast else (100, 1_000):
        yield await _row(folder, 'normal', runs=runs, target=MANY if runs >= 1_000 else None, fast=fast)


async def _row(
    folder: Path, synchronous: Literal['normal', 'full'], *, runs: int, target: float | None, fast: bool
) -> Row:
    rounds = 2 if fast else 7
    each = 20 if fast else max(4, 500 // runs)
    name = f'{"1 run" if runs == 1 else f"{runs:,} runs"}, {synchronous}'
    database = folder / f'{runs}-{synchronous}.db'
    ours: list[Lap] = []
    base: list[Lap] = []
    raw = Raw(folder / f'{runs}-{synchronous}-raw.db', synchronous)
    async with working(database, synchronous) as conductor:
        started = [(await conductor.start('bounded')).id for _ in range(runs)]
        await _round(conductor, started, texts(5))
        written = runs * 6
        for number in range(rounds):
            replies = texts(each, seed=number)
            with Stopwatch(runs * each) as watch:
                await _round(conductor, started, replies)
            ours.append(watch.lap)
            # At most a second's worth: the cost of a bare row does not depend on their number.
            rows = read_stored(database, min(runs * each, 1_000), skip=written)
            written += runs * each
            with Stopwatch(len(rows)) as watch:
                raw.write(rows)
            base.append(watch.lap)
    raw.close()
    return compare(
        f'durable, {name}',
        ours,
        base,
        against='bare insert',
        target=target,
        row_bytes=sum(len(row[-1]) for row in rows) / len(rows),
    )


async def _round(conductor: Conductor, runs: list[RunId], replies: list[str]) -> None:
    async def one(run: RunId) -> None:
        for text in replies:
            await conductor.send(run, 'go', data={'text': text})

    await asyncio.gather(*map(one, runs))
