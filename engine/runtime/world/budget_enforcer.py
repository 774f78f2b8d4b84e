"""BudgetEnforcer: keeps one live run within its budget, and ends it gracefully when it is spent."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from engine.host.clock import Clock
from engine.journal.projection import RunProjection
from engine.records import Event, Status
from engine.records.payloads import ExhaustedData
from engine.runtime.control_events import ALARM
from engine.runtime.world.activity_runner import ActivityRunner


class BudgetEnforcer:
    """Decides which events a run's budget requires.

    Args:
        projection: the run's usage so far.
        runner: the activities in progress.
        clock: the source of time.
        post: receives `ALARM`.
    """

    def __init__(
        self, projection: RunProjection, runner: ActivityRunner, clock: Clock, post: Callable[[Event], None]
    ) -> None:
        self._projection, self._runner, self._clock, self._post = projection, runner, clock, post
        self._alarm_at: float | None = None
        self._alarm: asyncio.Task[None] | None = None

    def due_events(self) -> list[Event]:
        """Return warnings and the limit reached, to be journaled with the step that caused them."""
        projection = self._projection
        if projection.meter.budget is None or projection.status.ended:
            return []
        return projection.meter.due_events(projection.usage, self._since())

    def next_event(self, waiting: bool) -> Event | None:
        """Return the next event of a spent budget, or None while there is something to wait for.

        Work in progress may finish, until it is interrupted at the end of the grace period. Then the chart
        receives `exhausted`, and its shutdown gets the same grace period. Then the run is aborted.

        Args:
            waiting: whether the mailbox has events not handled yet.
        """
        projection, meter = self._projection, self._projection.meter
        if not meter.exhausted or projection.paused or projection.status.ended or waiting:
            return None
        over = meter.is_grace_over(self._since())
        if not meter.closing and (over or not self._runner.running_states):
            self._runner.interrupt()
            return self._budget_event('exhausted')
        if meter.closing and (
            over or not (self._runner.running_states or self._runner.has_timeouts or projection.waiting)
        ):
            return self._budget_event('abort')
        return None

    def schedule_alarm(self) -> None:
        """Set the alarm for the next warning or limit due by time alone; a no-op if that has not changed."""
        projection, at = self._projection, None
        if projection.meter.budget is not None and projection.status is Status.RUNNING:
            due = projection.meter.next_due()
            at = None if due is None else projection.time + due - projection.meter.running
        if at is None or self._alarm_at is None or abs(at - self._alarm_at) > PRECISION:
            self.stop()
            if at is not None:
                self._alarm_at = at
                self._alarm = asyncio.get_running_loop().create_task(self._trigger_alarm(at))

    @property
    def alarm(self) -> float | None:
        """When the next warning or limit is due by time alone; None if there is none."""
        return self._alarm_at

    def stop(self) -> None:
        """Clear the alarm."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm_at = self._alarm = None

    async def _trigger_alarm(self, at: float) -> None:
        await self._clock.sleep(at - self._clock.now())
        self._alarm_at = self._alarm = None
        self._post(ALARM)

    def _since(self) -> float:
        """Return the seconds of running since the last step."""
        running = self._projection.status is Status.RUNNING
        return max(0.0, self._clock.now() - self._projection.time) if running else 0.0

    def _budget_event(self, name: str) -> Event:
        meter = self._projection.meter
        data: ExhaustedData = {'budget': meter.exhausted, 'error': meter.reason}
        return Event(name=name, data=data)


PRECISION = 1e-4
"""Seconds; rounding errors in sums of times are smaller."""
