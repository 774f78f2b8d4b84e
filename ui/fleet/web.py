"""FleetRuns: a web server's view and control of all runs of a fleet; it drives none."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final, TypeVar, Unpack
from weakref import WeakValueDictionary

from engine.errors import JournalUnavailable, RunElsewhere, StaleOwner
from engine.operations import Steering
from engine.records import Conditions, RunId, RunInfo
from engine.runtime import ConditionResult, Item, LiveRuns
from ui.api.client import Connection, ServerUnreachable, remote
from ui.fleet.owners import address_of
from ui.fleet.records import MAX_KEY, Placement, label_of, priority_of
from ui.fleet.relay import Relays
from ui.fleet.temporal import Temporal, TemporalUnavailable

R = TypeVar('R')
log = logging.getLogger('hemicycle')
COMMAND_TIMEOUT: Final = 15.0
"""Seconds for which a command waits for a worker that can handle it."""
FIRST_PAUSE, MAX_PAUSE = 0.02, 0.5
NOTHING_DONE: Final = 'nothing was done; try again'
MAYBE_DONE: Final = 'the run shows whether it was done'


class FleetRuns(LiveRuns):
    """Runs that workers drive; they are created, controlled and watched here.

    A command goes to the worker that drives the run. If there is none, it is decided and journaled here, and
    the resulting work starts in the worker that takes the run next.

    Args:
        temporal: places runs.
        connect: returns the connection to a worker at a URL.
        collaborators: as for `LiveRuns`.
    """

    works = False

    def __init__(
        self, *, temporal: Temporal, connect: Callable[[str], Connection], **collaborators: Any
    ) -> None:
        super().__init__(**collaborators)
        self._temporal, self._connect = temporal, connect
        self.relays = Relays(self.journal, self.feed, connect, temporal.why_waiting)
        self._placing: dict[RunId, asyncio.Task[None]] = {}
        self._place_again: set[RunId] = set()
        """Runs to place again, because something arrived while they were being placed."""
        self._locks: WeakValueDictionary[RunId, asyncio.Lock] = WeakValueDictionary()

    async def create(self, info: RunInfo, *chart_and_state: Any) -> None:
        """Journal a new run and its first step, and have a worker drive it."""
        await super().create(info, *chart_and_state)
        await self._release_and_place(info)

    async def fork(self, info: RunInfo, *chart: Any) -> None:
        """Journal a fork of another run, and have a worker drive it."""
        await super().fork(info, *chart)
        await self._release_and_place(info)

    async def recover(
        self, *, paused: bool = False, where: Callable[[RunInfo], bool] = lambda info: True
    ) -> list[RunId]:
        """Place unfinished runs that Temporal does not know; return their ids."""
        try:
            placed_runs = {placed.run async for placed in self._temporal.placed_runs()}
        except TemporalUnavailable as error:
            log.warning('%s', error)
            return []
        lost = [
            info for info in await self.journal.unfinished() if info.id not in placed_runs and where(info)
        ]
        for info in lost:
            self._place(info)
        return [info.id for info in lost]

    def can_control(self, run: RunId) -> bool:
        """Whether the run can be controlled from here: every run of the fleet can."""
        return True

    def is_live(self, run: RunId) -> bool:
        """Whether its worker's stream is arriving."""
        return self.relays.is_live(run)

    def resting_step(self, run: RunId) -> int:
        """Return the step at which a watched run rests, or 0."""
        return self.relays.resting_step(run)

    async def watch(self, run: RunId, *, after: int = 0) -> AsyncGenerator[Item]:
        """Yield steps and text from the run's worker, or from the journal while it has none."""
        async with self.relays.following(run), aclosing(super().watch(run, after=after)) as items:
            async for item in items:
                yield item

    async def send(
        self,
        run: RunId,
        name: str,
        *,
        at: str = '',
        data: Mapping[str, Any] | None = None,
        **conditions: Unpack[Conditions],
    ) -> None:
        """Send an event to the run's worker, or journal it here if it has none.

        It always has an idempotency key: a worker may die or lose the run after journaling the event but
        before responding.
        """
        key = conditions.get('key') or uuid.uuid4().hex
        options: dict[str, Any] = {**conditions, 'at': at, 'data': data or {}, 'key': key}
        await self._run_where_driven(
            run,
            remotely=lambda worker: remote(Steering, worker).send(run, name, **options),
            locally=lambda: super(FleetRuns, self).send(run, name, **options),
        )

    async def probe(self, run: RunId, condition: str) -> ConditionResult | None:
        """Evaluate a condition where the run is driven, or here."""
        probe = super().probe
        return await self._run_where_driven(
            run,
            remotely=lambda worker: remote(Steering, worker).probe(run, condition),
            locally=lambda: probe(run, condition),
        )

    async def release(self, grace: asyncio.Future[Any] | None = None) -> None:
        """Stop the relays; no run is driven here."""
        await self.relays.close()
        for task in [*self._placing.values()]:
            task.cancel()
        await super().release(grace)

    async def _run_where_driven(
        self,
        run: RunId,
        *,
        remotely: Callable[[Connection], Awaitable[R]],
        locally: Callable[[], Awaitable[R]],
    ) -> R:
        """Run an operation in the worker that drives the run, or here if there is none.

        It is retried until there is a response, so it must be idempotent.

        Raises:
            EventRefused: the run refuses it, or has ended.
            JournalUnavailable: there was no response in time.
        """
        loop, pause = asyncio.get_running_loop(), FIRST_PAUSE
        until, problem, outcome = loop.time() + COMMAND_TIMEOUT, 'no worker has taken the run', NOTHING_DONE
        while True:
            info = await self.journal.info(run)
            if info.status.ended:
                return await locally()  # Reports how it ended, or that this was already done.
            is_held, worker = False, address_of(info.owner)
            try:
                if worker:
                    return await remotely(self._connect(worker))
            except (RunElsewhere, StaleOwner):
                # Another worker may have just taken it.
                is_held = (await self.journal.info(run)).epoch != info.epoch
            except ServerUnreachable as error:
                problem, is_held = str(error), await self._may_be_held(run)
                outcome = MAYBE_DONE if error.sent else outcome
            except JournalUnavailable as error:  # The worker responds, and may have done it.
                problem, is_held, outcome = str(error), True, MAYBE_DONE
            if not is_held and await self._has_same_chart(info):
                with contextlib.suppress(RunElsewhere, StaleOwner):
                    return await self._run_here(info, locally)
            if loop.time() > until:
                raise JournalUnavailable(f'{problem}: {outcome}')
            self._place(info)
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_PAUSE)

    async def _may_be_held(self, run: RunId) -> bool:
        try:
            return await self._temporal.is_held(run)
        except TemporalUnavailable:
            return True

    async def _has_same_chart(self, info: RunInfo) -> bool:
        """Whether this process knows the run's pattern, with the chart that the run has."""
        try:
            return self.chart_of(info).shape == await self.journal.shape(info.id)
        except JournalUnavailable:
            raise
        except Exception as error:
            log.warning('run %s cannot be steered by this process alone: %s', info.id, error)
            return False

    async def _run_here(self, info: RunInfo, locally: Callable[[], Awaitable[R]]) -> R:
        """Claim the run, decide and journal, start no work, and let a worker continue."""
        async with self._locks.setdefault(info.id, asyncio.Lock()):
            try:
                await self.take_over(info.id)
                return await locally()
            finally:
                await self._release_and_place(info)

    async def _release_and_place(self, info: RunInfo) -> None:
        """Release a run claimed here, and have a worker continue it."""
        if live := self.runs.get(info.id):
            await self.release_run(live)
        self._place(info)

    def _place(self, info: RunInfo) -> None:
        if info.id in self._placing:
            self._place_again.add(info.id)
        else:
            task = asyncio.create_task(self._keep_placing(info), name=f'place {info.id}')
            self._placing[info.id] = task
            task.add_done_callback(lambda done: self._placing.pop(info.id, None))

    async def _keep_placing(self, info: RunInfo) -> None:
        """Place or wake a run, retrying while Temporal does not answer."""
        placement = Placement(
            run=info.id,
            pattern=info.pattern,
            version=info.version or 'unknown',
            label=label_of(info.tags),
            priority=priority_of(info.tags),
            author=info.author.encode()[:MAX_KEY].decode(errors='ignore'),
        )
        pause = FIRST_PAUSE
        while True:
            self._place_again.discard(info.id)
            try:
                await self._temporal.place(placement)
            except TemporalUnavailable as error:
                log.warning('run %s waits to be placed: %s', info.id, error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, 10 * MAX_PAUSE)
            else:
                if info.id not in self._place_again:
                    return
