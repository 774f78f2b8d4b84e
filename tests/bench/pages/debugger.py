"""A run of 10,000 steps in Chromium: how long it takes to open, how fast the slider moves, and a fork."""

from __future__ import annotations

import asyncio
import json
import time
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.pages.chromium import Probe, chromium
from tests.bench.pages.live import fetch_bench
from tests.bench.servers.processes import free_port, server
from tests.bench.table import Row

OPENING, POSITION, FORKING = 500.0, 1_000.0 / 60, 1_000.0
"""The targets, in milliseconds: to the first step that is seen, a position of the slider, a fork."""
STEP = "document.querySelector('.step-number')?.textContent === 'Step {}'"
SEEN = """() => {
  const seen = window.seen = new Set(), count = document.querySelector(".player-count");
  const look = () => seen.add(count.textContent.split(" ")[0]);
  new MutationObserver(look).observe(count, { childList: true, characterData: true, subtree: true });
}"""
"""Records each position that the page shows; the diagram is highlighted at the same moment."""
DRAG = """async (seconds) => {
  const rail = document.querySelector('.rail'), { left, width, top } = rail.getBoundingClientRect();
  const to = (type, part) => rail.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerId: 1, clientX: left + width * part, clientY: top + 5,
  }));
  rail.setPointerCapture = () => {};
  const begun = performance.now();
  to('pointerdown', 0.98);
  await new Promise((done) => {
    const go = () => {
      const part = (performance.now() - begun) / (1000 * seconds);
      if (part >= 1) return done();
      to('pointermove', 0.98 - 0.96 * part);
      setTimeout(go, 4);
    };
    go();
  });
  const spent = performance.now() - begun;
  to('pointerup', 0.02);
  return spent;
}"""
"""Drags the thumb from the end to the beginning at the rate of mouse events; returns milliseconds."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Open it twice (the second page reuses what the first has read), drag the slider, fork near the end.

    A run of a few steps serves as the baseline: the time that page and browser take for any run.
    """
    rounds, seconds = (20, 1) if fast else (1_112, 5)
    port = free_port()
    url = f'http://127.0.0.1:{port}'
    arguments = ['-m', 'tests.bench.servers.debugger', str(folder), str(port), str(rounds)]
    with server(arguments, f'{url}/bench', folder):
        bench = fetch_bench(url)
        address, steps = f'{url}/runs/{bench["run"]}', bench['run_steps']
        short = f'{url}/runs/{bench["short"]}', bench['short_steps']
        async with chromium() as probe:
            await time_opening(probe, *short)  # now the browser has cached the scripts
            await probe.page.wait_for_timeout(1_000)
            base = await time_opening(probe, *short)
            await probe.page.wait_for_timeout(1_000)
            first = await time_opening(probe, address, steps)
            await probe.page.wait_for_timeout(2_000 if fast else 8_000)
            warm = await time_opening(probe, address, steps)
            await probe.page.wait_for_timeout(1_000)
            await probe.page.evaluate(SEEN)
            spent = await probe.page.evaluate(DRAG, seconds)
            positions = len(await probe.page.evaluate('[...window.seen]'))
        at = steps * 9 // 10
        forks = [(await asyncio.to_thread(_fetch, f'{url}/bench/fork?at={at}'))['ms'] for _ in range(3)]
    name = f'run of {steps:,} steps'
    yield Row(name=f'{name}: opening, cold', value=first, unit='ms', target=OPENING)
    yield Row(name=f'{name}: opening, warm', value=warm, unit='ms', target=OPENING)
    yield Row(name=f'{name}: opening, warm', value=warm, unit='ms', base=base, against=f'{short[1]} steps')
    yield Row(
        name=f'{name}: a slider position, rendered over the whole run',
        value=spent / max(positions, 1),
        unit='ms',
        target=POSITION,
        details={'positions': positions, 'milliseconds': spent},
    )
    yield Row(name=f'{name}: fork at step {at:,}', value=median(forks), unit='ms', target=FORKING)


async def time_opening(probe: Probe, address: str, steps: int) -> float:
    """Milliseconds until the page of a run shows its last step."""
    begun = time.perf_counter()
    await probe.page.goto(address)
    await probe.page.wait_for_function(STEP.format(steps))
    return (time.perf_counter() - begun) * 1e3


def _fetch(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url, timeout=60) as answer:
        data: dict[str, Any] = json.loads(answer.read())
    return data
