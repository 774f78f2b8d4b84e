"""The bar of time with a long history of many agents: positions a second while it is dragged or zoomed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

from tests.bench.pages.chromium import chromium
from tests.bench.table import Row
from ui.web.components.assets import ASSETS, STYLES

STEPS, AGENTS = 10_000, 12
FRAME = 1_000 / 60
"""Milliseconds per frame of the display."""
SPARE = 1.05
"""The target: times a frame."""
BAR = """([steps, agents]) => {
  const root = document.body.appendChild(document.createElement('div'));
  const lanes = Array.from({ length: agents + 1 }, (_, lane) => `Agent ${lane}`);
  const kinds = [['error', '▲', 'error'], ['approved', '✓', 'approved']];
  const on = { move() {}, release() {} };
  window.bar = new Timeline(root, { lanes, words: [...'abcde'], kinds, on });
  bar.set({});
  const news = { times: [], blocks: [], words: [''], flags: [] };
  for (let seq = 1; seq <= steps; seq += 1) {
    const lane = seq % (agents + 1);
    news.times.push(seq * 250);
    if (seq > agents) news.blocks.push([lane, seq % 5, seq - agents, seq, 0]);
    if (seq % 5 === 0) news.flags.push([seq, lane, seq % 2 ? 'error' : 'approved', 'said']);
  }
  bar.add(news, true);
  bar.setSteps(steps, steps);
}"""
MOVE = """async ([zooms, seconds]) => {
  const { left, width, top } = bar.rail.getBoundingClientRect(), seen = new Set();
  const frame = () => new Promise(requestAnimationFrame);
  const to = (type, part) => bar.rail.dispatchEvent(new PointerEvent(type, {
    bubbles: true, pointerId: 1, clientX: left + width * part, clientY: top + 20,
  }));
  bar.rail.setPointerCapture = () => {};
  bar.zoom(0, 1);
  await frame();
  if (!zooms) to('pointerdown', 0);
  const begun = performance.now();
  let positions = 0, before = '', part = 0;
  while (part < 1) {
    part = (performance.now() - begun) / (1000 * seconds);
    if (zooms) bar.zoomAround(width * 0.4, part < 0.5 ? 0.95 : 1.05);
    else to('pointermove', Math.min(part, 1));
    await frame();
    const now = zooms ? String(bar.to - bar.from) : bar.thumb.dataset.step;
    positions += now !== before;
    before = now;
  }
  const spent = performance.now() - begun;
  if (!zooms) to('pointerup', 1);
  return spent / positions;
}"""
"""Drags the head from end to end, or zooms in and out again; returns the milliseconds of each position."""


async def measure(folder: Path, *, fast: bool) -> AsyncIterator[Row]:
    """Draw the bar of a run of many agents on a page of its own, drag its head, and zoom."""
    script = (ASSETS / 'timeline' / 'timeline.js').read_text('utf-8').replace('export ', '')
    styles = ''.join((STYLES / f'{name}.css').read_text('utf-8') for name in ('base', 'timeline'))
    async with chromium() as probe:
        await probe.page.set_content(f'<style>{styles}</style><script>{script}</script>')
        await probe.page.evaluate(BAR, [STEPS, AGENTS])
        for zooms, name in ((False, 'dragged'), (True, 'zoomed')):
            before = await probe.measure_cpu()
            spent = await probe.page.evaluate(MOVE, [zooms, 1 if fast else 3])
            yield Row(
                name=f'bar of time, {STEPS:,} steps of {AGENTS} agents, {name}: one position',
                value=spent,
                unit='ms',
                base=FRAME,
                against='a frame',
                target=SPARE,
                details={'cpu': await probe.measure_cpu() - before},
            )
