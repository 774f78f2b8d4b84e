"""Limits of endpoints, shared by all processes that use one database.

For each endpoint, the processes share one entry in the journal. It has the number of running calls per
process, whether calls wait there, and the calls started within the last minute. A process starts a call only
after it has written it to the entry. If two processes have read the same entry, one writes it and the other
reads it again. One write covers all calls that begin and end at the same time.

The machines' clocks are assumed to agree within a second.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engine import LocalConductor
from engine.errors import EntryChanged, JournalError
from engine.host.clock import Clock
from engine.journal import Documents, Entry
from engine.models import Endpoint, Waiting

KIND: Final = 'endpoint calls'
MINUTE: Final = 60
RENEWAL: Final = 5.0
"""Seconds between heartbeats of a process with calls."""
LEASE: Final = 15.0
"""Seconds after its last heartbeat until a process is considered dead and its calls ended."""
POLL_SECONDS: Final = 0.25
"""Average seconds between reads of the entry while calls wait for other processes' calls."""
MAX_BACKOFF: Final = 0.02
"""Maximum seconds until the entry is read again after a lost race with another process."""
OUTAGE_SECONDS: Final = 1.0
"""Seconds between attempts to reach an unavailable database."""


def share_limits(conductor: LocalConductor) -> None:
    """Make a conductor's models share their limits with all processes that use the same database."""
    limiters: dict[str, EndpointLimiter] = {}

    def share(endpoint: Endpoint) -> EndpointLimiter:
        limiter = limiters.get(endpoint.name)
        if limiter is None:
            limiter = EndpointLimiter(conductor.journal.documents, conductor.owner, conductor.clock, endpoint)
            limiters[endpoint.name] = limiter
        limiter.endpoint = endpoint  # Its limits may have been changed meanwhile.
        return limiter

    conductor.catalog.registry.hooks.share = share


@dataclass(slots=True)
class CallReport:
    """A process's report on its calls."""

    running: int
    waiting: bool
    """Whether calls are waiting for these limits."""
    seen: float
    """Time of its last heartbeat."""


@dataclass(slots=True)
class StartedCalls:
    """The calls and tokens started within one second."""

    calls: int = 0
    tokens: int = 0


@dataclass(slots=True)
class SharedState:
    """The contents of the entry."""

    processes: dict[str, CallReport] = field(default_factory=dict)
    started: dict[int, StartedCalls] = field(default_factory=dict)
    """Started calls by second, for the last minute."""
    until: float = 0.0
    """Time until which no calls start, because the provider has limited the rate."""

    @classmethod
    def of(cls, body: Mapping[str, Any], now: float) -> SharedState:
        """Return the valid part of an entry; nothing if it is unreadable or the clock was set back since."""
        try:
            if any(int(second) > now + LEASE for second in body['started']):
                return cls()
            return cls(
                processes={
                    name: CallReport(int(running), bool(waiting), float(seen))
                    for name, (running, waiting, seen) in body['processes'].items()
                    if abs(now - seen) < LEASE
                },
                started={
                    int(second): StartedCalls(int(calls), int(tokens))
                    for second, (calls, tokens) in body['started'].items()
                    if expiry_of(int(second)) > now
                },
                until=float(body['until']),
            )
        except (KeyError, TypeError, ValueError, AttributeError):
            return cls()

    def to_json(self) -> dict[str, Any]:
        """The body of the entry."""
        return {
            'processes': {
                name: [state.running, state.waiting, state.seen] for name, state in self.processes.items()
            },
            'started': {str(at): [counts.calls, counts.tokens] for at, counts in self.started.items()},
            'until': self.until,
        }

    def wait(self, endpoint: Endpoint, tokens: int, process: str, now: float) -> Waiting | None:
        """Return how long a process's next call has to wait and why; None if it may start."""
        if self.until > now:
            return Waiting(seconds=self.until - now, reason='it has asked for a pause')
        others = [state for name, state in self.processes.items() if name != process]
        mine = self.processes[process].running
        if sum(state.running for state in self.processes.values()) >= endpoint.at_once:
            return Waiting(reason=f'{endpoint.at_once} calls at a time, in all processes')
        # Fairness: processes with fewer running calls come first, so that none can starve the others.
        if any(other.waiting and other.running < mine for other in others):
            return Waiting(reason='calls of other processes come first')
        calls = sum(counts.calls for counts in self.started.values())
        used = sum(counts.tokens for counts in self.started.values())
        full, limit = '', ''
        if endpoint.requests_per_minute and calls >= endpoint.requests_per_minute:
            full, limit = 'requests', f'{endpoint.requests_per_minute:,}'
        elif endpoint.tokens_per_minute and used and used + tokens > endpoint.tokens_per_minute:
            full, limit = 'tokens', f'{endpoint.tokens_per_minute:,}'
        if not full:
            return None
        return Waiting(
            seconds=expiry_of(min(self.started)) - now, reason=f'{limit} {full} a minute, in all processes'
        )

    def start(self, process: str, tokens: int, now: float) -> None:
        """Count a call as started now."""
        self.processes[process].running += 1
        second = self.started.setdefault(int(now), StartedCalls())
        second.calls += 1
        second.tokens += tokens

    def correct(self, corrections: Iterable[tuple[int, int]]) -> None:
        """Add corrections to the tokens counted by second."""
        for second, tokens in corrections:
            if second in self.started:
                self.started[second].tokens += tokens


def expiry_of(second: int) -> int:
    """Return when calls started within a second stop counting, including those at its very end."""
    return second + 1 + MINUTE


