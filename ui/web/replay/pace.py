"""Paces the refreshes of a page: immediately after a quiet period, and at a limited rate otherwise."""

from __future__ import annotations

import asyncio
import math

REFRESHES_PER_SECOND = 15
"""Maximum updates of a page per second; streamed text is collected in between."""
PERIOD = 1 / REFRESHES_PER_SECOND
BATCH_SECONDS = 0.012
"""Seconds by which a refresh is delayed to include what follows closely: a reply, the tool call it asks for,
and the steps of agents that continue at the same moment. With a third of this, most refreshes were followed
by another."""


class Pace:
    """Paces the refreshes of one page.

    A step is shown immediately even while text is streaming: its refresh is brought forward, and text then
    waits longer, so that the rate of refreshes stays the same.

    Args:
        idle: seconds until a refresh is due without any news.
    """

    def __init__(self, *, idle: float = PERIOD) -> None:
        self._idle = idle
        self._next = -math.inf
        """When the next refresh is due, unless it is brought forward."""
        self._due = 0.0
        self._waiting: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None

    async def wait(self) -> None:
        """Wait until the next refresh is due."""
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

    def notify(self, *, step: bool = False) -> None:
        """Schedule a refresh for something new; that for a `step` is brought forward."""
        due = max(
            self._next - PERIOD if step else self._next, asyncio.get_running_loop().time() + BATCH_SECONDS
        )
        if due < self._due:
            self._due = due
            if self._waiting:
                self._set_alarm()

    def record_refresh(self, *, has_updates: bool, within: float = math.inf) -> None:
        """Record a refresh, and whether it showed anything new; the next is due `within` seconds at most."""
        now = asyncio.get_running_loop().time()
        if has_updates:
            self._next = max(self._next, now) + PERIOD
        self._due = max(self._next, now + min(self._idle, within))

    def _set_alarm(self) -> None:
        if self._alarm:
            self._alarm.cancel()
        self._alarm = asyncio.get_running_loop().call_at(self._due, self._end)

    def _end(self) -> None:
        if self._waiting and not self._waiting.done():
            self._waiting.set_result(None)
