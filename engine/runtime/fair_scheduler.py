"""FairScheduler: limits how long runs use the event loop before pages and requests get their turn."""

from __future__ import annotations

import asyncio
from collections import deque

from engine.host.clock import Clock

MAX_ROUND_SECONDS = 0.005
"""Seconds of one round of the event loop after which further work waits for another round."""


class FairScheduler:
    """Spreads the work of many runs over rounds of the event loop.

    The event loop runs all ready tasks in one round and handles nothing else meanwhile: with 1,000 runs at
    work, a click waited for a second. Work that many runs may do at the same time therefore asks for a turn
    before each piece. While rounds are short it gets one immediately; otherwise turns are given in order of
    arrival.

    Args:
        clock: measures rounds. A simulated one stands still, so nothing waits.
    """

    def __init__(self, clock: Clock) -> None:
        self._now = clock.now
        self._began = 0.0
        """When this round began."""
        self._counting = False
        """Whether anything has asked for a turn in this round."""
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._width = 1
        """How many of those waiting get a turn in the next round."""
        self._turn_taken = False
        """Whether one of them has had its turn in this round."""
        self._deferred = 0
        """How many of them have been deferred to a later round, because this one has become long."""

    async def wait_for_turn(self) -> None:
        """Wait until there is room in a round."""
        if not self._counting:
            self._count()
            return
        place = len(self._waiting)
        if not place and self._has_room():
            return
        while True:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.insert(place, future)
            await future
            if not self._turn_taken or self._has_room():  # One gets its turn even in a long round.
                self._turn_taken = True
                return
            place, self._deferred = self._deferred, self._deferred + 1

    def _has_room(self) -> bool:
        return self._now() - self._began <= MAX_ROUND_SECONDS

    def _count(self) -> None:
        self._counting, self._turn_taken, self._deferred = True, False, 0
        self._began = self._now()
        asyncio.get_running_loop().call_soon(self._next_round)

    def _next_round(self) -> None:
        self._counting = False
        if not self._waiting:
            self._width = 1
            return
        self._width = self._width + 1 if self._has_room() else max(1, self._width // 2)
        for _ in range(min(self._width, len(self._waiting))):
            future = self._waiting.popleft()
            if not future.done():  # Otherwise its task was cancelled.
                future.set_result(None)
        self._count()  # Last, so that the new round ends only after those have had their turn.
