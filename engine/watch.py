"""Follows one run: first what is journaled, then what comes, with no gap and nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence

from engine.errors import UnknownStep
from engine.feed import Feed, Item, Subscription
from engine.journal import Journal
from engine.records import RunId, Transition

LOOK_AGAIN = 1.0
"""Seconds between two looks at the journal of a run that another process runs."""
PAGE = 500


async def watch(
    journal: Journal, feed: Feed, run: RunId, after: int, *, is_live: Callable[[], bool]
) -> AsyncIterator[Item]:
    """Yield the run's steps after `after`, and text as it is streamed; end when the run has ended.

    Raises:
        UnknownRun, UnknownStep
    """
    seq, last = after, (await journal.info(run)).seq
    if not 0 <= after <= last:
        raise UnknownStep(run, after, last)
    with feed.subscribe(run) as subscription:
        while not feed.closed:
            subscription.overrun, live = False, is_live()
            while steps := await journal.transitions(run, after=seq, limit=PAGE):
                for step in steps:
                    seq = step.seq
                    yield step
            info = await journal.info(run)
            if info.status.ended and seq >= info.seq:
                return
            whole = True
            # When the run stops being run here, the journal is looked at once more, and at once.
            while (
                whole
                and not subscription.overrun
                and live == is_live()
                and await _arrival(subscription, live)
            ):
                items, seq, whole = _following(subscription.take(), seq)
                for item in items:
                    yield item


def _following(items: Sequence[Item], seq: int) -> tuple[list[Item], int, bool]:
    """Of what came: what follows on step `seq`, the step it leads to, and whether nothing was missed."""
    found: list[Item] = []
    for item in items:
        if isinstance(item, Transition):
            if item.seq <= seq:
                continue
            if item.seq > seq + 1:
                return found, seq, False  # The journal has what is missing.
            seq = item.seq
        found.append(item)
    return found, seq, True


async def _arrival(subscription: Subscription, live: bool) -> bool:
    """Wait for items. False: there are none, and it is time to look at the journal."""
    if subscription.waiting:
        return True
    if live:
        await subscription.wait()
    else:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(subscription.wait(), LOOK_AGAIN)
    return subscription.waiting
