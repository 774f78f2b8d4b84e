"""From the journal to the page: how long a step and a streamed piece take to appear in Chromium."""

from __future__ import annotations

import json
import urllib.request
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from tests.bench.pages.chromium import chromium
from tests.bench.servers.live import AGENTS
from tests.bench.servers.processes import free_port, server
from tests.bench.table import Row
from tests.bench.timing import percentile

DOM, LATE, BLOCKED = 50.0, 100.0, 20.0
"""The targets, in milliseconds: for a step, at the median and at p95; for how long the loop is blocked."""

WATCH = """() => {
  const seen = window.seen = { steps: [], pieces: [] }, last = {};
  const panes = [...document.querySelectorAll('section.agent')];
  new MutationObserver(() => {
    const now = (performance.timeOrigin + performance.now()) / 1000;
    const status = document.querySelector('.visually-hidden[aria-live=polite]')?.textContent ?? '';
    const step = Number(/^Step (\\d+)/.exec(status)?.[1] ?? 0);
    if (step > (last.step ?? 0)) seen.steps.push([last.step = step, now]);
    for (const pane of panes) {
      const name = pane.getAttribute('aria-label').toLowerCase();
      const text = pane.querySelector('.block:last-child .body')?.textContent ?? '';
      const piece = Number(text.slice(text.lastIndexOf(' p') + 2).match(/^\\d+/)?.[0] ?? 0);
      if (piece > (last[name] ?? 0)) seen.pieces.push([name, last[name] = piece, now]);
    }
  }).observe(document.body, { childList: true, characterData: true, subtree: true });
}"""
"""Records when each step and each agent's piece first appears in the page, by the machine's clock."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Watch the run for a while, after it has had time to settle."""
    port = free_port()
    url = f'http://127.0.0.1:{port}'
    arguments = ['-m', 'tests.bench.servers.live', str(folder), str(port), str(len(AGENTS))]
    with server(arguments, f'{url}/runs', folder):
        timings, bench, before = await _watch(url, seconds=3 if fast else 20)
    steps = delays(bench['steps'], timings['steps'])
    pieces = piece_delays(AGENTS, bench['said'], timings['pieces'])
    late, busy = ([lag * 1e3 for lag in lags] for lags in zip(*bench['lags'], strict=True))
    share = (bench['cpu'] - before['cpu']) / (bench['now'] - before['now'])
    yield Row(
        name='step from journal to DOM, 4 panes, median',
        value=median(steps),
        unit='ms',
        target=DOM,
        details={'steps': len(steps), 'p95': percentile(steps, 0.95), 'worst': max(steps)},
    )
    yield Row(
        name='step from journal to DOM, 4 panes, p95', value=percentile(steps, 0.95), unit='ms', target=LATE
    )
    yield Row(
        name='chunk from model to DOM, 200 per second, median',
        value=median(pieces),
        unit='ms',
        details={'pieces': len(pieces), 'p95': percentile(pieces, 0.95)},
    )
    yield Row(
        name='event loop blocked meanwhile, max',
        value=max(busy),
        unit='ms',
        target=BLOCKED,
        details={'late': max(late), 'late_p99': percentile(late, 0.99), 'busy_p99': percentile(busy, 0.99)},
    )
    yield Row(name='event loop late meanwhile, max', value=max(late), unit='ms')
    yield Row(name="server's CPU meanwhile", value=share * 100, unit='%')


def piece_delays(
    agents: Sequence[str],
    spoken: Sequence[tuple[str, int, float]],
    displayed: Sequence[tuple[str, int, float]],
) -> list[float]:
    """Milliseconds from sending each piece (agent, number, time) to its first appearance."""
    return [
        delay
        for name in agents
        for delay in delays(
            [(number, at) for role, number, at in spoken if role == name],
            [(number, at) for role, number, at in displayed if role == name],
        )
    ]


def delays(happened: Iterable[tuple[int, float]], displayed: Iterable[tuple[int, float]]) -> list[float]:
    """Milliseconds from each number to the first appearance of it or of a later one."""
    arrivals = list(displayed)
    numbers = [number for number, _ in arrivals]
    delays = []
    for number, at in happened:
        index = bisect_left(numbers, number)
        # Earlier pieces were not observed; the last ones may not have appeared yet.
        if index < len(arrivals) and numbers and number > numbers[0]:
            delays.append((arrivals[index][1] - at) * 1e3)
    return delays


async def _watch(url: str, seconds: float) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    async with chromium() as probe:
        page = probe.page
        await page.goto(f'{url}/runs/{fetch_bench(url)["run"]}')
        await page.wait_for_selector('.block.streaming')
        await page.wait_for_timeout(2_000)
        await page.evaluate(WATCH)
        before = fetch_bench(url)
        await page.wait_for_timeout(seconds * 1_000)
        timings, bench = await page.evaluate('window.seen'), fetch_bench(url)
    return timings, bench, before


def fetch_bench(url: str) -> dict[str, Any]:
    """Fetch what the server has recorded since the last request."""
    with urllib.request.urlopen(f'{url}/bench', timeout=10) as answer:
        data: dict[str, Any] = json.loads(answer.read())
    return data
