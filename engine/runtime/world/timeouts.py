"""Timeouts of one run's active states; suspended while their states are held."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from engine.host.clock import HistoryClock
from engine.records import Event, StatePath
from engine.records.jsonable import describe_error
from engine.runtime.activity import LiveRun
from engine.statechart.shape_builder import callback_name

TOLERANCE = 0.05
"""Seconds by which two computations of the same deadline may differ."""


@dataclass(slots=True)
class Timer:
    """The timeout of one state: running if it has a task, otherwise suspended."""

    remaining: float
    duration: float
    """Its full duration."""
    started: float = 0.0
    task: asyncio.Task[None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TimerSnapshot:
    """The remainder of a timeout, for the next owner of its run."""

    path: StatePath
    since: int
    """The step that entered the state."""
    remaining: float
    """Seconds, counted from `at`."""
    at: float | None
    """When it was started; None if it was suspended."""


class Timeouts:
    """Sets, suspends and resumes the timeouts of one run.

    Args:
        run: the run, whose mailbox receives `expired`.
        clock: its clock.
    """

    def __init__(self, run: LiveRun, clock: HistoryClock) -> None:
        self._run, self._clock = run, clock
        self._chart, self._projection = run.chart, run.projection
        self._post = run.mailbox.post
        self._timers: dict[StatePath, Timer] = {}

    def __bool__(self) -> bool:
        """Whether some state has a timeout."""
        return bool(self._timers)

    @property
    def paths(self) -> tuple[StatePath, ...]:
        """The active states that have a timeout, running or suspended."""
        return tuple(self._timers)

    @property
    def deadline(self) -> float | None:
        """When the next running timeout is due; None if there is none."""
        return min(
            (timer.started + timer.remaining for timer in self._timers.values() if timer.task), default=None
        )

    def export(self) -> tuple[TimerSnapshot, ...]:
        """Return the remainder of each, for the run's next owner."""
        return tuple(
            TimerSnapshot(
                path=path,
                since=self._projection.entered[path][0],
                remaining=timer.remaining,
                at=timer.started if timer.task else None,
            )
            for path, timer in self._timers.items()
        )

    def restore(self, snapshots: Sequence[TimerSnapshot]) -> None:
        """Continue the timeouts of visits that have not ended, for their remaining time."""
        for snapshot in snapshots:
            timer = self._timers.get(snapshot.path)
            if timer and self._projection.entered[snapshot.path][0] == snapshot.since:
                if timer.task:
                    timer.task.cancel()
                passed = 0.0 if snapshot.at is None else self._clock.now() - snapshot.at
                timer.remaining, timer.task = max(0.0, snapshot.remaining - passed), None
                self._arm(snapshot.path)

    def start(self, path: StatePath) -> None:
        """Set the timeout of a state that was entered."""
        seconds = self._seconds(path) if path in self._chart.timed else self._chart.states[path].within
        if seconds is not None:
            self._set(path, max(0.0, seconds))

    def stop(self, path: StatePath) -> asyncio.Task[None] | None:
        """Remove the timeout of a state that was left; returns its task for the caller to cancel."""
        timer = self._timers.pop(path, None)
        return timer.task if timer else None

    def suspend(self) -> None:
        """Suspend the timeouts of held states."""
        for path, timer in self._timers.items():
            if timer.task and self._projection.pauses.holds(path):
                timer.task.cancel()
                timer.task = None
                timer.remaining -= self._clock.now() - timer.started

    def resume(self) -> None:
        """Resume the timeouts of states that are not held."""
        for path in self._timers:
            self._arm(path)

    def reset(self) -> None:
        """Reset timeouts that are computed from memory, if their value has changed."""
        for path in self._chart.timed:
            seconds = self._seconds(path) if path in self._projection.entered else None
            timer = self._timers.get(path)
            if seconds is None:
                self._unset(path)
                continue
            if timer is None:
                # It has expired and reported that; it restarts only if there is time again.
                if seconds > TOLERANCE:
                    self._set(path, seconds)
                continue
            left = timer.remaining - (self._clock.now() - timer.started if timer.task else 0.0)
            if abs(left - seconds) > TOLERANCE and max(left, seconds) > 0:
                self._set(path, max(0.0, seconds))

    def _set(self, path: StatePath, seconds: float) -> None:
        self._unset(path)
        self._timers[path] = Timer(remaining=seconds, duration=seconds)
        self._arm(path)

    def _unset(self, path: StatePath) -> None:
        task = self.stop(path)
        if task:
            task.cancel()

    def _arm(self, path: StatePath) -> None:
        timer = self._timers[path]
        if timer.task is None and not self._projection.pauses.holds(path):
            timer.started = self._clock.now()
            timer.task = asyncio.get_running_loop().create_task(
                self._expire(path, timer, self._projection.entered[path][0]),
                name=f'{self._run.info.id}:{path}',
            )

    def _seconds(self, path: StatePath) -> float | None:
        """Return the time the pattern currently allows the state."""
        now = self._clock.now()
        event = Event(name='', at=path, time=now, ran=self._projection.ran_at(now))
        try:
            return self._chart.limit(path, self._run.state, event)
        except Exception as error:
            problem = (
                f'its time-out {callback_name(self._chart.timed[path])!r} raised {describe_error(error)}'
            )
            self._post(Event(name='failed', at=path, data={'error': problem}))
            return None

    async def _expire(self, path: StatePath, timer: Timer, since: int) -> None:
        await self._clock.sleep(timer.remaining)
        del self._timers[path]
        error = f'{path} did not end within {round(timer.duration, 1):g} seconds'
        self._post(Event(name='expired', at=path, since=since, data={'error': error}))
