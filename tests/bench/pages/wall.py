"""Twelve external agents in twelve panes of the wall: delay of a piece, the server's CPU and memory."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median

from tests.bench.pages.chromium import chromium
from tests.bench.pages.live import WATCH, fetch_bench, piece_delays
from tests.bench.servers.live import PACE, TWELVE
from tests.bench.servers.processes import free_port, processor, server
from tests.bench.table import Row
from tests.bench.timing import percentile

DELAY = 100.0
"""The target, in milliseconds."""
SETTLING = 4_000
"""Milliseconds before the watch begins."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Watch the wall for a while."""
    port, seconds = free_port(), 3.0 if fast else 20.0
    url = f'http://127.0.0.1:{port}'
    module = ['-m', 'tests.bench.servers.wall', str(folder), str(port)]
    with server(module, f'{url}/bench', folder) as process:
        async with chromium() as probe:
            await probe.page.goto(f'{url}/wall')
            await probe.page.wait_for_function(
                f'document.querySelectorAll(".wall-pane section.agent").length == {len(TWELVE)}'
            )
            await probe.page.wait_for_timeout(SETTLING)
            await probe.page.evaluate(WATCH)
            spent, now = processor(process.pid), os.times().elapsed
            await probe.page.wait_for_timeout(seconds * 1_000)
            spent, now = processor(process.pid) - spent, os.times().elapsed - now
            timings, bench = await probe.page.evaluate('window.seen'), fetch_bench(url)
        memory = resident(process.pid)
    delays = piece_delays(TWELVE, bench['said'], timings['pieces'])
    rate = f'{len(TWELVE)} agents in {len(TWELVE)} panes, {PACE * len(TWELVE)} chunks per second'
    yield Row(
        name=f'{rate}: chunk from agent to DOM, median',
        value=median(delays),
        unit='ms',
        target=DELAY,
        details={'pieces': len(delays), 'p95': percentile(delays, 0.95)},
    )
    yield Row(name=f"{rate}: server's CPU", value=spent / now * 100, unit='%')
    yield Row(name=f"{rate}: server's memory", value=memory / 2**20, unit='MB')


def resident(pid: int) -> int:
    """Bytes of a process in memory."""
    pages = int(Path(f'/proc/{pid}/statm').read_text().split()[1])
    return pages * os.sysconf('SC_PAGE_SIZE')
