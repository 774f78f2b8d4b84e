"""Measures a page in Chromium: its long tasks, and the processor time of its main thread."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from playwright.async_api import CDPSession, Page, async_playwright

from tests.support.pages.chromium import ARGUMENTS, path

LONG_TASKS = """() => {
  window.longTasks = [];
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longTasks.push(task.duration);
  }).observe({ type: 'longtask' });
}"""


@dataclass(frozen=True, slots=True)
class Probe:
    """The work of a page since `begin`."""

    page: Page
    cdp: CDPSession

    async def begin(self) -> float:
        """Record long tasks (50 ms or more) from now on; returns the result of `measure_cpu`."""
        await self.page.evaluate(LONG_TASKS)
        return await self.measure_cpu()

    async def longest(self) -> float:
        """The longest task since `begin`, in milliseconds; 0 if none was long."""
        tasks: list[float] = await self.page.evaluate('window.longTasks')
        return max(tasks, default=0.0)

    async def measure_cpu(self) -> float:
        """Seconds of processor time that the main thread has worked so far."""
        answer: dict[str, Any] = await self.cdp.send('Performance.getMetrics')
        return float(
            next(metric['value'] for metric in answer['metrics'] if metric['name'] == 'TaskDuration')
        )


@asynccontextmanager
async def chromium() -> AsyncIterator[Probe]:
    """A window of 1440 by 900 pixels in a browser of its own."""
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path(), args=ARGUMENTS)
        page = await browser.new_page(viewport={'width': 1440, 'height': 900})
        cdp = await page.context.new_cdp_session(page)
        await cdp.send('Performance.enable', {'timeDomain': 'threadTicks'})
        yield Probe(page, cdp)
        await browser.close()
