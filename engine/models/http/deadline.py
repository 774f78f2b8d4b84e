"""Call timeouts, reset by decoded events and not by bytes that only keep the connection alive."""

from __future__ import annotations

import asyncio

from engine.errors import ModelError
from engine.models.protocol import Timeouts


class Deadline:
    """Time left to wait for the next event; counts only time spent waiting, not the reader's own."""

    def __init__(self, timeouts: Timeouts) -> None:
        self._timeouts = timeouts
        self._now = asyncio.get_running_loop().time
        self._started = self._now()
        self._waited = 0.0
        self._events = False

    @property
    def left(self) -> float:
        """Seconds until the call should be aborted."""
        longest = self._timeouts.idle if self._events else self._timeouts.first
        whole = self._timeouts.total - (self._now() - self._started)
        return max(0.0, min(longest - self._waited, whole))

    def note_event(self) -> None:
        """Record that an event has arrived."""
        self._events, self._waited = True, 0.0

    def wait(self, longest: float | None = None) -> Wait:
        """Return an `async with` block around a wait; it raises `ModelError` when time runs out."""
        return Wait(self, self.left if longest is None else min(longest, self.left))

    def timeout_error(self) -> ModelError:
        """Return an error that says which timeout passed: total, idle or first. It may be retried."""
        timeouts = self._timeouts
        if self._now() - self._started >= timeouts.total:
            reason = f'it took more than {timeouts.total:g} s'
        elif self._events:
            reason = f'it sent nothing more for {timeouts.idle:g} s'
        else:
            reason = f'it sent nothing for {timeouts.first:g} s'
        return ModelError(reason, kind='timeout', retryable=True)

    def add_wait(self, seconds: float) -> None:
        """Count seconds waited without an event."""
        self._waited += seconds


class Wait:
    """Limits one wait for an event, and counts its seconds towards the deadline."""

    def __init__(self, deadline: Deadline, seconds: float) -> None:
        self._deadline, self._timeout = deadline, asyncio.timeout(seconds)
        self._now = asyncio.get_running_loop().time

    async def __aenter__(self) -> None:
        self._began = self._now()
        await self._timeout.__aenter__()

    async def __aexit__(self, *error: object) -> None:
        self._deadline.add_wait(self._now() - self._began)
        try:
            await self._timeout.__aexit__(*error)  # type: ignore[arg-type]
        except TimeoutError:
            raise self._deadline.timeout_error() from None
