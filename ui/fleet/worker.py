"""FleetWorker: takes runs from Temporal's queues, drives them, and serves the API to web servers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any, Final, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Mount
from temporalio.worker import (
    CustomSlotSupplier,
    FixedSizeSlotSupplier,
    SlotMarkUsedContext,
    SlotPermit,
    SlotReleaseContext,
    SlotReserveContext,
    UnsandboxedWorkflowRunner,
    Worker,
    WorkerTuner,
)

from engine import Catalog, EngineError, InvalidInput, LocalConductor
from engine.errors import JournalUnavailable
from engine.history import program_version
from engine.records import RunId, RunInfo
from engine.runtime import Item, LiveRuns
from ui.api.access import PREFIX
from ui.api.app import build_api
from ui.app.backend import Backend
from ui.app.fleet import WorkerInfo
from ui.app.services.endpoint_limits import share_limits
from ui.fleet.driver import Driver
from ui.fleet.finder import Finder
from ui.fleet.heartbeat import HEARTBEAT_SECONDS
from ui.fleet.owners import name_of, owner_of
from ui.fleet.records import CONTROL, queue_name
from ui.fleet.routes import TokenOnly, worker_routes
from ui.fleet.schedules.handler import ScheduleHandler
from ui.fleet.schedules.workflow import ScheduleWorkflow
from ui.fleet.settings import Connections, FleetSettings
from ui.fleet.temporal import Temporal, TemporalUnavailable
from ui.fleet.web import FleetRuns
from ui.fleet.workflow import RunWorkflow

T = TypeVar('T')
log = logging.getLogger('hemicycle')
RETRY_SECONDS: Final = 1.0
"""Seconds between attempts to reach the database and Temporal at startup."""
LOOK_SECONDS: Final = 2.0
"""Seconds between looks for charts that were saved."""
MAX_VERSIONS: Final = 20
"""Maximum number of versions of a chart whose runs it takes, the current one and the newest."""
OPEN_PATHS: Final = frozenset({'/healthz', '/readyz'})
"""The paths that need no token."""
OpenConductor = Callable[[str, Callable[..., LiveRuns]], Awaitable[LocalConductor]]
"""Opens the journal and creates a conductor with this owner and this factory of live runs."""

WORKER_CANNOT_START = 'workers do not start runs: ask a web server'


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker may take on, and how it is reached."""

    url: str
    """The URL at which web servers reach it."""
    only: Sequence[str] = ()
    """The patterns that it serves; all by default."""
    labels: Sequence[str] = ()
    """It takes only runs with one of these labels; without labels, only runs without one."""
    at_once: int = 50
    grace: float = 0.0
    """Seconds for live model calls to finish when it leaves."""


