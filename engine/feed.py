"""In-process fan-out: transitions once they are durable, and pieces of streamed text."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from dataclasses import replace
from itertools import groupby
from types import TracebackType
from typing import Self

from engine.path import parent_of
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
        if len(self._items) < MOST_WAITING:
            self._items.append(item)
        else:
            self._items.clear()
            self.overrun = True
            for kept in self._feed.partial(self.run):  # The texts in flight, whole: their pieces are lost.
                self._items.extend((replace(kept[0], kind='reset', text=''), *kept))
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
        self._troubles: dict[RunId, Trouble] = {}
        self.closed = False
        """Whether nothing will come any more, of any run."""

    def subscribe(self, run: RunId) -> Subscription:
        """Begin to listen. The text streamed so far of replies in flight comes first."""
        subscription = Subscription(self, run)
        self._readers.setdefault(run, set()).add(subscription)
        for kept in self.partial(run):
            for delta in kept:
                subscription.put(delta)
        if run in self._troubles:
            subscription.put(self._troubles[run])
        return subscription

    def partial(self, run: RunId) -> Iterator[list[Delta]]:
        """What has been streamed of each reply in flight, in as few pieces as can be."""
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
        """Tell everybody who listens that the run is not run here any more."""
        self._partial.pop(run, None)
        self._troubles.pop(run, None)
        for reader in tuple(self._readers.get(run, ())):
            reader.wake()

    def close(self) -> None:
        """Let everybody who listens to anything go."""
        self.closed = True
        for run in tuple(self._readers):
            self.wake(run)

    def publish(self, item: Item) -> None:
        """Hand an item to everybody who listens to its run."""
        if isinstance(item, Delta):
            partial = self._partial.setdefault(item.run, {})
            if item.kind == 'reset':
                partial.pop(item.path, None)
            else:
                partial.setdefault(item.path, []).append(item)
        elif isinstance(item, Trouble) and item.problem:
            self._troubles[item.run] = item
        elif isinstance(item, Trouble):
            self._troubles.pop(item.run, None)
        elif item.run in self._partial:
            # The reply is in the journal now: what was shown of it piece by piece is no longer needed.
            for left in item.left:
                self._partial[item.run].pop(parent_of(left), None)
                self._partial[item.run].pop(left, None)
            if not self._partial[item.run]:
                del self._partial[item.run]
        for reader in tuple(self._readers.get(item.run, ())):
            reader.put(item)
