"""What a process adds to the calls of its endpoints: a measurement, and limits shared with others."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from engine.models.http.endpoint import Endpoint
from engine.models.protocol import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTiming:
    """How long an attempt at a call took, without its wait for the endpoint's limits."""

    model: str
    """With its endpoint, such as `openai/gpt-5`."""
    seconds: float
    """From sending the request to the end of the answer."""
    outcome: Literal['ok', 'failed', 'cancelled']


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCounts:
    """An endpoint's calls in this process, now."""

    waiting: int
    """Those that wait for its limits."""
    running: int


class SharedCall(Protocol):
    """One call's way through limits that several processes share."""

    def waits(self) -> AsyncGenerator[Waiting]:
        """Wait until the call may start, yielding each wait before it begins."""

    def settle(self, tokens: int) -> None:
        """Report what the call used, in place of the estimate."""

    def end(self) -> None:
        """The call is over, or its wait."""


class SharedLimiter(Protocol):
    """The limits of one endpoint that several processes share."""

    def call(self, estimate: Callable[[], int]) -> SharedCall:
        """A call, with an estimate of its tokens, which improves while it waits."""

    def pause(self, seconds: float) -> None:
        """Start no calls for this many seconds, in any of the processes."""


def _measure_nothing(timing: CallTiming) -> None:
    pass


def _no_shared_limiter(endpoint: Endpoint) -> SharedLimiter | None:
    return None


@dataclass(slots=True)
class CallHooks:
    """Who measures the calls, and who limits them beyond this process."""

    measure: Callable[[CallTiming], None] = _measure_nothing
    share: Callable[[Endpoint], SharedLimiter | None] = _no_shared_limiter
    """The limiter that holds beyond this process; None if there is none."""
