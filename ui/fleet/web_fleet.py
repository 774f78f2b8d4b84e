"""WebFleet: used by a web server of a fleet instead of its own runs."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Final

from engine import EngineError, InvalidInput, LocalConductor, Status
from engine.records import RunId
from engine.runtime import LiveRuns
from ui.app.fleet import FleetView, WaitingRun, WorkerInfo
from ui.fleet.finder import Finder
from ui.fleet.schedules.placer import TemporalPlacer
from ui.fleet.settings import Connections, FleetSettings
from ui.fleet.temporal import QUEUED, UNPLACED, Temporal
from ui.fleet.web import FleetRuns

log = logging.getLogger('hemicycle')
SWEEP_SECONDS: Final = 60.0
"""Seconds between checks for runs that have not been placed."""


class WebFleet:
    """Creates the live runs and the view of a web server.

    Args:
        settings: the fleet's settings.
    """

    def __init__(self, settings: FleetSettings) -> None:
        self._settings = settings

    async def live_runs(self) -> Callable[..., LiveRuns]:
        """Return the factory of live runs; needs no connection yet."""
        self._temporal = await Temporal.at(self._settings.temporal, namespace=self._settings.namespace)
        self._connections = Connections(self._settings)
        return partial(FleetRuns, temporal=self._temporal, connect=self._connections)

    def view(self, conductor: LocalConductor) -> FleetView:
        """Return the data source for the workers page."""
        return LiveFleet(self._temporal, conductor, self._connections)

    async def close(self) -> None:
        """Close the connections to workers."""
        await self._connections.close()


class LiveFleet:
    """Reads the fleet from Temporal, the workers and the journal.

    Args:
        temporal: knows the polling workers and the placed runs.
        conductor: knows the unfinished runs.
        connections: the connections to workers.
    """

    def __init__(self, temporal: Temporal, conductor: LocalConductor, connections: Connections) -> None:
        self._temporal, self._conductor, self._connections = temporal, conductor, connections
        self._finder = Finder(temporal, connections)
        self.schedules = TemporalPlacer(temporal)

    async def workers(self) -> list[WorkerInfo]:
        """Return all workers, sorted by name."""
        return await self._finder.workers()

    async def waiting(self) -> list[WaitingRun]:
        """Return the runs that could continue but that no worker drives."""
        driven: set[RunId] = {driven_run.run for worker in await self.workers() for driven_run in worker.runs}
        reasons = {placed.run: placed.reason async for placed in self._temporal.placed_runs()}
        return [
            WaitingRun(info=info, reason=reasons.get(info.id, UNPLACED) or QUEUED)
            for info in await self._conductor.journal.unfinished()
            if info.id not in driven and (info.status is Status.RUNNING or reasons.get(info.id))
        ]

    async def drain(self, name: str) -> None:
        """Have a worker release its runs and exit."""
        for worker in await self.workers():
            if worker.name == name:
                await self._connections(worker.url).ask('POST', 'worker/drain', safe=True)
                return
        raise InvalidInput({'worker': f'there is no worker {name!r} any more'})

    async def keep_placing_runs(self) -> None:
        """Periodically place runs that could not be placed at first, or were lost with Temporal's data."""
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            try:
                for run in await self._conductor.recover():
                    log.info('run %s is placed', run)
            except EngineError as error:
                log.warning('%s', error)
