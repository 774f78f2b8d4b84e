"""Six panes that stream at once, against six bare texts fed by a websocket at the same rate."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.pages.chromium import chromium
from tests.bench.pages.live import WATCH, fetch_bench, piece_delays
from tests.bench.servers.live import PACE, SIX
from tests.bench.servers.processes import free_port, processor, server
from tests.bench.table import Row
from tests.bench.timing import percentile

DELAY, LONG, SHARE = 150.0, 50.0, 50.0
"""The targets: milliseconds, milliseconds, percent of a core."""
SETTLING = 2_000
"""Milliseconds before the watch begins."""


@dataclass(frozen=True, slots=True)
class Watched:
    """The measurements of one side."""

    delays: list[float]
    longest: float
    server: float
    """Percent of a core, as is the next field."""
    page: float


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Watch both sides for a while, one after the other."""
    seconds = 3.0 if fast else 20.0
    ours = await _watch(['tests.bench.servers.live', str(folder)], [str(len(SIX))], folder, seconds)
    bare = await _watch(['tests.bench.servers.bare'], [], folder, seconds)
    rate = f'six panes, {PACE * len(SIX)} chunks per second'
    yield Row(
        name=f'{rate}: chunk from model to DOM, median',
        value=median(ours.delays),
        unit='ms',
        target=DELAY,
        details={'pieces': len(ours.delays), 'bare': median(bare.delays)},
    )
    yield Row(
        name=f'{rate}: p95',
        value=percentile(ours.delays, 0.95),
        unit='ms',
        details={'bare': percentile(bare.delays, 0.95)},
    )
    yield Row(name=f'{rate}: longest task in Chromium', value=ours.longest, unit='ms', target=LONG)
    yield Row(name=f"{rate}: server's CPU", value=ours.server, unit='%', target=SHARE)
    yield Row(
        name=f"{rate}: server's CPU",
        value=ours.server,
        unit='%',
        base=bare.server,
        against='bare websocket',
    )
    yield Row(
        name=f"{rate}: page's main thread",
        value=ours.page,
        unit='%',
        base=bare.page,
        against='bare texts',
    )


async def _watch(module: list[str], last: list[str], folder: Path, seconds: float) -> Watched:
    port = free_port()
    url = f'http://127.0.0.1:{port}'
    with server(['-m', *module, str(port), *last], f'{url}/bench', folder) as process:
        async with chromium() as probe:
            run: dict[str, Any] = fetch_bench(url)
            await probe.page.goto(f'{url}/runs/{run["run"]}' if 'run' in run else url)
            if 'run' in run:
                await probe.page.wait_for_selector('.block.streaming')
                await probe.page.wait_for_timeout(SETTLING)
                await probe.page.evaluate(WATCH)
            fetch_bench(url)
            page, spent, now = await probe.begin(), processor(process.pid), os.times().elapsed
            await probe.page.wait_for_timeout(seconds * 1_000)
            page, spent, now = (
                await probe.measure_cpu() - page,
                processor(process.pid) - spent,
                os.times().elapsed - now,
            )
            longest, timings, bench = (
                await probe.longest(),
                await probe.page.evaluate('window.seen'),
                fetch_bench(url),
            )
    return Watched(
        delays=piece_delays(SIX, bench['said'], timings['pieces']),
        longest=longest,
        server=spent / now * 100,
        page=page / now * 100,
    )
