"""When a page looks for updates: at once after a quiet moment, and a limited number of times a second."""

from __future__ import annotations

import asyncio
import math

LOOKS_A_SECOND = 15
"""How often a page gets updates: streamed text is collected in between."""
PERIOD = 1 / LOOKS_A_SECOND
TOGETHER = 0.012
"""Seconds before a look for what comes close behind: a reply, the call of a tool that it asks for, and the
steps of agents that go on at the same moment. With a third of it, most looks were followed by another one."""


class Pace:
    """Paces the looks of one page.

    A step is shown at once although text is streamed all the time: its look is made in advance, and text
    then waits so much longer that there are no more looks a second.

    Args:
        idle: seconds until a look is due although nothing was heard.
    """

    def __init__(self, *, idle: float = PERIOD) -> None:
        self._idle = idle
        self._next = -math.inf
        """When a look is next that is not made in advance."""
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
            self._due = loop.time() + self._idle
            if self._alarm:
                self._alarm.cancel()
            self._waiting = self._alarm = None

    def hear(self, *, step: bool = False) -> None:
        """There is something to look at."""
        due = max(self._next - PERIOD if step else self._next, asyncio.get_running_loop().time() + TOGETHER)
        if due < self._due:
            self._due = due
            if self._waiting:
                self._set_alarm()

    def record_look(self, *, found: bool, again: float = math.inf) -> None:
        """A look is being made, and found something or nothing; another is due `again` seconds from now."""
        now = asyncio.get_running_loop().time()
        if found:
            self._next = max(self._next, now) + PERIOD
        self._due = max(self._next, now + min(self._idle, again))

    def _set_alarm(self) -> None:
        if self._alarm:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(self._due, self._end)

    def _end(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)
