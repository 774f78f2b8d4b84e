"""Work that need not keep up: done at once where there was none lately, else when it is quiet again."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
from collections.abc import Awaitable, Callable

from nicegui import background_tasks
from nicegui.element import Element

PAUSE = 0.4
"""Seconds between two times at least, while it is asked for all the time."""
QUIET, LONGEST = 0.12, 1.0
"""Seconds without a further wish after which work that waits is done: at least, and at most. Between them it
is twice the time that lay between the last two wishes: slow ones are not taken for the last."""
MOST = 6
"""Times as long as the work takes, it rests at least: the page has other things to do."""
DRAWN = 'return await new Promise((done) => requestAnimationFrame(() => setTimeout(() => done(true))))'
"""Answers when what was sent before has been drawn."""
PATIENCE = 5.0
"""Seconds after which a browser that does not answer is not waited for: it may be hidden."""


class Unhurried:
    """What a page does at most so often, and always once more after the last time that it was asked for.

    Args:
        work: what is done.
        place: an element of the page: with it, what is still to be done goes away.
    """

    def __init__(self, work: Callable[[], Awaitable[None]], place: Element) -> None:
        self._work, self._place = work, place
        self._next = self._asked = 0.0
        self._gap = LONGEST
        self._waits = False

    async def ask(self) -> None:
        """Do it now, or soon."""
        now = time.monotonic()
        self._gap, self._asked = now - self._asked, now
        if now >= self._next:
            await self._do()
        elif not self._waits:
            self._waits = True
            background_tasks.create(self._later(), name='draw what need not keep up')

    async def _later(self) -> None:
        while not self._place.is_deleted:
            now = time.monotonic()
            quiet, enough = now - self._asked, min(max(QUIET, 2 * self._gap), LONGEST)
            if now >= self._next or (quiet >= enough and self._next < math.inf):
                break
            await asyncio.sleep(max(enough - quiet, 0.02))
        self._waits = False
        if not self._place.is_deleted:
            with self._place:
                await self._do()

    async def _do(self) -> None:
        self._next, begun = math.inf, time.monotonic()  # nothing else begins meanwhile
        try:
            await self._work()
        finally:
            now = time.monotonic()
            self._next = now + max(PAUSE, MOST * (now - begun))
        background_tasks.create(self._rest(now), name='wait for the browser')

    async def _rest(self, begun: float) -> None:
        """What the browser takes to draw it is work, too."""
        with contextlib.suppress(TimeoutError):
            await self._place.client.run_javascript(DRAWN, timeout=PATIENCE)
        now = time.monotonic()
        self._next = max(self._next, now + MOST * (now - begun))
