"""Feed: fans out journaled steps and streamed text within this process; follows runs without gaps."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby
from types import TracebackType
from typing import Self

from engine.errors import JournalUnavailable, UnknownStep
from engine.journal.protocol import Journal
from engine.records import Delta, JournalOutage, RunId, StatePath, Transition
from engine.records.shape import RUN, parent_of

Item = Transition | Delta | JournalOutage
MAX_WAITING = 10_000
"""Maximum number of items queued per reader; one that falls further behind must re-read the journal."""


class Subscription:
    """One reader of a run. `drain` never waits; `wait` does."""

    def __init__(self, feed: Feed, run: RunId) -> None:
        self._feed, self.run = feed, run
        self._items: deque[Item] = deque()
        self._ready = asyncio.Event()
        self._wake_pending = False
        self.overrun = False
        """Whether items were dropped; the reader must catch up from the journal."""

    def put(self, item: Item) -> None:
        """Queue an item. Only the feed calls this."""
        if len(self._items) < MAX_WAITING:
            self._items.append(item)
        else:
            self._items.clear()
            self.overrun = True
            # The pieces of replies in progress were dropped: queue their full text.
            for deltas in self._feed.partial(self.run):
                self._items.extend((replace(deltas[0], kind='reset', text=''), *deltas))
        self._ready.set()

    def drain(self) -> list[Item]:
        """Return all items queued since the last call; may be empty."""
        items = list(self._items)
        self._items.clear()
        if not self._wake_pending:
            self._ready.clear()
        return items

    @property
    def waiting(self) -> bool:
        """Whether items are queued."""
        return bool(self._items)

    async def wait(self) -> None:
        """Wait until there are items, or the run stops running here."""
        await self._ready.wait()
        self._ready.clear()
        self._wake_pending = False

    def wake(self) -> None:
        """Wake a waiting reader. Only the feed calls this."""
        self._wake_pending = True
        self._ready.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feed.leave(self)


class Feed:
    """The subscribers of each run, and the text streamed so far of replies in progress."""

    def __init__(self) -> None:
        self._readers: dict[RunId, set[Subscription]] = {}
        self._partial: dict[RunId, dict[StatePath, list[Delta]]] = {}
        self._outages: dict[RunId, JournalOutage] = {}
        self._wake_events: set[asyncio.Event] = set()
        self.closed = False
        """Whether no more items will come, for any run."""

    def subscribe(self, run: RunId) -> Subscription:
        """Start listening. The text streamed so far for replies in progress comes first."""
        subscription = Subscription(self, run)
        self._readers.setdefault(run, set()).add(subscription)
        for deltas in self.partial(run):
            for delta in deltas:
                subscription.put(delta)
        if run in self._outages:
            subscription.put(self._outages[run])
        return subscription

    @contextlib.contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """Provide an event that is set whenever any run here takes a step."""
        wake_event = asyncio.Event()
        self._wake_events.add(wake_event)
        try:
            yield wake_event
        finally:
            self._wake_events.discard(wake_event)

    def partial(self, run: RunId) -> Iterator[list[Delta]]:
        """Yield the text streamed so far for each reply in progress, in as few pieces as possible."""
        for deltas in self._partial.get(run, {}).values():
            groups = (list(pieces) for _, pieces in groupby(deltas, key=lambda delta: delta.kind))
            yield [replace(alike[0], text=''.join(delta.text for delta in alike)) for alike in groups]

    def leave(self, subscription: Subscription) -> None:
        """Stop listening."""
        readers = self._readers.get(subscription.run, set())
        readers.discard(subscription)
        if not readers:
            self._readers.pop(subscription.run, None)

    def wake(self, run: RunId) -> None:
        """Notify all subscribers that the run no longer runs here."""
        self._partial.pop(run, None)
        self._outages.pop(run, None)
        for reader in tuple(self._readers.get(run, ())):
            reader.wake()

    def close(self) -> None:
        """Release all subscribers of all runs."""
        self.closed = True
        for run in tuple(self._readers):
            self.wake(run)
        self._wake_listeners()

    def _wake_listeners(self) -> None:
        for wake_event in self._wake_events:
            wake_event.set()

    def publish(self, item: Item) -> None:
        """Pass an item to all subscribers of its run."""
        if isinstance(item, Delta):
            self._keep(item)
        elif isinstance(item, JournalOutage) and item.problem:
            self._outages[item.run] = item
        elif isinstance(item, JournalOutage):
            self._outages.pop(item.run, None)
        elif item.run in self._partial:
            # The reply is in the journal now: its streamed pieces are no longer needed.
            for left in item.left:
                self._partial[item.run].pop(parent_of(left), None)
                self._partial[item.run].pop(left, None)
            if not self._partial[item.run]:
                del self._partial[item.run]
        for reader in tuple(self._readers.get(item.run, ())):
            reader.put(item)
        if isinstance(item, Transition):
            self._wake_listeners()

    def _keep(self, piece: Delta) -> None:
        partial = self._partial.setdefault(piece.run, {})
        if piece.kind == 'reset':
            partial.pop(piece.path, None)
        else:
            pieces = partial.setdefault(piece.path, [])
            if pieces and pieces[-1].kind == 'waiting':
                pieces.pop()  # The wait is over, or a new one replaces it.
            pieces.append(piece)


POLL_SECONDS = 1.0
"""Seconds between checks of the journal for a run that another process runs."""
STEPS_PER_PAGE = 500


async def watch(
    journal: Journal, feed: Feed, run: RunId, after: int, *, is_live: Callable[[], bool]
) -> AsyncGenerator[Item]:
    """Yield the run's steps after `after`, and streamed text; end when the run has ended.

    While the journal is unavailable, yield the outage, wait, and continue. When the run has ended, clear an
    outage that is still reported: the end of a short one may have gone unnoticed.

    Raises:
        UnknownRun, UnknownStep
    """
    problem = ''
    async with contextlib.aclosing(_watch(journal, feed, run, after, is_live)) as items:
        async for item in items:
            if isinstance(item, JournalOutage):
                problem = item.problem
            yield item
    if problem and not feed.closed:
        yield JournalOutage(run=run, problem='')


async def _watch(
    journal: Journal, feed: Feed, run: RunId, after: int, is_live: Callable[[], bool]
) -> AsyncGenerator[Item]:
    seq, last, unread = after, (await journal.info(run)).seq, False
    if not 0 <= after <= last:
        raise UnknownStep(run, after, last)
    with feed.subscribe(run) as subscription:
        while not feed.closed:
            if subscription.overrun:
                yield Delta(run=run, path=RUN, text='', kind='reset')
            subscription.overrun, live = False, is_live()
            try:
                async for step in _unread_steps(journal, run, seq):
                    seq = step.seq
                    yield step
                info = await journal.info(run)
            except JournalUnavailable as error:
                unread = True
                yield JournalOutage(run=run, problem=str(error))
                await asyncio.sleep(POLL_SECONDS)
                continue
            if unread:
                unread = False
                yield JournalOutage(run=run, problem='')
            if info.status.ended and seq >= info.seq:
                return
            whole = True
            # When the run stops running here, check the journal again, immediately.
            while (
                whole
                and not subscription.overrun
                and live == is_live()
                and await _arrival(feed, subscription, live)
            ):
                items, seq, whole = _following(subscription.drain(), seq)
                for item in items:
                    yield item


async def _unread_steps(journal: Journal, run: RunId, seq: int) -> AsyncGenerator[Transition]:
    """Yield the steps after `seq`. Steps after the last page are in the feed."""
    more = True
    while more:
        steps = await journal.transitions(run, after=seq, limit=STEPS_PER_PAGE)
        for step in steps:
            seq = step.seq
            yield step
        more = len(steps) == STEPS_PER_PAGE


def _following(items: Sequence[Item], seq: int) -> tuple[list[Item], int, bool]:
    """Return the items that continue from step `seq`, the last step then, and whether none was missed."""
    following: list[Item] = []
    for item in items:
        if isinstance(item, Transition):
            if item.seq <= seq:
                continue
            if item.seq > seq + 1:
                return following, seq, False  # The journal has the missing ones.
            seq = item.seq
        following.append(item)
    return following, seq, True


async def _arrival(feed: Feed, subscription: Subscription, live: bool) -> bool:
    """Wait for items; False if there are none and it is time to check the journal."""
    if feed.closed:  # An earlier item may have used up the wake-up.
        return False
    if subscription.waiting:
        return True
    if live:
        await subscription.wait()
    else:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(subscription.wait(), POLL_SECONDS)
    return subscription.waiting
