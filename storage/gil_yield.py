"""GIL yielding: lets the journal's threads run while the event loop is saturated.

CPython's GIL is unfair to them in that case. A loop that always has a callback ready releases the GIL for
about a microsecond per round (in `select`) and re-acquires it before a waiting thread has woken up; since it
did release the GIL, it is never forced to. Measured on 3.11, a thread waited for as long as the loop stayed
busy, over 20 seconds. So while a thread is awaited and no wait completes, the loop sleeps briefly every two
milliseconds.
"""

from __future__ import annotations

import asyncio
import time
from typing import TypeVar

T = TypeVar('T')

YIELD_INTERVAL = 0.002
"""Seconds between two yields. Most waits end before the first."""
YIELD_SECONDS = 0.0001
"""Seconds the loop sleeps: enough for a thread to wake up and acquire the GIL."""


class GilYielder:
    """Yields the GIL from one event loop."""

    def __init__(self) -> None:
        self._begun = 0
        self._ended = 0
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, future: asyncio.Future[T]) -> T:
        """Await a future that a thread resolves."""
        self._begun += 1
        if self._timer is None:
            self._schedule()
        try:
            return await future
        finally:
            self._ended += 1

    def _schedule(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(YIELD_INTERVAL, self._yield, self._ended)

    def _yield(self, ended: int) -> None:
        self._timer = None
        if self._ended == self._begun:
            return
        if self._ended == ended:
            time.sleep(YIELD_SECONDS)
        self._schedule()
