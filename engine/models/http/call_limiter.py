"""Limits an endpoint's calls over all runs: in flight, per minute, and by pauses after a 429."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from engine.host.clock import Clock, RealClock
from engine.models.http.call_hooks import CallCounts, SharedCall, SharedLimiter
from engine.models.protocol import Waiting
from engine.records import Usage

MAX_PAUSE = 60.0
"""Seconds. If a provider asks for a longer wait, that call fails and the others are not held back."""
DEFAULT_PAUSE = 1.0
"""Seconds to pause when a provider limits the rate without saying for how long."""
FIRST_OUTPUT = 500
"""Output tokens to reserve for a call before any call has completed."""
MINUTE = 60.0


@dataclass(slots=True)
class StartedCall:
    """A call that started within the last minute."""

    at: float
    tokens: int


class CallLimiter:
    """Limits the calls of all runs of this process.

    Args:
        max_running: maximum number of calls in flight.
        clock: measures pauses and minutes.
        requests: maximum number of calls started within any minute; None means no limit.
        tokens: maximum number of tokens they use, input and output; a call that needs more runs alone.
    """

    def __init__(
        self,
        max_running: int,
        clock: Clock | None = None,
        *,
        requests: int | None = None,
        tokens: int | None = None,
    ) -> None:
        self._max_running, self.slots = max_running, asyncio.Semaphore(max_running)
        self.clock = clock or RealClock()
        self._requests, self._tokens = requests, tokens
        self._until = 0.0
        self._started: deque[StartedCall] = deque()
        self._queue: list[Admission] = []
        """Calls that have a slot and wait for a limit, in order of arrival."""
        self._mean_output: float | None = None
        self._tokens_recorded = asyncio.Event()
        """Set, and replaced, when a call's actual tokens are known."""
        self.waiting = self.running = 0
        """Calls that wait for a slot or a limit, and calls that have started."""

    @property
    def counts(self) -> CallCounts:
        """Number of calls waiting and running now."""
        return CallCounts(waiting=self.waiting, running=self.running)

    def admission(
        self, input_tokens: int = 0, most_output: int | None = None, shared: SharedLimiter | None = None
    ) -> Admission:
        """Return an `async with` block around a call.

        Args:
            input_tokens: an estimate of its input; its output is estimated from earlier calls.
            most_output: maximum tokens of output; None means no limit.
            shared: replaces this process's pauses and limits per minute.
        """

        def estimate() -> int:
            output = FIRST_OUTPUT if self._mean_output is None else round(self._mean_output)
            return input_tokens + min(output, most_output or output)

        return Admission(self, estimate, shared.call(estimate) if shared else None)

    def pause(self, seconds: float | None, shared: SharedLimiter | None = None) -> None:
        """Start no calls for this many seconds: the provider has limited the rate."""
        wished = DEFAULT_PAUSE if seconds is None else seconds
        if wished <= MAX_PAUSE:
            self._until = max(self._until, self.clock.now() + wished)
            if shared:
                shared.pause(wished)

    def wait_for_slot(self) -> Waiting | None:
        """Return the wait for a slot; None if one is free."""
        return Waiting(reason=f'{self._max_running} calls at a time') if self.slots.locked() else None

    def enqueue(self, call: Admission) -> None:
        """Add a call to the queue for a limit."""
        self._queue.append(call)

    def dequeue(self, call: Admission) -> None:
        """Remove a call from the queue, if it is there."""
        if call in self._queue:
            self._queue.remove(call)

    def start(self, call: Admission) -> StartedCall:
        """Count a call as started now."""
        self.dequeue(call)
        self.running += 1
        started = StartedCall(self.clock.now(), call.estimate())
        if self._requests or self._tokens:
            self._started.append(started)
        return started

    def record_tokens(self, started: StartedCall, tokens: int) -> None:
        """Replace a call's estimate with its actual tokens, and wake waiting calls: some may start early."""
        started.tokens = tokens
        self._tokens_recorded.set()
        self._tokens_recorded = asyncio.Event()

    def update_mean_output(self, output_tokens: int) -> None:
        """Update the mean output with that of one more call."""
        mean = output_tokens if self._mean_output is None else self._mean_output
        self._mean_output = mean + (output_tokens - mean) * LATEST_CALL_WEIGHT

    async def sleep(self, seconds: float) -> None:
        """Sleep, but wake early if a call reports its tokens."""
        await self.clock.sleep_until(self._tokens_recorded, seconds)

    def next_wait(self, call: Admission) -> Waiting | None:
        """Return how long a queued call must wait behind those ahead of it, and why; None if it may start."""
        now = self.clock.now()
        while self._started and self._started[0].at <= now - MINUTE:
            self._started.popleft()
        window = Window(self._requests, self._tokens, self._started)
        start, reason = max(now, self._until), 'it has asked for a pause' if self._until > now else ''
        for queued in self._queue:
            tokens = queued.estimate()
            at, limit = window.earliest(start, tokens)
            start, reason = (at, limit) if at > start else (start, reason)
            if queued is call:
                break
            window.add(start, tokens)
        return Waiting(seconds=start - now, reason=reason) if start > now else None


