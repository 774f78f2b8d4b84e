"""Gives the journal's threads a turn while the event loop is saturated.

CPython's interpreter lock is not fair to them then. A loop that has always something ready lets go of the
lock for about a microsecond per round (in `select`), takes it back before a waiting thread has woken up, and,
since it did let go, is never asked to: measured on 3.11, a thread waited for as long as the loop stayed busy,
for 20 seconds and more. So while somebody awaits a thread and nobody's wait ends, the loop stands still for
an instant every two milliseconds.
"""

from __future__ import annotations

import asyncio
import time
from typing import TypeVar

T = TypeVar('T')

PERIOD = 0.002
"""Seconds between two turns. Most waits are over before the first."""
TURN = 0.0001
"""Seconds the loop stands still: enough for a thread to wake up and take the lock."""


class Turns:
    """For one event loop."""

    def __init__(self) -> None:
        self._begun = 0
        self._ended = 0
        self._timer: asyncio.TimerHandle | None = None

    async def wait(self, future: asyncio.Future[T]) -> T:
        """Await what a thread will set."""
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
