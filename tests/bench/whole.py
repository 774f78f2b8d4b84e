"""Whole runs: the pipeline with a scripted model that answers at once, one and many at the same time.

In each, a call fails, as in the sample, and is retried after 1.5 seconds.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from engine import Catalog, Conductor, LocalConductor
from engine.records import RunId
from storage import open_journal
from tests.bench.activities import Gate, Loop, looping
from tests.bench.table import Row
from tests.bench.timing import Stopwatch, cpus, percentile, walls

TASK = {'task': 'Should a small team adopt event sourcing for its order system?'}
STILL, LAG, START = 20.0, 50.0, 2_000.0
"""The targets: milliseconds that the loop may be blocked, max and p99; microseconds of CPU time to start a
run."""


LOOKS = 50
"""Ticks between two measurements of the process's size, which take longer than other ticks."""


class Ticker:
    """Measures every millisecond how long the loop was blocked, and sometimes the size of the process."""

    def __init__(self) -> None:
        self.lags: list[float] = []
        self.work: list[float] = []
        """Processor seconds of the loop's thread between ticks, which exclude what other processes use."""
        self.before = _resident()
        self.largest = self.before

    @asynccontextmanager
    async def ticking(self) -> AsyncIterator[None]:
        """While the context lasts."""
        task = asyncio.ensure_future(self._tick())
        try:
            yield
        finally:
            task.cancel()

    async def _tick(self) -> None:
        while True:
            begun, worked = time.perf_counter(), time.thread_time()
            await asyncio.sleep(0.001)
            self.work.append(time.thread_time() - worked)
            self.lags.append(time.perf_counter() - begun - 0.001)
            if len(self.lags) % LOOKS == 0:
                self.largest = max(self.largest, _resident())


def _resident() -> int:
    """Bytes of this process in memory."""
    pages = int(Path('/proc/self/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE')


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Starting a run, and whole runs."""
    yield await _starting(folder / 'start.db', count=5 if fast else 200, rounds=1 if fast else 5)
    catalog = Catalog.load()
    for model in catalog.models.values():
        model.pace = 0  # type: ignore[attr-defined]
    async with LocalConductor(
        await open_journal(folder / 'runs.db'), catalog=catalog, workspaces=folder / 'files'
    ) as conductor:
        await _whole(conductor, 1)
        for runs in (1, 2) if fast else (1, 100, 1_000):
            ticker, alone = Ticker(), None
            if runs == 1:  # The ticker takes as much processor time as a single run.
                with Stopwatch(1) as alone:
                    await _whole(conductor, runs)
            async with ticker.ticking():
                with Stopwatch(1) as watch:
                    ids = await _whole(conductor, runs)
            steps = sum([(await conductor.info(run)).seq for run in ids])
            what = f'pipeline, {runs:,} at once'
            yield Row(
                name=f'{what}: CPU time per transition',
                value=(alone or watch).lap.cpu / steps,
                unit='µs',
                details={
                    'milliseconds_a_run': watch.lap.wall / runs / 1e3,
                    'transitions_a_run': steps / runs,
                    'memory_a_run': (ticker.largest - ticker.before) / runs,
                },
            )
            yield Row(name=f'{what}: runs per second', value=runs / watch.lap.wall * 1e6, unit='runs')
            for name, lag, target in (
                ('max', max(ticker.lags), STILL),
                ('of which busy, max', max(ticker.work), None),
                ('p99', percentile(ticker.lags, 0.99), LAG),
            ):
                yield Row(
                    name=f'{what}: event loop blocked, {name}', value=lag * 1e3, unit='ms', target=target
                )
            if runs >= 100:
                size = (ticker.largest - ticker.before) / runs / 1024
                yield Row(name=f'{what}: memory per run', value=size, unit='KiB')


async def _whole(conductor: Conductor, runs: int) -> list[RunId]:
    async def one(number: int) -> RunId:
        run = (await conductor.start('pipeline', TASK, seed=number, approvals='none')).id
        outcome = await conductor.result(run)
        assert outcome.status == 'done', outcome.error
        return run

    return list(await asyncio.gather(*map(one, range(runs))))


async def _starting(database: Path, *, count: int, rounds: int) -> Row:
    laps, gate = [], Gate()
    Loop.gate = gate
    try:
        async with looping(database) as conductor:
            for _ in range(rounds):
                with Stopwatch(count) as watch:
                    runs = [(await conductor.start('loop', {'steps': 2})).id for _ in range(count)]
                laps.append(watch.lap)
                for run in runs:
                    await conductor.cancel(run)
    finally:
        Loop.gate = None
    return Row(
        name='CPU time to start a run',
        value=cpus(laps),
        unit='µs',
        target=START,
        details={'wall': walls(laps)},
    )
