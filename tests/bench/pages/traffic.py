"""The cost of a heatmap over many runs: the first read of all steps, and each later visit."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from statistics import median

from engine import Conductor, LocalConductor, SimulatedClock
from engine.records import RunId, RunQuery
from storage import open_journal
from tests.bench.table import Row
from tests.bench.timing import Lap, Stopwatch, ratio, walls
from tests.support.harness import FakeModel, catalog, pipeline_reply

SUM, AGAIN = 3.0, 1.5
"""The targets, as multiples: of a bare read of the summed rows; of the sum alone where nothing is new."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Identical runs of the pipeline, copied from a real one."""
    runs, rounds = (20, 2) if fast else (1_000, 9)
    database = folder / 'runs.db'
    journal = await open_journal(database)
    async with LocalConductor(
        journal, catalog=catalog(FakeModel(pipeline_reply)), clock=SimulatedClock()
    ) as conductor:
        await _copies(conductor, runs)
        begun = time.perf_counter()
        traffic = await conductor.traffic()
        first = time.perf_counter() - begun
        steps = (await conductor.info(RunId('copy0'))).seq * runs
        assert traffic.runs == runs
        yield Row(
            name=f'traffic of {runs:,} runs, cold read',
            value=first * 1e3,
            unit='ms',
            details={'microseconds_a_step': first / steps * 1e6, 'steps': steps},
        )
        sums: list[Lap] = []
        bare: list[Lap] = []
        looks: list[Lap] = []
        for _ in range(rounds):
            for laps, look in ((sums, _sum(conductor)), (looks, _look(conductor))):
                with Stopwatch(1) as watch:
                    await look
                laps.append(watch.lap)
            bare.append(_bare(database))
        yield Row(
            name=f'traffic of {runs:,} runs, the sum',
            value=walls(sums) / 1e3,
            unit='ms',
            base=walls(bare) / 1e3,
            against='bare read of its rows',
            ratio=ratio(sums, bare),
            target=SUM,
        )
        yield Row(
            name=f'traffic of {runs:,} runs, warm read',
            value=walls(looks) / 1e3,
            unit='ms',
            base=walls(sums) / 1e3,
            against='the sum',
            ratio=median(look.wall / one.wall for look, one in zip(looks, sums, strict=True)),
            target=AGAIN,
        )


async def _sum(conductor: Conductor) -> None:
    await conductor.journal.traffic(RunQuery())


async def _look(conductor: Conductor) -> None:
    await conductor.traffic()


def _bare(database: Path) -> Lap:
    connection = sqlite3.connect(database)
    with Stopwatch(1) as watch:
        for table in ('trail_edge', 'trail_state'):
            connection.execute(f'SELECT * FROM {table}').fetchall()
    connection.close()
    return watch.lap


async def _copies(conductor: Conductor, count: int) -> None:
    """Store this many copies of a run that is executed now."""
    one = (await conductor.start('pipeline', {'task': 'Compare tea and coffee'})).id
    await conductor.result(one)
    info, shape = await conductor.info(one), await conductor.shape(one)
    steps = await conductor.transitions(one)
    await conductor.journal.delete(one)
    for number in range(count):
        copy = replace(info, id=RunId(f'copy{number}'), created=info.created + number, epoch=0)
        await conductor.journal.create(replace(copy, seq=0), shape)
        await conductor.journal.append(copy, [replace(step, run=copy.id) for step in steps])