class FleetWorker:
    """One worker process.

    Args:
        fleet: the fleet's settings.
        options: the worker's options.
        listening: the socket on which it serves the API.
        open_conductor: opens its journal, given its name and the factory of its runs.
        monitor: makes the routes for monitoring; those in `OPEN_PATHS` need no token.
    """

    def __init__(
        self,
        fleet: FleetSettings,
        options: WorkerOptions,
        listening: socket.socket,
        open_conductor: OpenConductor,
        monitor: Callable[[Backend], Sequence[BaseRoute]],
    ) -> None:
        self._fleet, self._options, self._listening, self._open = fleet, options, listening, open_conductor
        self._monitor = monitor
        self.owner = owner_of(options.url)
        self._draining = asyncio.Event()
        self._versions: Mapping[str, tuple[str, ...]] = {}

    async def run(self) -> None:
        """Drive runs until this process is told to leave, then release them.

        Raises:
            EngineError: the worker cannot start.
        """
        worker_runs: list[WorkerRuns] = []

        def make(**collaborators: Any) -> LiveRuns:
            worker_runs.append(WorkerRuns(**collaborators))
            return worker_runs[0]

        connections = Connections(self._fleet)
        with self._signals():
            conductor = await self._until_available(partial(self._open, self.owner, make))
            if conductor is None:
                return
            share_limits(conductor)
            try:
                self._versions = served_versions(conductor.catalog, self._options.only)
                self._driver = Driver(
                    worker_runs[0], max_runs=self._options.at_once, grace=self._options.grace
                )
                self._room = _DriverSlots(self._driver)
                self._started = conductor.clock.now()
                async with self._serve_api(conductor):
                    temporal = await self._until_available(self._connect)
                    if temporal:
                        await self._work(conductor, temporal, connections)
            finally:
                await connections.close()
                await conductor.close()

    def describe(self) -> WorkerInfo:
        """Describe the worker and the runs that it drives."""
        return WorkerInfo(
            name=name_of(self.owner),
            url=self._options.url,
            started=self._started,
            program=program_version(),
            patterns=self._versions,
            labels=tuple(self._options.labels),
            at_once=self._options.at_once,
            draining=self._draining.is_set(),
            runs=self._driver.driven,
        )

    async def _until_available(self, open: Callable[[], Awaitable[T]]) -> T | None:
        """Return what `open` returns, once what it needs is there; None if this process has to leave first.

        Raises:
            EngineError: waiting does not help.
        """
        reported = False
        while not self._draining.is_set():
            try:
                return await open()
            except (JournalUnavailable, TemporalUnavailable) as error:
                if not reported:
                    log.warning('%s; the worker waits', error)
                reported = True
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._draining.wait(), RETRY_SECONDS)
        return None

    async def _connect(self) -> Temporal:
        return await Temporal.at(self._fleet.temporal, namespace=self._fleet.namespace, identity=self.owner)

    async def _work(self, conductor: LocalConductor, temporal: Temporal, connections: Connections) -> None:
        starts_runs = partial(FleetRuns, temporal=temporal, connect=connections)
        schedules = ScheduleHandler(partial(self._open, name_of(self.owner), starts_runs))
        try:
            control = self._control(temporal, Finder(temporal, connections), schedules)
            await self._serve_queues(conductor, temporal, control)
        finally:
            await schedules.close()

    async def _serve_queues(self, conductor: LocalConductor, temporal: Temporal, control: Worker) -> None:
        """Serve the queues until this process leaves; also of versions of charts that are saved meanwhile."""
        workers, queues = [control], set[str]()
        running = [asyncio.create_task(control.run())]
        log.info('%s takes runs of %s', name_of(self.owner), ', '.join(sorted(self._versions)))
        leaving = asyncio.create_task(self._draining.wait())
        done = set[asyncio.Task[Any]]()
        while not done:
            for queue in self._queues() - queues:
                queues.add(queue)
                workers.append(self._serving(temporal, queue))
                running.append(asyncio.create_task(workers[-1].run()))
            done, _ = await asyncio.wait(
                [*running, leaving], timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            await conductor.catalog.refresh()
            with contextlib.suppress(EngineError):  # A chart was removed, or its folder cannot be read now.
                self._versions = await asyncio.to_thread(
                    served_versions, conductor.catalog, self._options.only
                )
        self._draining.set()
        self._driver.drain()
        await asyncio.gather(*(worker.shutdown() for worker in workers), return_exceptions=True)
        await asyncio.gather(*running, return_exceptions=True)
        for task in done - {leaving}:
            await task  # Raises the reason why it stopped.

    def _queues(self) -> set[str]:
        """Return the queues of the versions that it has."""
        return {
            queue_name(pattern, version, label)
            for pattern, versions in self._versions.items()
            for version in versions
            for label in self._options.labels or ('',)
        }

    def _control(self, temporal: Temporal, finder: Finder, schedules: ScheduleHandler) -> Worker:
        return Worker(
            temporal.client,
            task_queue=CONTROL,
            workflows=[RunWorkflow, ScheduleWorkflow],
            activities=[finder.find, schedules.handle],
            workflow_runner=UnsandboxedWorkflowRunner(),
            # No cache: Temporal would wait for that of a dead worker, and these histories are short.
            max_cached_workflows=0,
            identity=self.owner,
        )

    def _serving(self, temporal: Temporal, queue: str) -> Worker:
        fixed = FixedSizeSlotSupplier(1)
        return Worker(
            temporal.client,
            task_queue=queue,
            activities=[self._driver.drive],
            tuner=WorkerTuner.create_composite(
                workflow_supplier=fixed,
                activity_supplier=self._room,
                local_activity_supplier=fixed,
                nexus_supplier=fixed,
            ),
            max_concurrent_activity_task_polls=1,
            max_heartbeat_throttle_interval=timedelta(seconds=HEARTBEAT_SECONDS),
            graceful_shutdown_timeout=timedelta(seconds=self._options.grace + 5),
            identity=self.owner,
        )

    @contextlib.contextmanager
    def _signals(self) -> Iterator[None]:
        loop = asyncio.get_running_loop()

        def drain() -> None:
            if self._draining.is_set():
                self._driver.stop_waiting()  # The second signal: do not wait for calls.
            self._draining.set()

        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, drain)
        try:
            yield
        finally:
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.remove_signal_handler(number)

    @contextlib.asynccontextmanager
    async def _serve_api(self, conductor: LocalConductor) -> Any:
        backend = Backend()
        backend.open(conductor)
        api = build_api(backend)
        api.include_router(worker_routes(self.describe, self._draining.set))
        app = Starlette(routes=[*self._monitor(backend), Mount(PREFIX, api)])
        guarded = TokenOnly(app, self._fleet.token, OPEN_PATHS)
        config = uvicorn.Config(guarded, log_config=None, lifespan='off', timeout_graceful_shutdown=1)
        server = _Server(config)
        serving = asyncio.create_task(server.serve(sockets=[self._listening]), name='serve the API')
        try:
            yield
        finally:
            server.should_exit = True
            conductor.feed.close()  # Ends the streams and thus their connections.
            await serving


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield  # The worker has its own handlers.


