"""Looks for what is new of experiments and schedules, without reading all of it each time."""

from __future__ import annotations

from collections.abc import AsyncIterator

from engine import LocalConductor
from engine.operations.experiments import Experiment, UnknownExperiment
from ui.app.services.notifications.events import UNSTARTED_WORDS
from ui.app.services.schedules import Schedule, Schedules, Tick

OVERLAP_SECONDS = 60.0
"""By how much two looks overlap: clocks of servers differ, and a transaction takes a moment."""


class EndedExperiments:
    """Finds experiments that are over: of those that are new since the last look, or were not over then."""

    def __init__(self, conductor: LocalConductor) -> None:
        self._experiments = conductor.experiments
        self._newest: float | None = None
        self._open: set[str] = set()
        self._settled: set[str] = set()
        """Those near the newest of whose end everybody has been notified."""
        self._failed: set[str] = set()
        """Those of whose failure everybody has been notified: they can be resumed."""

    async def find(self) -> list[Experiment]:
        """Return the experiments that are over and not settled; the first look reads all there are."""
        after = None if self._newest is None else self._newest - OVERLAP_SECONDS
        recent = await self._experiments.list(after=after)
        known = {item.id: item for item in recent if item.id not in self._settled}
        for id in self._open - known.keys():
            try:
                known[id] = await self._experiments.get(id)
            except UnknownExperiment:
                continue
        self._newest = recent[0].created if recent else self._newest
        self._settled &= {item.id for item in recent}
        self._open = set(known)
        self._failed &= self._open
        return [
            item
            for item in known.values()
            if item.is_over and not (item.state == 'failed' and item.id in self._failed)
        ]

    def settle(self, experiment: Experiment) -> None:
        """Do not return it again; one that failed only if it ends otherwise."""
        if experiment.state == 'failed':
            self._failed.add(experiment.id)
            return
        self._open.discard(experiment.id)
        self._settled.add(experiment.id)


class UnstartedTicks:
    """Finds due times of schedules at which nothing was started, unless the time before went alike."""

    def __init__(self, schedules: Schedules) -> None:
        self._schedules = schedules
        self._settled: dict[str, str] = {}
        """By schedule, the newest tick of which everybody has been notified."""

    async def find(self) -> AsyncIterator[tuple[Schedule, Tick]]:
        """Yield the newest tick of each schedule if people should know of it.

        That is one that could not start; of experiments, which are rare, also one that was skipped or missed.
        """
        for schedule in await self._schedules.stored():
            latest = await self._schedules.ticks.list(schedule.id, limit=2)
            outcomes = [(tick.state, tick.reason) for tick in latest]
            if not latest or outcomes[1:] == outcomes[:1] or self._settled.get(schedule.id) == latest[0].id:
                continue
            state = latest[0].state
            if state == 'failed' or (state in UNSTARTED_WORDS and schedule.experiment):
                yield schedule, latest[0]

    def settle(self, tick: Tick) -> None:
        """Do not yield it again."""
        self._settled[tick.source] = tick.id
