"""How soon the command answers, the server delivers its first page, and runs continue after a restart."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path
from statistics import median

from engine import LocalConductor
from storage import open_journal
from tests.bench.servers.processes import DEADLINE, environment, free_port, server
from tests.bench.table import Row
from tests.tree import ROOT

COMMAND = str(Path(sys.executable).with_name('hemicycle'))
HELP, PAGE, RECOVERED = 300.0, 1_500.0, 2_000.0
"""The targets, in milliseconds."""
TASK = 'Should a small team adopt event sourcing for its order system?'


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Times from the start of a process, measured with new ones."""
    tries = 1 if fast else 5
    helped = [_seconds([COMMAND, '--help'], folder) for _ in range(tries)]
    yield Row(
        name='hemicycle --help',
        value=median(helped) * 1e3,
        unit='ms',
        target=HELP,
    )
    yield Row(
        name='hemicycle serve to first page',
        value=median(_time_serving(folder, tries)) * 1e3,
        unit='ms',
        target=PAGE,
    )
    runs = 3 if fast else 30
    yield Row(
        name=f'hemicycle serve to the next step of {runs} runs',
        value=median([await _time_recovery(folder / f'{number}.db', runs) for number in range(tries)]) * 1e3,
        unit='ms',
        target=RECOVERED,
    )


def _seconds(arguments: list[str], folder: Path) -> float:
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment(folder), check=True, capture_output=True
    )
    return time.perf_counter() - begun


def _time_serving(folder: Path, tries: int) -> list[float]:
    durations = []
    for _ in range(tries):
        port = free_port()
        arguments = [COMMAND, 'serve', '--port', str(port), '--database', str(folder / 'runs.db')]
        begun = time.perf_counter()
        with server(arguments, f'http://127.0.0.1:{port}/', folder):
            durations.append(time.perf_counter() - begun)
    return durations


async def _time_recovery(database: Path, runs: int) -> float:
    """Interrupt that many runs during a call; returns the seconds from a start until all continue."""
    async with LocalConductor(await open_journal(database), workspaces=database.with_suffix('')) as conductor:
        for _ in range(runs):
            run = await conductor.start('pipeline', task=TASK)
            async for _ in run.watch():
                break
    port, before = free_port(), _steps(database)
    arguments = [COMMAND, 'serve', '--port', str(port), '--pace', '1', '--database', str(database)]
    begun = time.perf_counter()
    with server(arguments, f'http://127.0.0.1:{port}/healthz', database.parent):
        while any(steps <= before[run] for run, steps in _steps(database).items()):
            if time.perf_counter() - begun > DEADLINE:
                raise RuntimeError('not all runs continued')
            await asyncio.sleep(0.01)
        return time.perf_counter() - begun


def _steps(database: Path) -> dict[str, int]:
    with closing(sqlite3.connect(f'{database.as_uri()}?mode=ro', uri=True, timeout=10)) as file:
        return dict(file.execute('SELECT id, seq FROM run'))
