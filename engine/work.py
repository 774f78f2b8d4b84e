"""Acts: starts, times, retries and stops the activities of one run's active states."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from engine.activity import Activity, Retry, Services
from engine.chart import Chart, is_active
from engine.feed import Feed
from engine.records import Delta, Event, RunInfo, StatePath, Transition
from engine.state import RunState
from engine.view import Ledger

STOP_SECONDS = 5.0
"""How long a cancelled activity may take to clean up before the run goes on without it."""


@dataclass(slots=True)
class Timer:
    """The time-out of one state: running while it has a task, frozen while it has none."""

    remaining: float
    started: float = 0.0
    task: asyncio.Task[None] | None = None


class Work:
    """The activities and time-outs of one run."""

    def __init__(
        self,
        chart: Chart,
        ledger: Ledger,
        services: Services,
        feed: Feed,
        current: Callable[[], tuple[RunInfo, RunState]],
        post: Callable[[Event], None],
    ) -> None:
        self._chart, self._ledger, self._services, self._feed = chart, ledger, services, feed
        self._current, self._post = current, post
        self._tasks: dict[StatePath, asyncio.Task[None]] = {}
        self._timers: dict[StatePath, Timer] = {}
        self._held: list[StatePath] = []
        """States whose activity starts when the run is resumed."""

    @property
    def busy(self) -> bool:
        """Whether anything may still happen by itself."""
        return bool(self._tasks or self._timers or self._held)

    def follow(self, steps: list[Transition]) -> list[asyncio.Task[None]]:
        """Stop what belongs to the states that were left, start what belongs to those entered.

        Returns:
            The tasks that were cancelled.
        """
        entered: dict[StatePath, None] = {}
        stopped: list[asyncio.Task[None]] = []
        for step in steps:
            for path in step.left:
                entered.pop(path, None)
                stopped.extend(self._stop(path))
            entered.update(dict.fromkeys(step.entered))
        for path in entered:
            if is_active(path, self._ledger.active):
                self._start(path)
        return stopped

    def control(self, event: Event) -> None:
        """Carry out a control event that has been journaled."""
        match event.name:
            case 'pause':
                self._freeze()
            case 'resume':
                self._release(len(self._held))
                for path in self._timers:
                    self._wind(path)
            case 'step':
                self._freeze()
                self._release(1)
            case 'recover':
                # As after a restart: the active states' activities begin again, and so do their time-outs.
                for path in self._ledger.entered:
                    self._start(StatePath(path))
            case 'retry':
                self._tasks[event.at] = self._spawn(
                    event.at, self._later(event.at, float(event.data['delay']))
                )

    async def stop(self) -> None:
        """Cancel everything, and wait until it has stopped."""
        self._held.clear()
        await self.settle([task for path in [*self._tasks, *self._timers] for task in self._stop(path)])

    async def settle(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for cancelled tasks to clean up, within bounds."""
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)

    def _start(self, path: StatePath) -> None:
        shape = self._chart.states[path]
        if shape.within is not None:
            self._timers[path] = Timer(remaining=shape.within)
            if not self._ledger.paused:
                self._wind(path)
        if shape.invokes and self._ledger.paused:
            self._held.append(path)
        elif shape.invokes:
            self._perform(path)

    def _stop(self, path: StatePath) -> list[asyncio.Task[None]]:
        if path in self._held:
            self._held.remove(path)
        timer = self._timers.pop(path, None)
        tasks = [task for task in (self._tasks.pop(path, None), timer.task if timer else None) if task]
        for task in tasks:
            task.cancel()
        return tasks

    def _freeze(self) -> None:
        for timer in self._timers.values():
            if timer.task:
                timer.task.cancel()
                timer.task = None
                timer.remaining -= self._services.clock.now() - timer.started

    def _wind(self, path: StatePath) -> None:
        timer = self._timers[path]
        if timer.task is None:
            timer.started = self._services.clock.now()
            timer.task = self._spawn(path, self._expire(path, timer.remaining))

    def _release(self, count: int) -> None:
        released, self._held = self._held[:count], self._held[count:]
        for path in released:
            self._perform(path)

    def _perform(self, path: StatePath) -> None:
        self._tasks[path] = self._spawn(path, self._attempt(path))

    def _spawn(self, path: StatePath, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work, name=f'{self._current()[0].id}:{path}')

    async def _expire(self, path: StatePath, seconds: float) -> None:
        since = self._ledger.entered[path][0]
        await self._services.clock.sleep(seconds)
        error = f'{path} did not end within {seconds:g} seconds'
        self._post(Event(name='expired', at=path, since=since, data={'error': error}))

    async def _later(self, path: StatePath, seconds: float) -> None:
        await self._services.clock.sleep(seconds)
        if self._ledger.paused:
            del self._tasks[path]
            self._held.append(path)
        else:
            await self._attempt(path)

    async def _attempt(self, path: StatePath) -> None:
        since, attempt = self._ledger.entered[path][0], self._ledger.attempts.get(path, 1)
        info, state = self._current()
        try:
            result = await self._chart.activity(path, state)(self._activity(info, path, since, attempt))
            data = to_jsonable_python(result if isinstance(result, Mapping) else {'value': result})
        except Exception as error:
            event = self._failure(info, path, since, attempt, error)
        else:
            event = Event(name='done', at=path, since=since, attempt=attempt, data=data)
        self._tasks.pop(path, None)
        self._post(event)

    def _failure(self, info: RunInfo, path: StatePath, since: int, attempt: int, error: Exception) -> Event:
        retry: Retry | None = self._chart.retries.get(path)
        problem = str(error) or type(error).__name__
        data: dict[str, Any] = {'error': problem, 'kind': getattr(error, 'kind', type(error).__name__)}
        if retry is None or attempt >= retry.attempts or not getattr(error, 'retryable', True):
            return Event(name='failed', at=path, since=since, attempt=attempt, data=data)
        delay = retry.after(attempt, seed=f'{info.seed}:{path}', asked=getattr(error, 'retry_after', None))
        data['delay'] = round(delay, 3)
        return Event(name='retry', at=path, since=since, attempt=attempt + 1, data=data)

    def _activity(self, info: RunInfo, path: StatePath, since: int, attempt: int) -> Activity:
        home = StatePath(path.rpartition('.')[0] or path)

        def stream(text: str, kind: Literal['text', 'reasoning', 'reset'] = 'text') -> None:
            self._feed.publish(Delta(run=info.id, path=home, text=text, kind=kind))

        return Activity(
            run=info, path=path, attempt=attempt, since=since, services=self._services, stream=stream
        )
