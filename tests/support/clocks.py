"""A clock for whole runs: time passes only while everything waits for it, however long real work takes."""

from __future__ import annotations

import asyncio
import heapq
import itertools
import math

from engine.host.clock import Clock, settle

NOW = 1_700_000_000.0


class IdleClock(Clock):
    """Simulated time that advances to the next sleeper as soon as no work is in progress.

    Real test runs, file writes and subprocesses take no simulated time. Work in progress is read from the
    loop's tasks: an activity (named `<run>:<state>`) that does not sleep on this clock, or a busy mailbox.

    Args:
        now: the initial time.
        longest: sleeps of more seconds than this never end.
    """

    def __init__(self, now: float = NOW, *, longest: float = math.inf) -> None:
        self._now, self._longest = now, longest
        self._order = itertools.count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []
        self._asleep: set[asyncio.Task[None] | None] = set()
        self._driver: asyncio.Task[None] | None = None

    def now(self) -> float:
        """Return the simulated seconds since 1970."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Sleep until nothing else is left to do before then."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + max(0.0, seconds), next(self._order), future))
        task = asyncio.current_task()
        self._asleep.add(task)
        if self._driver is None or self._driver.done():
            self._driver = asyncio.ensure_future(self._drive())
        try:
            await future
        finally:
            self._asleep.discard(task)

    async def _drive(self) -> None:
        while self._sleepers:
            await settle(5)
            if self._busy():
                await asyncio.sleep(0.001)
                continue
            if self._sleepers[0][0] - self._now > self._longest:
                await asyncio.sleep(0.001)  # A wait this long is for a person, played by the test.
                continue
            due, _, future = heapq.heappop(self._sleepers)
            if not future.done():
                self._now = max(self._now, due)
                future.set_result(None)
                await settle(5)

    def _busy(self) -> bool:
        return any(
            task not in self._asleep and (':' in task.get_name() or _is_mailbox(task))
            for task in asyncio.all_tasks()
            if not task.done()
        )


def _is_mailbox(task: asyncio.Task[object]) -> bool:
    return getattr(task.get_coro(), '__qualname__', '').startswith('Mailbox.')