class EndpointLimiter:
    """One endpoint's limits. While there are calls, one task reads and writes its entry."""

    def __init__(self, documents: Documents, process: str, clock: Clock, endpoint: Endpoint) -> None:
        self.endpoint = endpoint
        self._documents, self._process, self._clock = documents, process, clock
        self._waiting: deque[EndpointCall] = deque()
        self._running = 0
        self._corrections: list[tuple[int, int]] = []
        """Seconds, with the error in the estimated tokens of the calls started in them."""
        self._until = 0.0
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def call(self, estimate: Callable[[], int]) -> EndpointCall:
        """Create a call with an estimate of its tokens, which may improve while it waits."""
        return EndpointCall(self, estimate)

    def pause(self, seconds: float) -> None:
        """Start no calls for this many seconds, in any process."""
        self._until = max(self._until, self._clock.now() + seconds)
        self._wake()

    def enqueue(self, call: EndpointCall) -> None:
        """Let a call start as soon as possible."""
        self._waiting.append(call)
        self._wake()

    def remove(self, call: EndpointCall) -> None:
        """Remove a call that has ended or no longer waits."""
        if call.started is None:
            self._waiting.remove(call)
        else:
            self._running -= 1
        self._wake()

    def correct(self, second: int, tokens: int) -> None:
        """Correct the tokens of the calls started in a second; written with the next report."""
        self._corrections.append((second, tokens))

    def _wake(self) -> None:
        self._changed.set()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._exchange_reports(), name=f'limits of {self.endpoint.name}')

    async def _exchange_reports(self) -> None:
        """Exchange reports with the other processes until there is nothing to report."""
        while self._changed.is_set() or self._waiting or self._running:
            self._changed.clear()
            try:
                wait = await self._exchange()
            except EntryChanged:
                self._changed.set()
                await self._clock.sleep(random.uniform(0, MAX_BACKOFF))
            except JournalError:
                self._notify_waiting(Waiting(reason='its limits cannot be read while the database is away'))
                self._changed.set()
                await self._clock.sleep(OUTAGE_SECONDS)
            else:
                if self._waiting or self._running:
                    await self._clock.sleep_until(self._changed, wait)

    async def _exchange(self) -> float:
        """Read the entry, let calls start, and write it; return the seconds until the next exchange.

        Raises:
            JournalError: nothing was written, and no call starts.
        """
        fresh = Entry(kind=KIND, key=self.endpoint.name)
        entry = await self._documents.get(KIND, self.endpoint.name) or fresh
        now = self._clock.now()
        state = SharedState.of(entry.body, now)
        report, paused = state.processes.get(self._process), self._until > state.until
        corrections = len(self._corrections)
        state.correct(self._corrections)
        state.until = max(state.until, self._until)
        mine = state.processes[self._process] = CallReport(self._running, waiting=False, seen=now)
        admitted: list[EndpointCall] = []
        wait: Waiting | None = None
        for call in self._waiting:
            call.tokens = call.estimate()
            wait = state.wait(self.endpoint, call.tokens, self._process, now)
            if wait:
                mine.waiting = True
                break
            state.start(self._process, call.tokens, now)
            admitted.append(call)
        if not (mine.running or mine.waiting):
            del state.processes[self._process]
        if admitted or corrections or paused or not _is_current(report, mine, now):
            await self._documents.write([replace(entry, body=state.to_json())])
        del self._corrections[:corrections]
        for call in admitted:
            if not call.is_over:  # It may be cancelled during the write: the next exchange reports that.
                self._waiting.remove(call)
                self._running += 1
                call.start(int(now))
        if wait is None:
            return RENEWAL
        self._notify_waiting(wait)
        return min(wait.seconds or POLL_SECONDS, RENEWAL) * random.uniform(0.5, 1.5)

    def _notify_waiting(self, wait: Waiting) -> None:
        for call in self._waiting:
            call.notify_wait(wait)


def _is_current(report: CallReport | None, mine: CallReport, now: float) -> bool:
    """Whether the entry's report of this process is still correct."""
    if report is None:
        return not (mine.running or mine.waiting)
    same = (report.running, report.waiting) == (mine.running, mine.waiting)
    return same and report.seen > now - RENEWAL


class EndpointCall:
    """One call that is subject to the shared limits."""

    def __init__(self, limiter: EndpointLimiter, estimate: Callable[[], int]) -> None:
        self._limiter, self.estimate = limiter, estimate
        self.tokens = 0
        """The number of tokens counted for it."""
        self.started: int | None = None
        """The second in which it started."""
        self.is_over = False
        self._asked = False
        self._wait = Waiting(reason='')
        self._changed = asyncio.Event()

    async def wait_to_start(self) -> AsyncGenerator[Waiting]:
        """Wait until the call may start, yielding every wait when it begins."""
        self._asked = True
        self._limiter.enqueue(self)
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self.started is not None:
                return
            yield self._wait

    def start(self, second: int) -> None:
        """Let the call start now; `second` is the one it counts in."""
        self.started = second
        self._changed.set()

    def notify_wait(self, wait: Waiting) -> None:
        """Make `wait_to_start` yield this wait, unless the reason is the same as before."""
        if wait.reason != self._wait.reason:
            self._wait = wait
            self._changed.set()

    def record_tokens(self, tokens: int) -> None:
        """Replace the estimate with the tokens that the call used."""
        if self.started is not None and tokens != self.tokens:
            self._limiter.correct(self.started, tokens - self.tokens)
            self.tokens = tokens

    def end(self) -> None:
        """Mark the call, or its wait, as ended."""
        if self._asked and not self.is_over:
            self.is_over = True
            self._limiter.remove(self)
