"""Finder: lists the workers, and finds one that can continue a run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from temporalio import activity

from engine import EngineError
from ui.api.client import Connection
from ui.api.wire import decode
from ui.app.fleet import WorkerInfo
from ui.fleet.owners import address_of, name_of
from ui.fleet.records import FIND, Placement, PlacementResult
from ui.fleet.routes import Fit
from ui.fleet.temporal import Temporal

CACHE_SECONDS: Final = 1.0
"""Seconds for which the workers' descriptions are cached."""


class Finder:
    """Asks Temporal for the workers, and each worker for its description.

    Args:
        temporal: knows the polling workers.
        connect: returns the connection to a worker at a URL.
    """

    def __init__(self, temporal: Temporal, connect: Callable[[str], Connection]) -> None:
        self._temporal, self._connect = temporal, connect
        self._asking: asyncio.Task[list[WorkerInfo]] | None = None
        self._asked_at = 0.0

    async def workers(self) -> list[WorkerInfo]:
        """Return all workers by name, including those that do not respond. Raises `TemporalUnavailable`."""
        now = asyncio.get_running_loop().time()
        if self._asking is None or now - self._asked_at > CACHE_SECONDS:
            self._asking, self._asked_at = asyncio.create_task(self._ask_all()), now
        return await asyncio.shield(self._asking)

    @activity.defn(name=FIND)
    async def find(self, placement: Placement) -> PlacementResult:
        """Find a version of the run's pattern that a worker has and that reproduces the run's history."""
        there = [worker for worker in await self.workers() if not (worker.problem or worker.draining)]
        if not there:
            return PlacementResult(version='', reason='no worker can be reached')
        if placement.label and not any(placement.label in worker.labels for worker in there):
            return PlacementResult(version='', reason=f'no worker has the label “{placement.label}”')
        by_version: dict[str, WorkerInfo] = {}
        for worker in there:
            if placement.pattern in worker.patterns and _accepts_label(worker, placement.label):
                for version in worker.patterns[placement.pattern]:
                    by_version.setdefault(version, worker)
        if not by_version:
            return PlacementResult(version='', reason=f'no worker knows the pattern “{placement.pattern}”')
        if placement.version in by_version:
            return PlacementResult(version=placement.version)
        problems = []
        currents = {worker.patterns[placement.pattern][0]: worker for worker in by_version.values()}
        for version, worker in currents.items():
            if not (problem := await self._problem(worker, placement.run)):
                return PlacementResult(version=version)
            problems.append(f'{worker.name}: {problem}')
        return PlacementResult(version='', reason=f'no worker can replay its history: {"; ".join(problems)}')

    async def _problem(self, worker: WorkerInfo, run: str) -> str:
        try:
            answer = await self._connect(worker.url).ask('POST', 'worker/fits', safe=True, json={'run': run})
        except EngineError as error:
            return str(error)
        return decode(Fit, answer.json()).problem

    async def _ask_all(self) -> list[WorkerInfo]:
        owners = [owner for owner in await self._temporal.pollers() if address_of(owner)]
        return sorted(await asyncio.gather(*map(self._ask, owners)), key=lambda worker: worker.name)

    async def _ask(self, owner: str) -> WorkerInfo:
        url = address_of(owner)
        try:
            worker = await self._connect(url).one(WorkerInfo, 'worker')
        except EngineError as error:
            return WorkerInfo(name=name_of(owner), url=url, problem=str(error))
        if worker.name != name_of(owner):
            return WorkerInfo(
                name=name_of(owner), url=url, problem='it has ended; another one has its address'
            )
        return worker


def _accepts_label(worker: WorkerInfo, label: str) -> bool:
    """Whether a worker accepts runs with this label; one with labels accepts no others."""
    return label in worker.labels if label or worker.labels else True
