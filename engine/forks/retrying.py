"""Retrying: which step of a run that failed is its last good one."""

from __future__ import annotations

from engine.errors import EventRefused
from engine.journal import Journal
from engine.records import RunInfo, Transition

LOOKED_AT = 200
"""Steps at the end of a run among which the one that failed it is looked for."""


async def last_good(journal: Journal, info: RunInfo) -> int:
    """The last step of a run that failed from which it can go on, so that what failed is made again.

    That is the step before the failure that the run gives as its reason; before the budget was spent; or,
    where it cannot be told what it was, before the event that ended the run.

    Raises:
        EventRefused: it failed in its first step.
    """
    steps = await journal.transitions(info.id, after=max(0, info.seq - LOOKED_AT))
    first = _culprit(steps, info.error)
    if first.seq < 2:
        raise EventRefused(info.id, 'retry', 'it failed at its first step: run it again')
    return first.seq - 1


def _culprit(steps: list[Transition], reason: str) -> Transition:
    caused = [step for step in steps if not step.raised]
    last = caused[-1]
    for step in reversed(caused):
        name, said = step.event.name, str(step.event.data.get('error', ''))
        if name == 'extend':
            break
        if name == 'exhaust':
            return step
        if name in ('failed', 'expired') and said and said in reason:
            return step
    return last
