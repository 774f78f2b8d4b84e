"""Clocks, real and simulated: the engine's only source of time."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import time
from collections.abc import Callable
from functools import partial
from typing import Protocol

from typing_extensions import override

BOOT: int | None = getattr(time, 'CLOCK_BOOTTIME', None)
"""The clock that keeps running while the machine sleeps, on systems that have one."""
_monotonic: Callable[[], float] = time.monotonic if BOOT is None else partial(time.clock_gettime, BOOT)
"""Returns seconds since an arbitrary moment; setting the machine's clock does not change them."""


class Clock(Protocol):
    """Where the engine reads the time and waits."""

    def now(self) -> float:
        """Return the time in seconds since 1970."""

    async def sleep(self, seconds: float) -> None:
        """Wait; can be cancelled."""

    async def sleep_until(self, event: asyncio.Event, seconds: float) -> None:
        """Wait until the event is set, but no longer than `seconds`."""
        waits = [asyncio.ensure_future(self.sleep(seconds)), asyncio.ensure_future(event.wait())]
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for wait in waits:
                wait.cancel()


class RealClock(Clock):
    """The machine's time at creation, advanced by a monotonic clock from then on.

    Changing the machine's clock neither takes time from runs nor gives them any. Time the machine spends
    asleep counts.
    """

    def __init__(self) -> None:
        self._start = time.time() - _monotonic()

    @override
    def now(self) -> float:
        return self._start + _monotonic()

    @override
    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class HistoryClock:
    """A clock for one run: never earlier than its last step, even if the machine's clock was set back.

    It advances at the normal rate from there, so timeouts and budgets keep their duration.

    Args:
        clock: the clock of all runs.
        latest: returns the time of the run's last step.
    """

    def __init__(self, clock: Clock, latest: Callable[[], float]) -> None:
        self._clock, self._latest = clock, latest
        self.ahead = 0.0
        """Seconds by which it is ahead of the shared clock."""
        self.sleep, self.sleep_until = clock.sleep, clock.sleep_until

    def now(self) -> float:
        """Return the time in seconds since 1970."""
        now = self._clock.now()
        self.ahead = max(self.ahead, self._latest() - now)
        return now + self.ahead


class SimulatedClock(Clock):
    """A clock that moves only when `advance` is called: a ten-minute delay takes no time to test."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self._now = now
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._order = itertools.count()

    def now(self) -> float:
        """Return the simulated time in seconds since 1970."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Wait until the clock has been advanced by `seconds`."""
        if seconds <= 0:
            await asyncio.sleep(0)
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), future))
        await future

    async def advance(self, seconds: float) -> None:
        """Advance by `seconds`, waking sleepers in order of their deadlines and letting each of them act."""
        end = self._now + seconds
        while self._sleepers and self._sleepers[0][0] <= end:
            due, _, future = heapq.heappop(self._sleepers)
            self._now = max(self._now, due)
            if not future.done():
                future.set_result(None)
                await settle()
        self._now = end
        await settle()


async def settle(turns: int = 50) -> None:
    """Let every task proceed that is not waiting for time to pass."""
    for _ in range(turns):
        await asyncio.sleep(0)
