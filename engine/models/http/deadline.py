"""Call timeouts, reset by decoded events and not by bytes that only keep the connection alive."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Self

from engine.errors import ModelError
from engine.models.protocol import Timeouts


class Deadline:
    """Time left to wait for the next event; counts only time spent waiting, not the reader's own.

    Belongs to the task that creates it. One timer serves all waits of a call: a stream has thousands, and
    hardly any comes near its limit, while `asyncio.timeout` sets and cancels a timer for each. The timer is
    moved if a wait may end before it is due; if it fires in a wait that has time left, it is set again.
    """

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._loop = asyncio.get_running_loop()
        self._now = self._loop.time
        self._started = self._began = self._until = self._now()
        """When the call began, and when the present wait began and has to end."""
        self._waited = 0.0
        """Seconds waited since the last event, without the present wait."""
        self._events = False
        self._task: asyncio.Task[object] | None = None
        """The task that is waiting."""
        self._cancelling = 0
        self._expired = False
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        """When the timer fires."""

    @property
    def left(self) -> float:
        """Seconds until the call should be aborted."""
        longest = self._timeouts.idle if self._events else self._timeouts.first
        whole = self._timeouts.total - (self._now() - self._started)
        return max(0.0, min(longest - self._waited, whole))

    def note_event(self) -> None:
        """Record that an event has arrived."""
        self._events, self._waited = True, 0.0

    def wait(self, longest: float | None = None) -> Self:
        """Return a `with` block around a wait; it raises `ModelError` when time runs out."""
        left = self.left
        self._began = self._now()
        self._until = self._began + (left if longest is None else min(longest, left))
        return self

    def __enter__(self) -> None:
        self._task = asyncio.current_task()
        assert self._task is not None
        self._cancelling, self._expired = self._task.cancelling(), False
        if self._timer is None or self._until < self._due:
            self._set_timer()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        assert task is not None
        self._waited += self._now() - self._began
        # As `asyncio.timeout` does: a cancellation from elsewhere goes on.
        if self._expired and task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
            raise self._timeout_error() from None

    def close(self) -> None:
        """Stop the timer: the call is over."""
        if self._timer:
            self._timer.cancel()
            self._timer = None

    def _set_timer(self) -> None:
        self.close()
        self._due = self._until
        self._timer = self._loop.call_at(self._due, self._check)

    def _check(self) -> None:
        """End the present wait if its time is up."""
        self._timer = None
        if self._task is None:
            return
        if self._until > self._due:
            self._set_timer()
        else:
            self._expired = True
            self._task.cancel()

    def _timeout_error(self) -> ModelError:
        """Return an error that says which timeout passed: total, idle or first. It may be retried."""
        timeouts = self._timeouts
        if self._now() - self._started >= timeouts.total:
            reason = f'it took more than {timeouts.total:g} s'
        elif self._events:
            reason = f'it sent nothing more for {timeouts.idle:g} s'
        else:
            reason = f'it sent nothing for {timeouts.first:g} s'
        return ModelError(reason, kind='timeout', retryable=True)
