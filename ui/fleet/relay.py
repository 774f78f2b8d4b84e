"""Relays: forward steps and streamed text from the worker that drives a run to this process's feed."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Final

from engine import EngineError, Status
from engine.errors import JournalUnavailable
from engine.journal import Journal
from engine.records import JournalOutage, RunId, RunInfo
from engine.runtime import Feed, Item
from ui.api.client import Connection, RunIsOver, stream_items
from ui.fleet.owners import address_of, name_of

log = logging.getLogger('hemicycle')
POLL_SECONDS: Final = 0.25
"""Seconds between attempts to find the run's next worker."""
SILENCE_SECONDS: Final = 1.0
"""Seconds without an item after which the run's owner is checked."""


class Relays:
    """One stream per watched run, regardless of how many pages watch it.

    Args:
        journal: the source of a run's current owner.
        feed: receives the items of the streams.
        connect: returns the connection to a worker at a URL.
        why_waiting: returns why no worker has taken a run, or ''.
    """

    def __init__(
        self,
        journal: Journal,
        feed: Feed,
        connect: Callable[[str], Connection],
        why_waiting: Callable[[RunId], Awaitable[str]],
    ) -> None:
        self._journal, self._feed, self._connect = journal, feed, connect
        self._why_waiting = why_waiting
        self._watchers: Counter[RunId] = Counter()
        self._tasks: dict[RunId, asyncio.Task[None]] = {}
        self._live: set[RunId] = set()
        self._rest_steps: dict[RunId, int] = {}

    def is_live(self, run: RunId) -> bool:
        """Whether a worker's stream of the run is arriving."""
        return run in self._live

    def resting_step(self, run: RunId) -> int:
        """Return the step at which a watched run rests, or 0."""
        return self._rest_steps.get(run, 0)

    @asynccontextmanager
    async def following(self, run: RunId) -> AsyncIterator[None]:
        """Relay a run while someone watches it."""
        self._watchers[run] += 1
        if run not in self._tasks:
            self._tasks[run] = asyncio.create_task(self._relay(run), name=f'relay {run}')
        try:
            yield
        finally:
            self._watchers[run] -= 1
            if not self._watchers[run]:
                del self._watchers[run]
                self._tasks.pop(run).cancel()
                self._rest_steps.pop(run, None)

    async def close(self) -> None:
        """Stop relaying all runs, and wait until their tasks have ended."""
        tasks = [*self._tasks.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _relay(self, run: RunId) -> None:
        relayed: tuple[str, int] | None = None
        polls = 0
        while info := await self._info_or_none(run):
            if info.status is Status.RUNNING:
                polls += 1
            elif polls:
                polls = 0
                self._publish_problem(run, '')
            if address_of(info.owner) and relayed != (info.owner, info.epoch):
                try:
                    if await self._relay_from(info):
                        relayed = (info.owner, info.epoch)
                except RunIsOver:
                    return
                finally:
                    self._mark_offline(run)
                polls = 0
            elif polls and not polls % WAITING_POLLS:
                await self._publish_reason(run)
            await asyncio.sleep(POLL_SECONDS)

    async def _info_or_none(self, run: RunId) -> RunInfo | None:
        """Return the run, waiting for the database; None if it has ended or been deleted."""
        while True:
            try:
                info = await self._journal.info(run)
            except JournalUnavailable as error:
                self._publish_problem(run, str(error))
                await asyncio.sleep(POLL_SECONDS)
            except EngineError:
                return None  # It was deleted.
            else:
                if info.status.ended:
                    self._mark_offline(run)
                return None if info.status.ended else info

    async def _relay_from(self, info: RunInfo) -> bool:
        """Relay the stream of a run's worker; return whether the worker no longer drives the run.

        Raises:
            RunIsOver: the run has ended.
        """
        name = name_of(info.owner)
        try:
            await self._stream(info)
        except JournalUnavailable:
            self._mark_offline(info.id)
            self._publish_problem(info.id, UNREACHABLE.format(name))
            return False
        except EngineError as error:
            log.warning('run %s: its worker %s says: %s', info.id, name, error)
        return True

    async def _publish_reason(self, run: RunId) -> None:
        """Report why no worker has taken a run that could continue."""
        try:
            why = await self._why_waiting(run)
        except EngineError as error:
            why = str(error)
        if why:
            self._publish_problem(run, WAITING.format(why))

    async def _stream(self, info: RunInfo) -> None:
        run = info.id
        connection = self._connect(address_of(info.owner))

        def on_rest(rests: int | None) -> None:
            if run not in self._live:
                self._live.add(run)
                self._publish_problem(run, '')
            if rests is not None:
                self._rest_steps[run] = rests

        async with aclosing(stream_items(connection, run, info.seq, on_rest)) as items:
            coming = asyncio.ensure_future(anext(items, None))
            try:
                while await self._wait_for_item(coming, info):
                    if (item := coming.result()) is None:
                        return
                    self._feed.publish(item)
                    coming = asyncio.ensure_future(anext(items, None))
            finally:
                coming.cancel()
                await asyncio.wait({coming})

    async def _wait_for_item(self, coming: asyncio.Future[Item | None], info: RunInfo) -> bool:
        """Wait for an item; return False if another process owns the run: the silent worker may be frozen."""
        while not (await asyncio.wait({coming}, timeout=SILENCE_SECONDS))[0]:
            with suppress(JournalUnavailable):
                now = await self._journal.info(info.id)
                if now.epoch != info.epoch:
                    return False
        return True

    def _publish_problem(self, run: RunId, problem: str) -> None:
        self._feed.publish(JournalOutage(run=run, problem=problem))

    def _mark_offline(self, run: RunId) -> None:
        if run in self._live:
            self._live.discard(run)
            self._feed.wake(run)


WAITING_POLLS: Final = 8
"""Report the reason at every `WAITING_POLLS`th consecutive failed attempt."""
WAITING: Final = 'It waits for a worker: {}.'
UNREACHABLE: Final = 'Its worker {} cannot be reached: this page follows the journal, without streamed text.'
