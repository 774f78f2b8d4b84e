"""Stepping and dragging on the page of a run with many states: the delay a person sees."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from statistics import median

from tests.bench.pages.chromium import chromium
from tests.bench.table import Row
from tests.bench.timing import percentile
from tests.browser.server import Server

STEP, FRAME = 100.0, 1_000 / 60
"""The targets, in milliseconds: from a key to the inspector; the work of one move."""
MOVES = 30
KEYS = """async (count) => {
  const inspector = document.querySelector('.inspector'), found = [];
  for (let at = 0; at < count; at += 1) {
    const before = inspector.querySelector('.step-number').textContent, begun = performance.now();
    const seen = new Promise((done) => {
      const watch = new MutationObserver(() => {
        const now = inspector.querySelector('.step-number')?.textContent;
        if (now && now !== before) { watch.disconnect(); done(performance.now() - begun); }
      });
      watch.observe(inspector, { childList: true, subtree: true, characterData: true });
    });
    const key = { key: 'ArrowRight', code: 'ArrowRight', bubbles: true };
    for (const type of ['keydown', 'keyup']) document.body.dispatchEvent(new KeyboardEvent(type, key));
    found.push(await seen);
    await new Promise((done) => setTimeout(done, 250));
  }
  return found;
}"""
"""Presses the right arrow key `count` times; returns the milliseconds until the inspector has each step."""
DRAG = """async ([selector, moves]) => {
  const held = document.querySelector(selector), { left, width, top, height } = held.getBoundingClientRect();
  const frame = () => new Promise(requestAnimationFrame);
  const to = (type, part) => held.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerId: 1, clientX: left + width * part, clientY: top + height / 2,
  }));
  held.setPointerCapture = () => {};
  const [thumb, chart] = ['.thumb', '.diagram'].map((one) => document.querySelector(one));
  const svg = () => chart.querySelector('svg'); // another one, when another part of it is expanded
  const slid = () => svg().dataset.step === thumb.dataset.step;
  const shown = selector === '.rail' ? slid : () => svg().style.transform !== '';
  to('pointerdown', 0.05);
  await new Promise((done) => setTimeout(done, 500));
  let landed = 0;
  for (let at = 1; at <= moves; at += 1) {
    to('pointermove', 0.05 + (0.9 * at) / moves);
    await frame();
    landed += shown();
  }
  to('pointerup', 0.95);
  return landed;
}"""
"""Drags something to the right, one move per frame; returns how many moves the next frame showed."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Run a sample of the supervisor to its end; step through it by key, drag its slider and its diagram."""
    server = Server(folder)
    server.start()
    try:
        url = await asyncio.to_thread(server.sample, 'supervisor')
        async with chromium() as probe:
            await probe.page.goto(f'{url}?at=1')
            await probe.page.wait_for_selector('.diagram .state.active')
            await probe.page.wait_for_timeout(1_500)
            steps = await probe.page.evaluate(KEYS, 5 if fast else 20)
            yield Row(
                name='a step by key, to the inspector',
                value=median(steps),
                unit='ms',
                target=STEP,
                details={'p95': percentile(steps, 0.95), 'worst': max(steps)},
            )
            for name, selector in (('slider', '.rail'), ('diagram', '.diagram')):
                await probe.page.wait_for_timeout(1_000)
                before = await probe.measure_cpu()
                landed = await probe.page.evaluate(DRAG, [selector, MOVES])
                spent = (await probe.measure_cpu() - before) * 1e3
                work = f'{name} dragged: page work per move'
                yield Row(name=work, value=spent / MOVES, unit='ms', target=FRAME)
                yield Row(
                    name=f'{name} dragged: of {MOVES} moves, not shown by the next frame',
                    value=MOVES - landed,
                    unit='',
                    target=0,
                )
    finally:
        server.stop()
