"""Preparing: checks an experiment before it starts, and finds which of its runs have been made before."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from engine.errors import InvalidInput, UnknownPattern, UnknownRun
from engine.operations.experiments.library import Library, UnknownDataset
from engine.operations.experiments.planning import MAX_PROBLEMS, PlannedRun, Planner, changes_since, naming
from engine.operations.experiments.records import Cell, Experiment, UnknownExperiment
from engine.operations.experiments.running.answering import recording_problems
from engine.operations.experiments.running.host import Host
from engine.operations.experiments.scorers import read_scorers
from engine.operations.experiments.store import ExperimentStore
from engine.records import Launch, RunInfo, Status


class Preparing:
    """Prepares the experiments of a conductor.

    Args:
        host: the conductor.
        store: the experiments there are.
        datasets: their cases.
        check: checks a launch as if it was started. Raises `InvalidInput`, and what starting it may raise.
    """

    def __init__(
        self,
        host: Host,
        store: ExperimentStore,
        datasets: Library,
        check: Callable[[Launch], Awaitable[object]],
    ) -> None:
        self._host, self._store, self._datasets, self._check = host, store, datasets, check

    async def prepare(self, experiment: Experiment) -> tuple[Experiment, Planner]:
        """Check an experiment, and return it with the version of its dataset."""
        read_scorers(experiment.scorers)
        base = experiment.base.change({})
        if experiment.budget:
            experiment.budget.check()
        with naming('dataset', UnknownDataset):
            dataset = await self._datasets.get(experiment.dataset)
            version = dataset.version(experiment.version)
            pinned = replace(experiment, base=base, dataset=dataset.id, version=version.id)
            cases = await self._datasets.cases(dataset.id, version.id, split=experiment.split)
        with naming('base.pattern', UnknownPattern):
            planner = await asyncio.to_thread(Planner, pinned, cases, self._host.catalog)
            await asyncio.to_thread(planner.check)
        if pinned.recorded:
            await self._check_recorded(planner)
        for place, launch in enumerate(planner.sample_launches().values()):
            try:
                await self._check(launch)
            except InvalidInput as error:
                at = f'variants.{place}.change'
                raise InvalidInput({f'{at}.{name}': text for name, text in error.problems.items()}) from None
        return pinned, planner

    async def _check_recorded(self, planner: Planner) -> None:
        """Check that the runs that cases were made from can answer. Raises `InvalidInput`."""
        problems: dict[str, str] = {}
        for case in planner.cases:
            try:
                source = await self._host.info(case.source)
            except UnknownRun as error:
                why = str(error) if case.source else 'must be the run whose replies are recorded'
                problems[f'cases.{case.id}.source'] = why
                continue
            problems |= recording_problems(planner, case, source)
        if problems:
            raise InvalidInput(dict([*problems.items()][:MAX_PROBLEMS]))

    async def reusable(
        self, experiment: Experiment, planner: Planner
    ) -> tuple[Callable[[PlannedRun], Cell | None], dict[str, tuple[str, ...]]]:
        """Return what finds a run of an earlier experiment for a planned one, and what has changed since."""
        if not experiment.after:
            return lambda planned: None, {}
        with suppress(UnknownExperiment):
            before = await self._store.experiments.get(experiment.after)
            earlier: dict[str, Cell] = {}
            for cell in await self._store.cells.list(about=experiment.after, state='scored'):
                if cell.status is Status.DONE and await self._is_there(cell):
                    earlier[cell.print] = cell
            changed = await asyncio.to_thread(changes_since, before.parts, planner)
            return lambda planned: earlier.get(planned.cell.print), changed
        return lambda planned: None, {}

    async def _is_there(self, cell: Cell) -> bool:
        try:
            info: RunInfo = await self._host.info(cell.run)
        except UnknownRun:
            return False
        return not info.deleted