class _DriverSlots(CustomSlotSupplier):
    """A slot supplier with which every queue is polled while the driver has room."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver

    async def reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit:
        await self._driver.wait_for_room()
        return SlotPermit()

    def try_reserve_slot(self, ctx: SlotReserveContext) -> SlotPermit | None:
        return SlotPermit() if self._driver.has_room else None

    def mark_slot_used(self, ctx: SlotMarkUsedContext) -> None:
        pass

    def release_slot(self, ctx: SlotReleaseContext) -> None:
        pass


def served_versions(catalog: Catalog, only: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the versions of each pattern to serve, the current one first. Blocks for a moment.

    Args:
        catalog: has them.
        only: the names of the patterns; by default all.

    Raises:
        UnknownPattern, InvalidInput
    """
    today = [catalog.pattern(name) for name in only] if only else [*catalog.patterns.values()]
    charts = catalog.charts.kept() if catalog.charts else {}
    names = [pattern.name for pattern in today] + ([] if only else [*charts])
    if not names:
        raise InvalidInput({'--patterns': 'there is no pattern to serve'})
    current = {pattern.name: (pattern.version,) for pattern in today}
    return {
        name: tuple(dict.fromkeys((*current.get(name, ()), *charts.get(name, ()))))[:MAX_VERSIONS]
        for name in dict.fromkeys(names)
    }


class WorkerRuns(LiveRuns):
    """The live runs of a worker, which starts none itself. A stream ends when the worker releases the run."""

    async def create(self, info: RunInfo, *chart_and_state: Any) -> None:
        """Refuse: web servers create runs."""
        raise EngineError(WORKER_CANNOT_START)

    async def fork(self, info: RunInfo, *chart: Any) -> None:
        """Refuse: web servers create runs."""
        raise EngineError(WORKER_CANNOT_START)

    async def recover(
        self, *, paused: bool = False, where: Callable[[RunInfo], bool] = lambda info: True
    ) -> list[RunId]:
        """Continue nothing: Temporal decides which runs are driven here."""
        return []

    async def watch(self, run: RunId, *, after: int = 0) -> AsyncGenerator[Item]:
        """Yield steps and text while the run is driven here."""
        live = self.runs.get(run)
        if live is None:
            return
        detached = asyncio.ensure_future(live.detached.wait())
        async with aclosing(super().watch(run, after=after)) as items:
            coming = asyncio.ensure_future(anext(items, None))
            try:
                while True:
                    await asyncio.wait({coming, detached}, return_when=asyncio.FIRST_COMPLETED)
                    if not coming.done() and not live.projection.status.ended:
                        return  # It is driven elsewhere now, or rests.
                    if (item := await coming) is None:
                        return
                    yield item
                    coming = asyncio.ensure_future(anext(items, None))
            finally:
                for task in (coming, detached):
                    task.cancel()
                await asyncio.wait({coming, detached})
