"""Gives the journal's threads a turn while the event loop is saturated.

CPython's interpreter lock is unfair to them then. A loop with something always ready releases the lock for
about a microsecond per round (in `select`), takes it back before a waiting thread has woken up, and, since it
did release it, is never asked to: measured on 3.11, a thread waited for as long as the loop stayed busy, over
20 seconds. So while someone awaits a thread and no wait completes, the loop sleeps for an instant every two
milliseconds.
"""

from __future__ import annotations

import asyncio
import time
from typing import TypeVar

T = TypeVar('T')

PERIOD = 0.002
"""Seconds between two turns. Most waits end before the first."""
TURN = 0.0001
"""Seconds the loop sleeps: enough for a thread to wake up and take the lock."""


class GilYielder:
    """Takes turns on one event loop."""

    def __init__(self) -> None:
        self._begun = 0
        self._ended = 0
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, future: asyncio.Future[T]) -> T:
        """Await a future that a thread will set."""
        self._begun += 1
        if self._timer is None:
            self._again()
        try:
            return await future
        finally:
            self._ended += 1

    def _again(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(PERIOD, self._turn, self._ended)

    def _turn(self, ended: int) -> None:
        self._timer = None
        if self._ended == self._begun:
            return
        if self._ended == ended:
            time.sleep(TURN)
        self._again()
