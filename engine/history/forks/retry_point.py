"""Finds the step from which to retry a failed run."""

from __future__ import annotations

from engine.errors import EventRefused
from engine.journal.protocol import Journal
from engine.records import RunInfo, Transition

MAX_STEPS_BACK = 200
"""Number of a run's last steps to search for the one that made it fail."""


async def find_retry_step(journal: Journal, info: RunInfo) -> int:
    """Return the last step from which a failed run can continue, so that the failed work is retried.

    This is the step before the failure named in the run's error, or before the budget was exceeded; if the
    cause is unknown, it is the step before the event that ended the run.

    Raises:
        EventRefused: it failed at its first step.
    """
    steps = await journal.transitions(info.id, after=max(0, info.seq - MAX_STEPS_BACK))
    first = _failed_step(steps, info.error)
    if first.seq < 2:
        raise EventRefused(info.id, 'retry', 'it failed at its first step: run it again')
    return first.seq - 1


def _failed_step(steps: list[Transition], reason: str) -> Transition:
    caused = [step for step in steps if not step.raised]
    last = caused[-1]
    for step in reversed(caused):
        name, error = step.event.name, str(step.event.data.get('error', ''))
        if name == 'extend':
            break
        if name == 'exhaust':
            return step
        if name in ('failed', 'expired') and error and error in reason:
            return step
    return last
