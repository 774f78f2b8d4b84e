"""Opening pages in a browser with an empty cache: the time until the largest element is shown."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median

from tests.bench.pages.chromium import Probe, chromium
from tests.bench.table import Row
from tests.browser.server import Server

PAINT = 1_000.0
"""The target, in milliseconds."""
LARGEST = """() => new Promise((done) => new PerformanceObserver((list) =>
  done(list.getEntries().at(-1).startTime)).observe({ type: 'largest-contentful-paint', buffered: true }))"""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Run a sample of the supervisor to its end, and open the home page and the run's a few times each."""
    server = Server(folder)
    server.start()
    try:
        run = await asyncio.to_thread(server.sample, 'supervisor')
        async with chromium() as probe:
            await probe.cdp.send('Network.enable')
            await probe.cdp.send('Network.setCacheDisabled', {'cacheDisabled': True})
            for name, url, ready in (
                ('home', server.url, '.card.runs'),
                ('run', run, '.diagram .state'),
            ):
                paints = [await _time_opening(probe, url, ready) for _ in range(2 if fast else 8)][1:]
                yield Row(
                    name=f'{name}: largest contentful paint',
                    value=median(paints),
                    unit='ms',
                    target=PAINT,
                    details={'worst': max(paints)},
                )
    finally:
        server.stop()


async def _time_opening(probe: Probe, address: str, ready: str) -> float:
    await probe.page.goto(address)
    await probe.page.wait_for_selector(ready)
    await probe.page.wait_for_load_state('networkidle')
    return float(await probe.page.evaluate(LARGEST))
