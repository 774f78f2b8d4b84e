"""Delay from a worker to the page of another process, and from a command to the run in a worker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median

import httpx

from engine.journal import Journal
from engine.records import RunId
from storage import open_journal
from tests.bench.durable.postgres import safe_postgres
from tests.bench.fleet.running import fleet_on
from tests.bench.pages.chromium import chromium
from tests.bench.pages.live import WATCH, delays
from tests.bench.table import Row
from tests.bench.timing import percentile
from tests.crash.fleet.processes import Fleet, launch, until

DOM, COMMAND = 150.0, 100.0
"""The targets, in milliseconds."""
PAUSE = 0.1
"""Seconds between the steps of the run that is watched."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """A run in a worker: watched through a web server, and paused and resumed through it."""
    with safe_postgres() as server, fleet_on(server, folder) as fleet:
        await fleet.temporal()
        await fleet.worker()
        web = await fleet.web()
        journal = await open_journal(fleet.database)
        try:
            async with httpx.AsyncClient(base_url=f'{web.url}/api/v1/', timeout=30) as client:
                timings = await _time_steps(fleet, client, journal, seconds=3 if fast else 20)
                sent, answered = await _time_commands(fleet, client, journal, number=10 if fast else 200)
        finally:
            await journal.close()
    yield Row(name="step from a worker to another process's page, median", value=median(timings), unit='ms')
    yield Row(
        name="step from a worker to another process's page, p95",
        value=percentile(timings, 0.95),
        unit='ms',
        target=DOM,
        details={'steps': len(timings), 'worst': max(timings)},
    )
    yield Row(name='command to a run in a worker, median', value=median(sent), unit='ms')
    yield Row(
        name='command to a run in a worker, p95',
        value=percentile(sent, 0.95),
        unit='ms',
        target=COMMAND,
        details={
            'commands': len(sent),
            'worst': max(sent),
            'answered': median(answered),
            'answered_p95': percentile(answered, 0.95),
        },
    )


async def _start(fleet: Fleet, web: httpx.AsyncClient, seconds: float) -> RunId:
    steps = int((seconds + 60) / PAUSE)
    run = RunId(await launch(web, calls=str(fleet.calls), steps=steps, pause=PAUSE))
    await until(lambda: any(call.run == run for call in fleet.lines()), 'the run is driven')
    return run


async def _time_steps(
    fleet: Fleet, web: httpx.AsyncClient, journal: Journal, *, seconds: float
) -> list[float]:
    """Milliseconds from when the worker took each step to its first appearance in Chromium."""
    run = await _start(fleet, web, seconds)
    async with chromium() as probe:
        page = probe.page
        await page.goto(f'{str(web.base_url).partition("/api/")[0]}/runs/{run}')
        await page.wait_for_selector('.diagram .state')
        await page.wait_for_timeout(2_000)
        await page.evaluate(WATCH)
        await page.wait_for_timeout(seconds * 1_000)
        timings = (await page.evaluate('window.seen'))['steps']
    await web.post(f'runs/{run}/cancel')
    return delays([(step.seq, step.time) for step in await journal.transitions(run)], timings)


async def _time_commands(
    fleet: Fleet, web: httpx.AsyncClient, journal: Journal, *, number: int
) -> tuple[list[float], list[float]]:
    """Milliseconds until the worker took each command, and until the web server said that it is journaled."""
    run = await _start(fleet, web, number * PAUSE)
    begun, answered = [], []
    for index in range(number):
        command = 'resume' if index % 2 else 'pause'
        begun.append(time.time())
        answer = await web.post(f'runs/{run}/{command}')
        answered.append((time.time() - begun[-1]) * 1e3)
        assert answer.is_success, answer.text
        await asyncio.sleep(PAUSE / 2)
    steps = await journal.transitions(run)
    times = [step.time for step in steps if step.event.name in ('pause', 'resume')]
    assert len(times) == number
    await web.post(f'runs/{run}/cancel')
    return [(at - sent) * 1e3 for at, sent in zip(times, begun, strict=True)], answered
