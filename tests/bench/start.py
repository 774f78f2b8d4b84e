"""How soon the command answers, and how soon the server delivers its first page."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median

from tests.bench.processes import environment, free_port, server
from tests.bench.table import Row
from tests.tree import ROOT

HELP, PAGE = 300.0, 1_500.0
"""The bars, in milliseconds."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """From the start of a process, each time a new one."""
    tries = 1 if fast else 5
    helped = [_seconds(['-m', 'ui', '--help'], folder) for _ in range(tries)]
    yield Row(
        name='hemicycle --help',
        value=median(helped) * 1e3,
        unit='ms',
        bar=HELP,
    )
    yield Row(
        name='hemicycle serve to first page',
        value=median(_served(folder, tries)) * 1e3,
        unit='ms',
        bar=PAGE,
    )


def _seconds(arguments: list[str], folder: Path) -> float:
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, env=environment(folder), check=True, capture_output=True
    )
    return time.perf_counter() - begun


def _served(folder: Path, tries: int) -> list[float]:
    found = []
    for _ in range(tries):
        port = free_port()
        arguments = ['-m', 'ui', 'serve', '--port', str(port), '--database', str(folder / 'runs.db')]
        begun = time.perf_counter()
        with server(arguments, f'http://127.0.0.1:{port}/', folder):
            found.append(time.perf_counter() - begun)
    return found