LATEST_CALL_WEIGHT = 0.2
"""The weight of the latest call in the mean output of an endpoint's calls."""


@dataclass
class Window:
    """The calls of the last minute, and those planned for the next."""

    requests: int | None
    tokens: int | None
    started: Iterable[StartedCall]
    _calls: deque[StartedCall] = field(init=False)
    _sum: int = field(init=False)

    def __post_init__(self) -> None:
        self._calls = deque(self.started)
        self._sum = sum(call.tokens for call in self._calls)

    def earliest(self, at: float, tokens: int) -> tuple[float, str]:
        """Return when a call may start, not before `at`, and the limit that decides it."""
        reason = ''
        while self._calls:
            if self._calls[0].at + MINUTE <= at:
                self._sum -= self._calls.popleft().tokens
            elif self.requests and len(self._calls) >= self.requests:
                at = self._calls[0].at + MINUTE
                reason = f'{self.requests:,} request{"s" if self.requests > 1 else ""} a minute'
            elif self.tokens and self._sum and self._sum + tokens > self.tokens:
                at, reason = self._calls[0].at + MINUTE, f'{self.tokens:,} tokens a minute'
            else:
                break
        return at, reason

    def add(self, at: float, tokens: int) -> None:
        """Count a call of `tokens` that starts at `at`."""
        self._calls.append(StartedCall(at, tokens))
        self._sum += tokens


class Admission:
    """Admits one call as soon as the limits allow."""

    def __init__(
        self, limiter: CallLimiter, estimate: Callable[[], int], shared: SharedCall | None = None
    ) -> None:
        self._limiter, self.estimate, self._shared = limiter, estimate, shared
        self.waited = False
        self._has_slot = False
        self._started: StartedCall | None = None

    async def __aenter__(self) -> Self:
        return self

    async def wait_to_start(self) -> AsyncGenerator[Waiting]:
        """Wait until the call may start, yielding each wait before it begins."""
        limiter = self._limiter
        limiter.waiting += 1
        try:
            if wait := limiter.wait_for_slot():
                self.waited = True
                yield wait
            await limiter.slots.acquire()
            self._has_slot = True
            async with aclosing(
                self._shared.wait_to_start() if self._shared else self._wait_locally()
            ) as waits:
                async for wait in waits:
                    self.waited = True
                    yield wait
            self._started = limiter.start(self)
        finally:
            limiter.waiting -= 1

    async def _wait_locally(self) -> AsyncGenerator[Waiting]:
        """Wait for the limits of this process."""
        limiter = self._limiter
        limiter.enqueue(self)
        previous: tuple[str, int] | None = None
        while wait := limiter.next_wait(self):
            current = wait.reason, round(limiter.clock.now() + wait.seconds)
            if current != previous:
                yield wait
            previous = current
            await limiter.sleep(wait.seconds)

    def record_usage(self, usage: Usage) -> None:
        """Replace the estimate with the actual usage, and learn from it for the estimates of other calls."""
        if usage.source != 'missing':
            self.record_tokens(usage.total)
            self._limiter.update_mean_output(usage.output)

    def record_tokens(self, tokens: int) -> None:
        """Replace the estimate with these tokens."""
        if self._started is not None:
            self._limiter.record_tokens(self._started, tokens)
            if self._shared:
                self._shared.record_tokens(tokens)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._limiter.dequeue(self)
        if self._shared:
            self._shared.end()
        if self._has_slot:
            self._limiter.slots.release()
        if self._started:
            self._limiter.running -= 1
