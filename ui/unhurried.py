"""Work that need not keep up: done at once where there was none lately, else when it is quiet again."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable

from nicegui import ui
from nicegui.element import Element

QUIET = 0.12
"""Seconds without a further wish after which work that waits is done."""
MOST = 6
"""Times as long as the work takes, it rests at least: the page has other things to do."""


class Unhurried:
    """What a page does at most so often, and always once more after the last time that it was asked for.

    Args:
        work: what is done.
        pause: seconds between two times, while it is asked for all the time.
        place: an element of the page: with it, what is still to be done goes away.
    """

    def __init__(self, work: Callable[[], Awaitable[None]], pause: float, place: Element) -> None:
        self._work, self._pause, self._place = work, pause, place
        self._next = self._asked = 0.0
        self._waits = False

    async def ask(self) -> None:
        """Do it now, or soon."""
        self._asked = time.monotonic()
        if self._asked >= self._next:
            await self._do()
        elif not self._waits:
            self._wait(QUIET)

    def _wait(self, seconds: float) -> None:
        self._waits = True
        with self._place:
            ui.timer(seconds, self._late, once=True)

    async def _late(self) -> None:
        self._waits = False
        now = time.monotonic()
        quiet = now - self._asked
        if now >= self._next or (quiet >= QUIET and self._next < math.inf):
            await self._do()
        else:
            self._wait(max(QUIET - quiet, 0.02))

    async def _do(self) -> None:
        self._next, begun = math.inf, time.monotonic()  # nothing else begins meanwhile
        try:
            await self._work()
        finally:
            now = time.monotonic()
            self._next = now + max(self._pause, MOST * (now - begun))
