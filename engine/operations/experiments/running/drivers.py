"""Drivers: which process runs an experiment, by a lease, so that another goes on if it dies."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

from engine.errors import EngineError, EntryChanged, EventRefused, JournalError
from engine.operations.experiments.library import Library
from engine.operations.experiments.planning import Planner
from engine.operations.experiments.records import Experiment, UnknownExperiment
from engine.operations.experiments.running.host import Host
from engine.operations.experiments.running.preparing import Preparing
from engine.operations.experiments.running.runner import Runner
from engine.operations.experiments.running.settling import settle
from engine.operations.experiments.store import ExperimentStore

log = logging.getLogger('hemicycle')
LEASE_SECONDS = 20.0
"""How long a process is taken to run an experiment after its last sign of life."""
HEARTBEAT_SECONDS = 5.0
ADOPTION_SECONDS = 2.0
"""Seconds between looks for experiments that nobody runs."""
SETTLE_SECONDS = 5.0
"""Seconds for which a person who cancels an experiment waits until its runs are cancelled."""


class Drivers:
    """The experiments that run in this process.

    Args:
        host: the conductor of their runs.
        store: where they are.
        datasets: their cases.
        preparing: finds the runs that an earlier experiment has made.
        is_alive: whether the process of that name is still alive; see `LocalConductor`.
    """

    def __init__(
        self,
        host: Host,
        store: ExperimentStore,
        datasets: Library,
        preparing: Preparing,
        is_alive: Callable[[str], bool],
    ) -> None:
        self._host, self._store, self._datasets = host, store, datasets
        self._preparing, self._is_alive = preparing, is_alive
        self.active: dict[str, asyncio.Task[None]] = {}
        """The experiments that run in this process."""
        self._again: set[str] = set()
        """Those of them that somebody wants to go on, though they may just have ended."""
        self._closing = asyncio.Event()

    async def run(self) -> None:
        """Go on with all experiments that no process runs, until cancelled."""
        while True:
            try:
                for state in ('running', 'scoring', 'paused'):
                    for stored in await self._store.experiments.list(state=state):
                        await self.adopt(stored.id)
                for lease in await self._store.leases.list():
                    await self.adopt(lease.id)  # Whoever has died may have been cancelling its runs.
            except JournalError as error:
                log.warning('experiments wait for the journal: %s', error)
            except Exception:
                log.exception('experiments that nobody runs could not be looked for')
            await self._host.clock.sleep(ADOPTION_SECONDS)

    async def wait(self, experiment: str) -> None:
        """Wait until this process is not running an experiment (any more)."""
        while task := self.active.get(experiment):
            await asyncio.wait({task})

    async def close(self) -> None:
        """Stop making runs; another process, or the next one, goes on."""
        self._closing.set()
        tasks = [*self.active.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def adopt(self, experiment: str) -> None:
        """Run an experiment in this process, unless it or another one does so already.

        If the journal is unavailable, it is tried again later.
        """
        if experiment in self.active:
            self._again.add(experiment)
            return
        if self._closing.is_set():
            return
        try:
            if not await self._hold(experiment):
                return
            work = self._drive(experiment)
        except JournalError as error:
            log.warning('experiment %s waits: %s', experiment, error)
            work = self._drive_again(experiment)
        if experiment in self.active:
            work.close()
        else:
            self._spawn(experiment, work)

    async def settle(self, experiment: str) -> None:
        """Have the runs of a cancelled experiment cancelled; return once that is done here, or elsewhere."""
        await self.adopt(experiment)
        if task := self.active.get(experiment):
            await asyncio.wait([task], timeout=SETTLE_SECONDS)

    def _spawn(self, experiment: str, work: Coroutine[Any, Any, None]) -> None:
        self._again.discard(experiment)
        task = asyncio.create_task(work, name=f'experiment {experiment}')
        self.active[experiment] = task
        task.add_done_callback(partial(self._forget, experiment))

    def _forget(self, experiment: str, task: asyncio.Task[None]) -> None:
        del self.active[experiment]
        if experiment in self._again and not self._closing.is_set():
            self._spawn(experiment, self._drive_again(experiment))

    async def _drive_again(self, experiment: str) -> None:
        """Run an experiment that was wanted while it was being left, or the journal was unavailable."""
        while True:
            try:
                stored = await self._store.experiments.get(experiment)
                if stored.state in ('done', 'failed') or not await self._hold(experiment):
                    return
                break
            except UnknownExperiment:
                return
            except JournalError:
                await self._host.clock.sleep(ADOPTION_SECONDS)
        await self._drive(experiment)

    async def _hold(self, experiment: str) -> bool:
        now, owner = self._host.clock.now(), self._host.owner
        return await self._store.take_lease(
            experiment, owner, now, now + LEASE_SECONDS, is_dead=lambda other: not self._is_alive(other)
        )

    async def _still_holds(self, experiment: str) -> bool:
        try:
            return await self._hold(experiment)
        except JournalError:  # Nobody else can take it while the journal is away.
            return True

    async def _drive(self, experiment: str) -> None:
        """Run an experiment to its end, as long as this process holds it."""
        try:
            while True:
                try:
                    await self._run_once(experiment)
                    return
                except (UnknownExperiment, EventRefused):
                    return  # It was removed, or this process is closing.
                except JournalError as error:
                    log.warning('experiment %s waits: %s', experiment, error)
                    await self._host.clock.sleep(ADOPTION_SECONDS)
                    if not await self._still_holds(experiment):
                        return
                except EngineError as error:
                    await self._fail(experiment, str(error))
                    return
                except Exception as error:  # Otherwise it would be tried again for ever.
                    log.exception('experiment %s cannot go on', experiment)
                    await self._fail(experiment, f'{type(error).__name__}: {error}'[:1_000])
                    return
        finally:
            with suppress(JournalError):
                await self._store.release_lease(experiment, self._host.owner)

    async def _fail(self, experiment: str, reason: str) -> None:
        def fail(stored: Experiment) -> Experiment:
            if stored.is_over:
                return stored
            return replace(stored, state='failed', reason=reason, ended=self._host.clock.now())

        await self._store.change(experiment, fail)

    async def _run_once(self, experiment: str) -> None:
        stored = await self._store.experiments.get(experiment)
        if not stored.is_over:
            stored = await self._make_runs(stored)
        if stored.state == 'cancelled':
            await self._while_held(experiment, settle(self._host, self._store, stored))

    async def _make_runs(self, stored: Experiment) -> Experiment:
        cases = await self._datasets.cases(stored.dataset, stored.version, split=stored.split)
        planner = await asyncio.to_thread(Planner, stored, cases, self._host.catalog)
        reusable, _ = await self._preparing.reusable(stored, planner)
        runner = Runner(self._host, self._store, planner, reusable)
        await self._while_held(stored.id, runner.run())
        return runner.experiment

    async def _while_held(self, experiment: str, doing: Coroutine[Any, Any, None]) -> None:
        work = asyncio.ensure_future(doing)
        try:
            while not work.done():
                await asyncio.wait([work], timeout=HEARTBEAT_SECONDS)
                if not work.done() and not await self._still_holds(experiment):
                    raise EntryChanged('experiment-lease', experiment)
            await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
