"""Background work of a page: cancelled with the page, and debounced if it is requested often."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

from nicegui import background_tasks
from nicegui.element import Element

T = TypeVar('T')
MIN_INTERVAL = 0.4
"""Minimum seconds between two executions under constant requests."""
QUIET, MAX_WAIT = 0.12, 1.0
"""Minimum and maximum seconds without a request before pending work is done. In between, it is twice
the time between the last two requests, so that slow requests are not mistaken for the last one.
"""
REST_FACTOR = 6
"""Minimum rest after the work, in multiples of its duration: the page has other things to do."""
WAIT_UNTIL_DRAWN = (
    'return await new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true))))'
)
"""Returns once everything sent before has been drawn."""
BROWSER_TIMEOUT = 5.0
"""Seconds to wait for a browser that does not answer: the page may be hidden."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon requested work is done."""

    min_interval: float = MIN_INTERVAL
    max_wait: float = MAX_WAIT
    rest_factor: float = REST_FACTOR


STEPPING = Pace(min_interval=0.06, max_wait=0.08, rest_factor=1)
"""For work that must keep up with a person who steps: at most 100 ms late."""


def create_page_task(place: Element, work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """Run work of the page of `place` in the background; it is cancelled when the page is closed."""
    client = place.client  # held until the work is done: elements have only a weak reference to it
    task = background_tasks.create(work, name=name)
    client.delete_handlers.append(end := task.cancel)
    task.add_done_callback(lambda _: client.delete_handlers.remove(end))
    return task


class Debouncer:
    """Limits how often a page does some work, always doing it once more after the last request.

    Args:
        work: what to do.
        place: an element of the page; pending work is dropped when it is deleted.
        pace: how soon it is done.
    """

    def __init__(self, work: Callable[[], Awaitable[None]], place: Element, pace: Pace | None = None) -> None:
        self._work, self._place, self._pace = work, place, pace or Pace()
        self._next = self._last_request = 0.0
        self._gap = self._pace.max_wait
        self._scheduled = False

    async def request(self) -> None:
        """Request the work, now or soon."""
        now = time.monotonic()
        self._gap, self._last_request = now - self._last_request, now
        if now >= self._next:
            await self._run_now()
        elif not self._scheduled:
            self._scheduled = True
            create_page_task(self._place, self._run_later(), 'run debounced work')

    async def _run_later(self) -> None:
        while not self._place.is_deleted:
            now = time.monotonic()
            quiet, enough = now - self._last_request, min(max(QUIET, 2 * self._gap), self._pace.max_wait)
            if now >= self._next or (quiet >= enough and self._next < math.inf):
                break
            await asyncio.sleep(max(enough - quiet, 0.02))
        self._scheduled = False
        if not self._place.is_deleted:
            with self._place:
                await self._run_now()

    async def _run_now(self) -> None:
        self._next, begun = math.inf, time.monotonic()  # nothing else starts meanwhile
        try:
            await self._work()
        finally:
            now = time.monotonic()
            self._next = now + max(self._pace.min_interval, self._pace.rest_factor * (now - begun))
        if not self._place.is_deleted:
            create_page_task(self._place, self._wait_for_browser(now), 'wait for the browser')

    async def _wait_for_browser(self, begun: float) -> None:
        """Count the time that the browser takes to draw as work, too.

        Do not wait for a browser that is not connected yet: NiceGUI would send it a half-drawn page.
        """
        if not self._place.client.has_socket_connection:
            return
        with contextlib.suppress(TimeoutError):
            await self._place.client.run_javascript(WAIT_UNTIL_DRAWN, timeout=BROWSER_TIMEOUT)
        now = time.monotonic()
        self._next = max(self._next, now + self._pace.rest_factor * (now - begun))
