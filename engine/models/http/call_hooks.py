"""Call hooks: measurement of a process's model calls, and limits shared with other processes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from engine.models.endpoint import Endpoint
from engine.models.protocol import Waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class CallTiming:
    """How long one attempt at a call took, excluding its wait for the endpoint's limits."""

    model: str
    """With its endpoint, such as `openai/gpt-5`."""
    seconds: float
    """From sending the request to the end of the answer."""
    outcome: Literal['ok', 'failed', 'cancelled']


@dataclass(frozen=True, slots=True, kw_only=True)
class CallCounts:
    """An endpoint's current calls in this process."""

    waiting: int
    """Calls that wait for its limits."""
    running: int


class SharedCall(Protocol):
    """One call under limits shared by several processes."""

    def wait_to_start(self) -> AsyncGenerator[Waiting]:
        """Wait until the call may start, yielding each wait before it begins."""

    def record_tokens(self, tokens: int) -> None:
        """Replace the estimate with the tokens that the call used."""

    def end(self) -> None:
        """End the call, or its wait if it never started."""


class SharedLimiter(Protocol):
    """One endpoint's limits, shared by several processes."""

    def call(self, estimate: Callable[[], int]) -> SharedCall:
        """Return a new call; the estimate of its tokens may improve while it waits."""

    def pause(self, seconds: float) -> None:
        """Start no calls for this many seconds, in any of the processes."""


@dataclass(slots=True)
class CallHooks:
    """Callbacks that measure calls and limit them across processes."""

    measure: Callable[[CallTiming], None] = lambda timing: None
    share: Callable[[Endpoint], SharedLimiter | None] = lambda endpoint: None
    """Returns the limiter shared with other processes; None if there is none."""
