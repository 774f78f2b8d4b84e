"""Acts: starts, times, retries and stops the activities of one run's active states."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Literal

from engine.activity import Activity
from engine.chart import Chart
from engine.failure import ending
from engine.forks.playback import Player
from engine.host import Host
from engine.path import is_active, parent_of, within
from engine.plain import plain
from engine.records import Delta, Event, RunInfo, StatePath, Transition
from engine.state import RunState
from engine.timer import Timers
from engine.view import Ledger

STOP_SECONDS = 5.0
"""How long a cancelled activity may take to clean up before the run goes on without it."""

Kind = Literal['text', 'reasoning', 'reset']


class Work:
    """The activities and time-outs of one run.

    Args:
        chart: what is invoked where.
        ledger: which states are active, since when.
        host: the clock, the models and tools, and who listens to streamed text.
        current: gives the run's summary and its data.
        post: takes the endings.
        player: ends work in a fork as it is recorded.
    """

    def __init__(  # noqa: PLR0913  (what work is made of)
        self,
        chart: Chart,
        ledger: Ledger,
        host: Host,
        current: Callable[[], tuple[RunInfo, RunState]],
        post: Callable[[Event], None],
        player: Player | None = None,
    ) -> None:
        self._chart, self._ledger, self._host = chart, ledger, host
        self._clock = host.services.clock
        self._current, self._post = current, post
        self._tasks: dict[StatePath, asyncio.Task[None]] = {}
        self._timers = Timers(chart, ledger, self._clock, current, post)
        self._held: list[StatePath] = []
        """States whose activity starts when they are held no more, or the budget is extended."""
        self._player, self.kept = player, list[StatePath]()
        """Of the states whose work has begun: those for which the player ends it."""
        self._delayed: set[StatePath] = set()
        """States whose activity waits for its next attempt."""
        self._stopping: set[asyncio.Task[None]] = set()
        """Cancelled, and not over yet: the loop itself holds a task only weakly."""

    @property
    def busy(self) -> bool:
        """Whether anything may still happen by itself."""
        return bool(self._tasks or self._timers or self._held or self.kept)

    @property
    def under_way(self) -> tuple[StatePath, ...]:
        """States whose activity is at work now, not waiting for its next attempt."""
        return tuple(path for path in self._tasks if path not in self._delayed)

    @property
    def timed(self) -> bool:
        """Whether some state has a time-out."""
        return bool(self._timers)

    def cut(self) -> None:
        """Break off what is under way: it starts again if it may."""
        for path in self.under_way:
            self._cancel(self._tasks.pop(path))
            self._held.append(path)

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
        self._timers.reset()
        return stopped

    def control(self, event: Event) -> None:
        """Carry out a control event that has been journaled."""
        match event.name:
            case 'pause':
                self._timers.freeze()
            case 'resume' | 'extend':
                self._go_on()
                self._timers.wind()
            case 'step' if event.data.get('how') in ('over', 'out'):
                self._go_on()
                self._timers.wind()
            case 'step':
                self._timers.freeze()
                self._step(event.at)
            case 'recover':
                # As after a restart: the active states' activities begin again, and so do their time-outs.
                for active in self._ledger.entered:
                    self._start(StatePath(active))
            case 'retry' if event.played:
                if event.at in self.kept:
                    self.kept.remove(event.at)
                self._held.append(event.at)
                self._go_on()
            case 'retry':
                self._delayed.add(event.at)
                self._tasks[event.at] = self._spawn(
                    event.at, self._later(event.at, float(event.data['delay']))
                )

    async def stop(self) -> None:
        """Cancel everything, and wait until it has stopped."""
        self._held.clear()
        for path in [*self._tasks, *self._timers.paths]:
            self._stop(path)
        await self.settle(list(self._stopping))

    async def settle(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait for cancelled tasks to clean up, within bounds."""
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)

    def _start(self, path: StatePath) -> None:
        self._timers.start(path)
        if self._chart.states[path].invokes:
            self._held.append(path)
            self._go_on()

    def _stop(self, path: StatePath) -> list[asyncio.Task[None]]:
        for listed in (self._held, self.kept):
            if path in listed:
                listed.remove(path)
        tasks = [task for task in (self._tasks.pop(path, None), self._timers.stop(path)) if task]
        self._delayed.discard(path)
        for task in tasks:
            self._cancel(task)
        return tasks

    def _cancel(self, task: asyncio.Task[None]) -> None:
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        task.cancel()

    def _may_perform(self, path: StatePath) -> bool:
        """Whether what is held and the budget let work start in a state."""
        return not self._ledger.halts.holds(path) and self._ledger.meter.starts(self._ledger.entered[path][0])

    def _go_on(self) -> None:
        """Start what may start of what was held."""
        for path in [path for path in self._held if self._may_perform(path)]:
            self._release(path)

    def _step(self, at: StatePath) -> None:
        """Start the next piece of work in a region that is held, and no more."""
        starts = self._ledger.meter.starts
        due = (path for path in self._held if within(path, at) and starts(self._ledger.entered[path][0]))
        if path := next(due, None):
            self._release(path)

    def _release(self, path: StatePath) -> None:
        self._held.remove(path)
        self._perform(path)

    def let_go(self) -> None:
        """The player ends no work of those that it was kept for: it is done, where it may be."""
        self._held, self.kept = [*self._held, *self.kept], []
        self._go_on()

    def _perform(self, path: StatePath) -> None:
        if self._player and self._player.way(path, self._current()[1]) in ('keep', 'stop'):
            self.kept.append(path)
            return
        self._tasks[path] = self._spawn(path, self._attempt(path))

    def _spawn(self, path: StatePath, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work, name=f'{self._current()[0].id}:{path}')

    async def _later(self, path: StatePath, seconds: float) -> None:
        await self._clock.sleep(seconds)
        self._delayed.discard(path)
        if not self._may_perform(path):
            del self._tasks[path]
            self._held.append(path)
        else:
            await self._attempt(path)

    async def _attempt(self, path: StatePath) -> None:
        task = asyncio.current_task()
        assert task is not None
        info, state = self._current()
        since, attempt = self._ledger.entered[path][0], self._ledger.attempts.get(path, 1)
        try:
            if self._player:
                await self._player.files(self._host.services.workspaces, info.id)
            activity = Activity(
                run=self._player.cast(info, path, state) if self._player else info,
                path=path,
                attempt=attempt,
                since=since,
                services=self._host.services,
                stream=self._stream(info, path, task),
                repeats=partial(self._repeats, path, attempt),
            )
            result = await self._chart.activity(path, state)(activity)
            data = plain(result if isinstance(result, Mapping) else {'value': result})
        except GeneratorExit:
            raise
        except BaseException as error:  # A SystemExit in a task would end the process, and all other runs.
            if task.cancelling():
                raise
            event = self._failed(path, since, attempt, error)
        else:
            event = Event(name='done', at=path, since=since, attempt=attempt, data=data)
        if self._tasks.get(path) is task:  # Otherwise it was cancelled and took no notice.
            del self._tasks[path]
            self._post(event)

    def _repeats(self, path: StatePath, attempt: int, error: BaseException) -> bool:
        retry = self._chart.retries.get(path)
        return retry is not None and retry.again(attempt, error)

    def _failed(self, path: StatePath, since: int, attempt: int, error: BaseException) -> Event:
        seed = f'{self._current()[0].seed}:{path}'
        visit = Event(name='failed', at=path, since=since, attempt=attempt)
        return ending(visit, error, self._chart.retries.get(path), seed)

    def _stream(
        self, info: RunInfo, path: StatePath, task: asyncio.Task[None]
    ) -> Callable[[str, Kind], None]:
        home = parent_of(path) or path

        def stream(text: str, kind: Kind = 'text') -> None:
            if self._tasks.get(path) is task:  # It may be cancelled, and still talk.
                self._host.feed.publish(Delta(run=info.id, path=home, text=text, kind=kind))

        return stream
