"""In-process fan-out: transitions once they are durable, and pieces of streamed text."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import replace
from itertools import groupby
from types import TracebackType
from typing import Self

from engine.records import Delta, RunId, StatePath, Transition, Trouble

Item = Transition | Delta | Trouble
MOST_WAITING = 10_000
"""Items that may wait for one reader; one who falls further behind is told to read the journal again."""


class Subscription:
    """One reader of a run. `take` never waits; `wait` does."""

    def __init__(self, feed: Feed, run: RunId) -> None:
        self._feed, self.run = feed, run
        self._items: deque[Item] = deque()
        self._ready = asyncio.Event()
        self.overrun = False
        """Whether items were dropped; the reader must catch up from the journal."""

    def put(self, item: Item) -> None:
        """Hand over an item. Only the feed calls this."""
        if len(self._items) >= MOST_WAITING:
            self._items.clear()
            self.overrun = True
        self._items.append(item)
        self._ready.set()

    def take(self) -> list[Item]:
        """Everything that has come since the last call; may be empty."""
        items = list(self._items)
        self._items.clear()
        return items

    @property
    def waiting(self) -> bool:
        """Whether there is something to take."""
        return bool(self._items)

    async def wait(self) -> None:
        """Until there is something to take, or the run is not run here any more."""
        await self._ready.wait()
        self._ready.clear()

    def wake(self) -> None:
        """Let a reader who waits look round. Only the feed calls this."""
        self._ready.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._feed.leave(self)


class Feed:
    """Who listens to which run, and what has been streamed of the replies in flight."""

    def __init__(self) -> None:
        self._readers: dict[RunId, set[Subscription]] = {}
        self._partial: dict[RunId, dict[StatePath, list[Delta]]] = {}

    def subscribe(self, run: RunId) -> Subscription:
        """Begin to listen. The text streamed so far of replies in flight comes first."""
        subscription = Subscription(self, run)
        self._readers.setdefault(run, set()).add(subscription)
        for deltas in self._partial.get(run, {}).values():
            for kind, pieces in groupby(deltas, key=lambda delta: delta.kind):
                alike = list(pieces)
                subscription.put(replace(alike[0], kind=kind, text=''.join(delta.text for delta in alike)))
        return subscription

    def leave(self, subscription: Subscription) -> None:
        """Stop listening."""
        readers = self._readers.get(subscription.run, set())
        readers.discard(subscription)
        if not readers:
            self._readers.pop(subscription.run, None)

    def wake(self, run: RunId) -> None:
        """Tell everybody who listens that the run is not run here any more."""
        self._partial.pop(run, None)
        for reader in tuple(self._readers.get(run, ())):
            reader.wake()

    def publish(self, item: Item) -> None:
        """Hand an item to everybody who listens to its run."""
        if isinstance(item, Delta):
            partial = self._partial.setdefault(item.run, {})
            if item.kind == 'reset':
                partial.pop(item.path, None)
            else:
                partial.setdefault(item.path, []).append(item)
        elif isinstance(item, Transition) and item.run in self._partial:
            # The reply is in the journal now: what was shown of it piece by piece is no longer needed.
            for left in item.left:
                self._partial[item.run].pop(StatePath(left.rpartition('.')[0]), None)
                self._partial[item.run].pop(left, None)
            if not self._partial[item.run]:
                del self._partial[item.run]
        for reader in tuple(self._readers.get(item.run, ())):
            reader.put(item)
