"""Timers: the time-outs of one run's active states; they stand still while their states are held."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from engine.chart import Chart
from engine.clock import Clock
from engine.plain import said
from engine.records import Event, RunInfo, StatePath
from engine.state import RunState
from engine.view import Ledger

JITTER = 0.05
"""Seconds by which two readings of one deadline may differ."""


@dataclass(slots=True)
class Timer:
    """The time-out of one state: running while it has a task, frozen while it has none."""

    remaining: float
    whole: float
    """What it was set to."""
    started: float = 0.0
    task: asyncio.Task[None] | None = None


class Timers:
    """Sets the time-outs of one run, freezes them, and lets them go on.

    Args:
        chart: which states have one.
        ledger: which states are active, and which are held.
        clock: the source of time.
        current: gives the run's summary and its data.
        post: takes `expired`.
    """

    def __init__(
        self,
        chart: Chart,
        ledger: Ledger,
        clock: Clock,
        current: Callable[[], tuple[RunInfo, RunState]],
        post: Callable[[Event], None],
    ) -> None:
        self._chart, self._ledger, self._clock = chart, ledger, clock
        self._current, self._post = current, post
        self._timers: dict[StatePath, Timer] = {}

    def __bool__(self) -> bool:
        """Whether some state has a time-out."""
        return bool(self._timers)

    @property
    def paths(self) -> tuple[StatePath, ...]:
        """The states that have one."""
        return tuple(self._timers)

    def start(self, path: StatePath) -> None:
        """A state has been entered."""
        seconds = self._seconds(path) if path in self._chart.timed else self._chart.states[path].within
        if seconds is not None:
            self._set(path, max(0.0, seconds))

    def stop(self, path: StatePath) -> asyncio.Task[None] | None:
        """A state has been left. Returns the task that waits for the time, for whoever cancels it."""
        timer = self._timers.pop(path, None)
        return timer.task if timer else None

    def freeze(self) -> None:
        """Those of the states that are held stand still."""
        for path, timer in self._timers.items():
            if timer.task and self._ledger.halts.holds(path):
                timer.task.cancel()
                timer.task = None
                timer.remaining -= self._clock.now() - timer.started

    def wind(self) -> None:
        """Those of the states that are not held go on."""
        for path in self._timers:
            self._wind(path)

    def reset(self) -> None:
        """Those that follow memory are set anew where it says something else now."""
        for path in self._chart.timed:
            seconds = self._seconds(path) if path in self._ledger.entered else None
            timer = self._timers.get(path)
            if seconds is None:
                self._unset(path)
                continue
            if timer is None:
                # One that is over has said so; it begins again only where there is time again.
                if seconds > JITTER:
                    self._set(path, seconds)
                continue
            left = timer.remaining - (self._clock.now() - timer.started if timer.task else 0.0)
            if abs(left - seconds) > JITTER and max(left, seconds) > 0:
                self._set(path, max(0.0, seconds))

    def _set(self, path: StatePath, seconds: float) -> None:
        self._unset(path)
        self._timers[path] = Timer(remaining=seconds, whole=seconds)
        self._wind(path)

    def _unset(self, path: StatePath) -> None:
        task = self.stop(path)
        if task:
            task.cancel()

    def _wind(self, path: StatePath) -> None:
        timer = self._timers[path]
        if timer.task is None and not self._ledger.halts.holds(path):
            timer.started = self._clock.now()
            timer.task = asyncio.get_running_loop().create_task(
                self._expire(path, timer), name=f'{self._current()[0].id}:{path}'
            )

    def _seconds(self, path: StatePath) -> float | None:
        """What the pattern says of how long the state may go on."""
        now, state = self._clock.now(), self._current()[1]
        event = Event(name='', at=path, time=now, ran=self._ledger.ran_at(now))
        try:
            with state.reading():
                seconds = getattr(state.pattern, self._chart.timed[path])(state.memory, event)
            return None if seconds is None else float(seconds)
        except Exception as error:
            problem = f'its time-out {self._chart.timed[path]!r} raised {said(error)}'
            self._post(Event(name='failed', at=path, data={'error': problem}))
            return None

    async def _expire(self, path: StatePath, timer: Timer) -> None:
        since = self._ledger.entered[path][0]
        await self._clock.sleep(timer.remaining)
        del self._timers[path]
        error = f'{path} did not end within {round(timer.whole, 1):g} seconds'
        self._post(Event(name='expired', at=path, since=since, data={'error': error}))
