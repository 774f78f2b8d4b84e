"""When a page looks for updates: at once after a quiet moment, and a limited number of times a second."""

from __future__ import annotations

import asyncio
import math

LOOKS_A_SECOND = 15
"""How often a page gets updates: streamed text is collected in between."""
TOGETHER = 0.004
"""Seconds before a look for what comes close behind: a reply, and the call of a tool that it asks for."""


class Pace:
    """Paces the looks of one page.

    Steps and text are paced apart: a step is shown at once although text is streamed all the time.
    """

    def __init__(self) -> None:
        self._found = self._found_step = -math.inf
        """When a look found something last, and when a step."""
        self._due = 0.0
        self._waiting: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    async def wait(self) -> None:
        """Return when it is time for the next look, at the latest when one is due anyway."""
        loop = asyncio.get_running_loop()
        self._waiting = loop.create_future()
        self._set_alarm()
        try:
            await self._waiting
        finally:
            self._due = loop.time() + 1 / LOOKS_A_SECOND
            if self._alarm:
                self._alarm.cancel()
            self._waiting = self._alarm = None

    def hear(self, *, step: bool = False) -> None:
        """There is something to look at."""
        earliest = (self._found_step if step else self._found) + 1 / LOOKS_A_SECOND
        due = max(earliest, asyncio.get_running_loop().time() + TOGETHER)
        if due < self._due:
            self._due = due
            if self._waiting:
                self._set_alarm()

    def looked(self, *, found: bool, step: bool) -> None:
        """A look is being made, and found a step, or something else, or nothing."""
        now = asyncio.get_running_loop().time()
        self._found = now if found else self._found
        self._found_step = now if step else self._found_step

    def _set_alarm(self) -> None:
        if self._alarm:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(self._due, self._end)

    def _end(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)
