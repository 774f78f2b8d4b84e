"""Retry: how often and how soon a failed activity is retried."""

from __future__ import annotations

import random
from dataclasses import dataclass

from engine.errors import EngineError


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """How often and how soon a failed activity is retried."""

    attempts: int = 4
    delay: float = 1.0
    """Seconds before the second attempt; doubled for each further one."""
    longest: float = 30.0
    jitter: float = 0.5
    """The fraction of a delay that is random, so that many runs do not all retry at once."""
    patience: float = 60.0
    """The longest wait in seconds that the remote side may ask for; beyond that there is no retry."""

    def after(self, attempt: int, *, seed: str, retry_after: float | None = None) -> float:
        """Return the seconds to wait after `attempt` failed; `retry_after` is what the server asked for."""
        delay = min(self.longest, self.delay * 2.0 ** min(attempt - 1, 60))
        chance = random.Random(f'{seed}:{attempt}').random()
        return max(retry_after or 0.0, delay * (1 - self.jitter * chance))

    def should_retry(self, attempt: int, error: BaseException) -> bool:
        """Return whether to retry after `attempt`: our errors state it; unforeseen errors may be transient.

        An error may carry its own number of attempts and its own patience, as configured for the endpoint.
        """
        unforeseen = isinstance(error, Exception) and not isinstance(
            error, EngineError | MemoryError | ValueError
        )
        may_help = bool(getattr(error, 'retryable', unforeseen))
        attempts = getattr(error, 'attempts', None) or self.attempts
        patience = getattr(error, 'patience', None)
        patience = self.patience if patience is None else patience
        return attempt < attempts and may_help and (getattr(error, 'retry_after', 0) or 0) <= patience
