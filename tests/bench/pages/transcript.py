"""A transcript of 2,000 messages: how long it takes to open, and how it scrolls, against a bare page."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.bench.pages.chromium import Probe, chromium
from tests.bench.pages.live import fetch_bench
from tests.bench.servers.processes import free_port, server
from tests.bench.table import Row
from tests.bench.timing import percentile

OPENING, LONG = 1_000.0, 100.0
"""The targets, in milliseconds: to the first message that is seen, and for a task while it scrolls."""
OPEN = """() => new Promise((seen) => {
  const begun = performance.now();
  const look = () => {
    const list = document.querySelector('.transcript-feed'), box = list?.getBoundingClientRect();
    const there = box && [...list.querySelectorAll('.prose:not(.raw)')].some((one) => {
      const { top, height } = one.getBoundingClientRect();
      return height && top < box.bottom && top + height > box.top;
    });
    if (there) requestAnimationFrame(() => seen(performance.now() - begun));
    else requestAnimationFrame(look);
  };
  [...document.querySelectorAll('[role=tab]')].find((tab) => tab.textContent === 'Transcript').click();
  look();
})"""
"""Milliseconds from the click on the tab to the frame after the first message is shown as Markdown."""
SCROLL = """(frames) => new Promise((done) => {
  const box = document.querySelector('.transcript-feed') ?? document.scrollingElement;
  const times = [];
  box.scrollTop = 0;
  const step = box.scrollHeight / frames;
  const go = (now) => {
    times.push(now);
    box.scrollTop += step;
    const left = box.scrollHeight - box.scrollTop - box.clientHeight;
    if (times.length < 3 * frames && left > 1) requestAnimationFrame(go);
    else done(times.slice(1).map((time, i) => time - times[i]));
  };
  requestAnimationFrame(go);
})"""
"""Scrolls from the first message to the last; returns the milliseconds of each frame."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Open the page, its transcript, and the bare page; scroll both."""
    messages, frames = (200, 30) if fast else (2_000, 240)
    port = free_port()
    url = f'http://127.0.0.1:{port}'
    arguments = ['-m', 'tests.bench.servers.transcript', str(folder), str(port), str(messages)]
    with server(arguments, f'{url}/bench', folder):
        async with chromium() as probe:
            page, run = probe.page, fetch_bench(url)['run']
            await page.goto(f'{url}/runs/{run}')
            await page.wait_for_function('window.did_handshake === true')
            await page.wait_for_timeout(1_000)
            await probe.begin()
            opening = await page.evaluate(OPEN)
            script = (
                f'document.querySelectorAll(".transcript-list .block[aria-setsize=\\"{messages}\\"]").length'
            )
            await page.wait_for_function(f'{script} === {messages}')
            filling = await probe.longest()
            ours = await _scroll(probe, frames)
            text: str = await page.inner_text('.transcript-group:last-child .block:last-child')
            if f'Message {messages}.' not in text:
                raise RuntimeError(f'the last message is another one: {text[:80]!r}')
        async with chromium() as probe:
            await probe.page.goto(f'{url}/bare')
            bare = await _scroll(probe, frames)
    name = f'transcript of {messages:,} messages'
    yield Row(name=f'{name}: click to first message', value=opening, unit='ms', target=OPENING)
    yield Row(name=f'{name}: longest task until all are rendered', value=filling, unit='ms', target=LONG)
    yield Row(name=f'{name}: longest task while it scrolls', value=ours['longest'], unit='ms', target=LONG)
    for key, what in (('p95', 'frame while it scrolls, p95'), ('spent', 'main thread, whole scroll')):
        yield Row(name=f'{name}: {what}', value=ours[key], unit='ms', base=bare[key], against='bare page')


async def _scroll(probe: Probe, frames: int) -> dict[str, Any]:
    before = await probe.begin()
    times = await probe.page.evaluate(SCROLL, frames)
    spent = (await probe.measure_cpu() - before) * 1e3
    return {'p95': percentile(times, 0.95), 'longest': await probe.longest(), 'spent': spent}
