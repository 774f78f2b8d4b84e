"""The gate of an endpoint: how many calls may be under way, and a pause that all of them keep."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from engine.clock import Clock, RealClock

LONGEST_PAUSE = 60.0
"""Seconds; who is told to wait for longer fails, and the others find out for themselves."""
PAUSE = 1.0
"""Seconds, where a provider says that it is too much and not for how long."""


class Gate:
    """Lets calls through.

    Args:
        at_once: how many may be under way.
        clock: what the pause is measured with.
    """

    def __init__(self, at_once: int, clock: Clock | None = None) -> None:
        self._places = asyncio.Semaphore(at_once)
        self._clock = clock or RealClock()
        self._until = 0.0

    @asynccontextmanager
    async def passing(self) -> AsyncIterator[None]:
        """Wait for a place, and for the end of the pause; the place is kept until the block is left."""
        async with self._places:
            while (left := self._until - self._clock.now()) > 0:
                await self._clock.sleep(left)
            yield

    def pause(self, seconds: float | None) -> None:
        """Let nobody begin for so long: the provider has said that it is too much."""
        wished = PAUSE if seconds is None else seconds
        if wished <= LONGEST_PAUSE:
            self._until = max(self._until, self._clock.now() + wished)
