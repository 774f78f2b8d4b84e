"""ActivityRunner: starts, times, retries and stops the activities of one run's active states."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from operator import add
from typing import Any

from engine.errors import TRANSIENT_KINDS, FilesUnavailable, ModelError
from engine.host.clock import HistoryClock
from engine.journal.usage_records import by_model, usage_to_dict
from engine.records import Delta, DeltaKind, Event, RunInfo, StatePath, Transition
from engine.records.jsonable import describe_error, to_jsonable
from engine.records.payloads import FailureData, StepData, payload
from engine.records.shape import is_active, is_within, parent_of
from engine.runtime.activity import Activity, LiveRun, PendingQuestion
from engine.runtime.recorder import keep_trying
from engine.runtime.world.timeouts import Timeouts, TimerSnapshot
from engine.statechart.retry import Retry

ENDED = ('done', 'failed')
"""The final states of an agent's chart."""
STOP_SECONDS = 5.0
"""How long a cancelled activity may take to clean up before the run continues without it."""

PerformWork = Callable[[Activity], Awaitable[Any]]


class ActivityRunner:
    """The activities and timeouts of one run.

    Args:
        run: the run, whose mailbox receives the events with which activities and timeouts end.
        clock: its clock.
    """

    def __init__(self, run: LiveRun, clock: HistoryClock) -> None:
        self._run, self._clock = run, clock
        self._chart, self._projection, self._context = run.chart, run.projection, run.context
        self._post = run.mailbox.post
        self._tasks: dict[StatePath, asyncio.Task[None]] = {}
        self._timers = Timeouts(run, clock)
        self._held: list[StatePath] = []
        """States whose activity starts once they are released or the budget is extended."""
        self._delayed: set[StatePath] = set()
        """States whose activity waits for its next attempt."""
        self.withheld = False
        """Whether no more work starts here, for example because this process is about to close."""
        self._stopping: set[asyncio.Task[None]] = set()
        """Cancelled but unfinished tasks: the event loop holds only weak references to them."""

    @property
    def busy(self) -> bool:
        """Whether anything may still happen without outside input."""
        return bool(self._tasks or self._timers or self._held)

    @property
    def running_states(self) -> tuple[StatePath, ...]:
        """States whose activity is running now, not waiting for its next attempt."""
        return tuple(path for path in self._tasks if path not in self._delayed)

    @property
    def has_timeouts(self) -> bool:
        """Whether some state has a timeout."""
        return bool(self._timers)

    @property
    def is_resting(self) -> bool:
        """Whether no activity is running or waiting for its next attempt."""
        return not self._tasks

    @property
    def deadline(self) -> float | None:
        """When the next timeout is due; None if there is none."""
        return self._timers.deadline

    def export_timers(self) -> tuple[TimerSnapshot, ...]:
        """Return the remaining timeouts."""
        return self._timers.export()

    def restore_timers(self, timers: Sequence[TimerSnapshot]) -> None:
        """Continue the timeouts kept by the run's previous owner."""
        self._timers.restore(timers)

    def withhold_work(self) -> None:
        """Start nothing new; running activities continue."""
        self.withheld = True

    async def wait_until_idle(self) -> None:
        """Wait until all running activities have ended."""
        if running := [self._tasks[path] for path in self.running_states]:
            await asyncio.wait(running)

    def interrupt(self) -> None:
        """Interrupt running activities; they restart once they may."""
        for path in self.running_states:
            self._cancel(self._tasks.pop(path))
            self._held.append(path)

    def apply(self, steps: Sequence[Transition]) -> list[asyncio.Task[None]]:
        """Stop the work of states that were left, and start that of states entered.

        Returns:
            The cancelled tasks.
        """
        entered: dict[StatePath, None] = {}
        stopped: list[asyncio.Task[None]] = []
        for step in steps:
            for path in step.left:
                entered.pop(path, None)
                stopped.extend(self._stop(path))
                self._end_session(path)
            entered.update(dict.fromkeys(step.entered))
        for path in entered:
            if path.rpartition('.')[2] in ENDED:
                self._end_session(parent_of(path))
            if is_active(path, self._projection.active):
                self._start(path)
        self._timers.reset()
        return stopped

    def control(self, event: Event) -> None:
        """Carry out a journaled control event."""
        match event.name:
            case 'pause':
                self._timers.suspend()
            case 'resume' | 'extend':
                self._start_held_work()
                self._timers.resume()
            case 'step' if payload(StepData, event).get('how') in ('over', 'out'):
                self._start_held_work()
                self._timers.resume()
            case 'step':
                self._timers.suspend()
                self._step(event.at)
            case 'recover':
                # As after a restart: the activities and timeouts of active states start over.
                for active in self._projection.entered:
                    self._start(StatePath(active))
            case 'retry':
                self._delayed.add(event.at)
                delay = payload(FailureData, event)['delay']
                later = self._retry_later(event.at, self._since(event.at), delay)
                self._tasks[event.at] = self._spawn(event.at, later)

    async def stop(self) -> None:
        """Cancel everything, and wait until it has stopped."""
        self._held.clear()
        for path in [*self._tasks, *self._timers.paths]:
            self._stop(path)
        await self.wait_cancelled(list(self._stopping))
        await self._context.services.sessions.close(self._run.info.id)

    async def wait_cancelled(self, tasks: list[asyncio.Task[None]]) -> None:
        """Wait a limited time for cancelled tasks to clean up."""
        if tasks:
            await asyncio.wait(tasks, timeout=STOP_SECONDS)

    def _start(self, path: StatePath) -> None:
        self._timers.start(path)
        if self._chart.states[path].invokes:
            self._held.append(path)
            self._start_held_work()

    def _stop(self, path: StatePath) -> list[asyncio.Task[None]]:
        if path in self._held:
            self._held.remove(path)
        tasks = [task for task in (self._tasks.pop(path, None), self._timers.stop(path)) if task]
        self._delayed.discard(path)
        for task in tasks:
            self._cancel(task)
        return tasks

    def _end_session(self, path: StatePath) -> None:
        """Kill the external agent working in a state, if there is one."""
        self._context.services.sessions.end(self._run.info.id, path)

    def _cancel(self, task: asyncio.Task[None]) -> None:
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
        task.cancel()

    def _may_perform(self, path: StatePath) -> bool:
        """Return whether pauses and the budget let work start in a state."""
        if self.withheld or self._projection.pauses.holds(path):
            return False
        return self._projection.meter.allows_start(self._projection.entered[path][0])

    def _start_held_work(self) -> None:
        """Start all held work that may start."""
        for path in [path for path in self._held if self._may_perform(path)]:
            self._release(path)

    def _step(self, at: StatePath) -> None:
        """Start just the next piece of work in a held region."""
        if self.withheld:
            return
        starts = self._projection.meter.allows_start
        due = (
            path for path in self._held if is_within(path, at) and starts(self._projection.entered[path][0])
        )
        if path := next(due, None):
            self._release(path)

    def _release(self, path: StatePath) -> None:
        self._held.remove(path)
        self._perform(path)

    def _perform(self, path: StatePath) -> None:
        self._tasks[path] = self._spawn(path, self._attempt(path))

    def _since(self, path: StatePath) -> int:
        """Return the step that entered an active state; 0 if it is being left."""
        return self._projection.entered.get(path, (0, 0.0))[0]

    def _spawn(self, path: StatePath, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work, name=f'{self._run.info.id}:{path}')

    async def _retry_later(self, path: StatePath, since: int, seconds: float) -> None:
        await self._clock.sleep(seconds)
        if self._since(path) != since:
            return  # The step that leaves this visit is being journaled.
        self._delayed.discard(path)
        if not self._may_perform(path):
            del self._tasks[path]
            self._held.append(path)
        else:
            await self._attempt(path)

    def _attempt(self, path: StatePath) -> Coroutine[Any, Any, None]:
        """Return the next attempt of a visit, with the run's present data: it may change before the start."""
        return self._carry_out(
            self._work_for(path),
            run=self._info_for(path),
            path=path,
            attempt=self._projection.attempts.get(path, 1),
            since=self._since(path),
        )

    def _work_for(self, path: StatePath) -> PerformWork:
        try:
            return self._chart.activity(path, self._run.state)
        except Exception as error:
            return partial(_fail, error)

    def _info_for(self, path: StatePath) -> RunInfo:
        """Return the run's summary for the work of a state."""
        return self._run.info

    async def _carry_out(
        self, work: PerformWork, *, run: RunInfo, path: StatePath, attempt: int, since: int
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        try:
            await self._context.services.scheduler.wait_for_turn()
            activity = Activity(
                run=run,
                path=path,
                attempt=attempt,
                since=since,
                services=self._context.services,
                stream=self._stream(run, path, task),
                will_retry=partial(self._will_retry, path, attempt),
            )
            # The files of a run that has moved here may exist only in shared storage. While that is
            # unavailable, the work is repeated from the start, as after a crash.
            perform = partial(work, activity)
            result = await keep_trying(self._context, run.id, perform, (FilesUnavailable,))
            name = 'done'
            if isinstance(result, PendingQuestion):
                name, result = 'asked', result.data
            data = self._context.services.redact(
                to_jsonable(result if isinstance(result, Mapping) else {'value': result})
            )
        except GeneratorExit:
            raise
        except BaseException as error:  # A SystemExit in a task would end the process with all its runs.
            if task.cancelling():
                raise
            event = self._failure(path, since, attempt, error)
        else:
            event = Event(name=name, at=path, since=since, attempt=attempt, data=data)
        if self._tasks.get(path) is task:  # Otherwise it was cancelled but carried on.
            del self._tasks[path]
            self._post(event)

    def _will_retry(self, path: StatePath, attempt: int, error: BaseException) -> bool:
        retry = self._chart.retries.get(path)
        return retry is not None and retry.should_retry(attempt, error)

    def _failure(self, path: StatePath, since: int, attempt: int, error: BaseException) -> Event:
        seed = f'{self._run.info.seed}:{path}'
        visit = Event(name='failed', at=path, since=since, attempt=attempt)
        event = failure_event(visit, error, self._chart.retries.get(path), seed)
        return replace(event, data=self._context.services.redact(event.data))

    def _stream(
        self, info: RunInfo, path: StatePath, task: asyncio.Task[None]
    ) -> Callable[[str, DeltaKind], None]:
        home = parent_of(path) or path

        def stream(text: str, kind: DeltaKind = 'text') -> None:
            if self._tasks.get(path) is task:  # A cancelled activity may still send text.
                self._context.feed.publish(Delta(run=info.id, path=home, text=text, kind=kind))

        return stream


async def _fail(error: Exception, activity: Activity) -> None:
    raise error


RETRACTED = 'what it had said until then is taken back'


def failure_event(visit: Event, error: BaseException, retry: Retry | None, seed: str) -> Event:
    """Return the event for an error: `retry` if another attempt is due, otherwise `failed`.

    Args:
        visit: a `failed` event with the state, its visit and the attempt that raised.
        error: what was raised.
        retry: the activity's retry policy, if any.
        seed: seeds the random part of the delay before the next attempt.
    """
    data: FailureData = {
        'error': describe_error(error),
        'kind': getattr(error, 'kind', type(error).__name__),
    }
    if isinstance(error, ModelError):
        if error.status:
            data['status'] = error.status
        if error.code:
            data['code'] = error.code
        if error.request_id:
            data['request_id'] = error.request_id
        if error.spent:
            data['usage'] = usage_to_dict(reduce(add, error.spent.values()))
            data['spent'] = by_model(error.spent)
        if error.shown and error.kind in TRANSIENT_KINDS:
            data['error'] += f'; {RETRACTED}'
    if retry is None or not retry.should_retry(visit.attempt, error):
        return replace(visit, data=data)
    delay = retry.after(visit.attempt, seed=seed, retry_after=getattr(error, 'retry_after', None))
    return replace(visit, name='retry', attempt=visit.attempt + 1, data={**data, 'delay': round(delay, 3)})
