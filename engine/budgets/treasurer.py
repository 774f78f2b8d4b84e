"""Treasurer: keeps one live run within its budget, and ends it gracefully when that is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.clock import Clock
from engine.control import ALARM
from engine.records import Event, Status
from engine.view import Ledger
from engine.work import Work


class Treasurer:
    """Says what the budget calls for.

    Args:
        ledger: what has been used.
        work: what is under way.
        clock: the source of time.
        post: takes `ALARM`.
    """

    def __init__(self, ledger: Ledger, work: Work, clock: Clock, post: Callable[[Event], None]) -> None:
        self._ledger, self._work, self._clock, self._post = ledger, work, clock, post
        self._at: float | None = None
        self._alarm: asyncio.Task[None] | None = None

    def due(self) -> list[Event]:
        """Warnings, and the limit that is reached: to be journaled with the step that led there."""
        ledger = self._ledger
        if ledger.meter.budget is None or ledger.status.ended:
            return []
        return ledger.meter.due(ledger.usage, self._since())

    def closing(self, letters: bool) -> Event | None:
        """What a spent budget leads to next, or None while there is still something to wait for.

        What is under way ends, or is cut off when the grace is over; then the chart is told (`exhausted`),
        and its shutdown has the same grace; then the run is aborted.

        Args:
            letters: whether the mailbox has something that was not looked at.
        """
        ledger, meter = self._ledger, self._ledger.meter
        if not meter.exhausted or ledger.paused or ledger.status.ended or letters:
            return None
        over = meter.over(self._since())
        if not meter.closing and (over or not self._work.under_way):
            self._work.cut()
            return self._told('exhausted')
        if meter.closing and (over or not (self._work.under_way or self._work.timed or ledger.waiting)):
            return self._told('abort')
        return None

    def wind(self) -> None:
        """Set the alarm for what is due next by time alone; costs nothing while that stays the same."""
        ledger, at = self._ledger, None
        if ledger.meter.budget is not None and ledger.status is Status.RUNNING:
            due = ledger.meter.next()
            at = None if due is None else ledger.time + due - ledger.meter.running
        if at is None or self._at is None or abs(at - self._at) > PRECISION:
            self.stop()
            if at is not None:
                self._at = at
                self._alarm = asyncio.get_running_loop().create_task(self._ring(at))

    def stop(self) -> None:
        """Take the alarm off."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._at = self._alarm = None

    async def _ring(self, at: float) -> None:
        await self._clock.sleep(at - self._clock.now())
        self._at = self._alarm = None
        self._post(ALARM)

    def _since(self) -> float:
        """Seconds of running since the last step."""
        running = self._ledger.status is Status.RUNNING
        return max(0.0, self._clock.now() - self._ledger.time) if running else 0.0

    def _told(self, name: str) -> Event:
        meter = self._ledger.meter
        return Event(name=name, data={'budget': meter.exhausted, 'error': meter.reason})


PRECISION = 1e-4
"""Seconds; sums of times differ by less."""
