"""Follows one run: first what is journaled, then what comes, with no gap and nothing twice."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable

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
        UnknownRun
    """
    seq = after
    with feed.subscribe(run) as subscription:
        while True:
            subscription.overrun = False
            while steps := await journal.transitions(run, after=seq, limit=PAGE):
                for step in steps:
                    seq = step.seq
                    yield step
            info = await journal.info(run)
            if info.status.ended and seq >= info.seq:
                return
            complete = True
            while complete and not subscription.overrun:
                if not await _arrival(subscription, is_live):
                    break
                for item in subscription.take():
                    if isinstance(item, Transition):
                        if item.seq <= seq:
                            continue
                        if item.seq > seq + 1:
                            complete = False  # Something was missed: the journal has it.
                            break
                        seq = item.seq
                    yield item


async def _arrival(subscription: Subscription, is_live: Callable[[], bool]) -> bool:
    """Wait for items. False: there are none, and it is time to look at the journal."""
    if subscription.waiting:
        return True
    if is_live():
        await subscription.wait()
    else:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(subscription.wait(), LOOK_AGAIN)
    return subscription.waiting
