"""Experiments: starts, continues, steers and reads experiments in a conductor's journal."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import replace

from engine.operations.experiments.adoption import Adoption, AdoptionKind, AdoptionPlan, LaunchDefault
from engine.operations.experiments.answer import find_answer
from engine.operations.experiments.answer.path_records import PathAnswer
from engine.operations.experiments.answer.records import Answer, TrendPoint
from engine.operations.experiments.files.bundle_export import BundleExport
from engine.operations.experiments.library import Library, UnknownDataset
from engine.operations.experiments.marking import Agreement, Marking, Pairing, Unmarked
from engine.operations.experiments.outcomes import read_paths, read_regression, read_trend
from engine.operations.experiments.planning import Plan, Planner, naming
from engine.operations.experiments.records import (
    CellPage,
    Experiment,
    ExperimentRefused,
    Mark,
    ScorerSpec,
    State,
    UnknownExperiment,
)
from engine.operations.experiments.running.drivers import Drivers
from engine.operations.experiments.running.estimating import estimate, judges_of, loads_of
from engine.operations.experiments.running.host import Host
from engine.operations.experiments.running.preparing import Preparing
from engine.operations.experiments.running.runner import design_of, results_of
from engine.operations.experiments.scorers import read_scorers, scorers_digest
from engine.operations.experiments.store import ExperimentStore
from engine.operations.rehearsal import Cost
from engine.records import Launch, RunInfo
from engine.runtime.run_factory import ACTOR

Seen = Callable[[Experiment | RunInfo], bool]


class Experiments:
    """The experiments of a conductor, which makes their runs.

    Args:
        host: the conductor.
        check: checks a launch as if it was started. Raises `InvalidInput`, and what starting it may raise.
        rehearse: returns what a run costs, by a rehearsal.
        is_alive: whether the process of that name is still alive; see `LocalConductor`.
    """

    def __init__(
        self,
        host: Host,
        check: Callable[[Launch], Awaitable[object]],
        rehearse: Callable[[Launch], Awaitable[Cost]],
        is_alive: Callable[[str], bool],
    ) -> None:
        self._host, self._rehearse = host, rehearse
        documents = host.journal.documents
        self._store, self.datasets = (
            ExperimentStore(documents),
            Library(host.journal, host.catalog, host.clock),
        )
        self._adoption = Adoption(documents, host.charts, host.catalog, self.datasets, host.clock)
        self._marking = Marking(host, self._store, self.datasets)
        self._bundles = BundleExport(host, self._store, self.datasets)
        self._preparing = Preparing(host, self._store, self.datasets, check)
        self._drivers = Drivers(host, self._store, self.datasets, self._preparing, is_alive)
        self.run, self.close, self.wait = self._drivers.run, self._drivers.close, self._drivers.wait
        self._seen: Seen = lambda record: True
        self._counts: dict[tuple[str, str, str], int] = {}
        """How many cases a split of a version of a dataset has."""

    def seen_by(self, can_see: Seen) -> Experiments:
        """Return the experiments of a person who may see these, and these runs."""
        narrowed = object.__new__(Experiments)
        vars(narrowed).update(vars(self), _seen=can_see)
        return narrowed

    async def list(self, *, state: State | None = None, after: float | None = None) -> list[Experiment]:
        """Return the experiments, newest first: those in a state, or made after a moment."""
        stored = await self._store.newest(after, **({'state': state} if state else {}))
        return [item for item in stored if self._seen(item)]

    async def get(self, experiment: str) -> Experiment:
        """Return an experiment by its id. Raises `UnknownExperiment`."""
        stored = await self._store.experiments.get(experiment)
        if not self._seen(stored):
            raise UnknownExperiment(experiment)
        return stored

    async def plan(self, experiment: Experiment) -> Plan:
        """Return what an experiment would do. Raises as `add`."""
        pinned, planner = await self._prepare(experiment)
        reusable, changed = await self._preparing.reusable(pinned, planner)

        def count() -> int:
            return sum(reusable(planned) is not None for planned in planner.runs()) if pinned.after else 0

        reused = await asyncio.to_thread(count)
        per_variant = len(planner.cases) * pinned.repeats
        runs = per_variant * len(pinned.variants) - reused
        judges = judges_of(planner)
        return Plan(
            cases=len(planner.cases),
            runs=runs,
            reused=reused,
            judges=round(sum(times for _, times in judges)),
            estimate=await estimate([*loads_of(planner, runs), *judges], self._rehearse, self._host.journal),
            changed=changed,
        )

    async def add(self, experiment: Experiment) -> Experiment:
        """Store an experiment and start it.

        Raises:
            InvalidInput: names the field, the variant or the case.
        """
        pinned, planner = await self._prepare(experiment)
        started = replace(
            pinned,
            id=experiment.id or uuid.uuid4().hex[:12],
            state='running',
            reason='',
            created=self._host.clock.now(),
            ended=0.0,
            author=ACTOR.get(),
            digest=scorers_digest(pinned.scorers),
            parts=await asyncio.to_thread(planner.parts),
        )
        await self._store.experiments.write([started])
        await self._drivers.adopt(started.id)
        return started

    async def cells(self, experiment: str, since: float = 0.0, case: str = '') -> CellPage:
        """Return the cells, or a case's, that have changed after a cursor. Raises `UnknownExperiment`."""
        stored, read = await self.get(experiment), self._store
        changed = await (read.cells_of(stored, case, since) if case else read.cells_since(experiment, since))
        cases = await self._count_cases(stored)
        return CellPage(
            cells=tuple(changed),
            cursor=changed[-1].changed if changed else since,
            planned=cases * len(stored.variants) * stored.repeats,
        )

    async def answer(self, experiment: str) -> Answer:
        """Return what the runs so far say of the variants. Raises `UnknownExperiment`."""
        stored = await self.get(experiment)
        results = results_of(await self._store.cells_since(experiment, 0.0))
        design = design_of(stored, await self._count_cases(stored))
        return await asyncio.to_thread(find_answer, design, results, cut_short=stored.state == 'done')

    async def paths(self, experiment: str) -> PathAnswer:
        """Return where the paths of variants part. Raises `UnknownExperiment`."""
        stored = await self.get(experiment)
        return await read_paths(self._host.journal, stored, await self._store.cells_since(experiment, 0.0))

    async def trend(self, experiment: str) -> Sequence[TrendPoint]:
        """Return the scores of versions of its workflow, the oldest first. Raises `UnknownExperiment`."""
        return await read_trend(self._store, await self.get(experiment), await self.list())

    async def regression(self, experiment: Experiment) -> str:
        """Return why an experiment that is done is a regression, in words; '' if it is none."""
        return await read_regression(self._store, experiment)

    async def export(self, experiment: str, *, compressed: bool = True) -> AsyncIterator[bytes]:
        """Export an experiment; see `BundleExport.export`. Raises `UnknownExperiment`."""
        stored = await self.get(experiment)
        async for piece in self._bundles.export(stored, can_see=self._seen, compressed=compressed):
            yield piece

    async def pause(self, experiment: str) -> Experiment:
        """Start no more runs; those under way go on. Raises `UnknownExperiment`, `EventRefused`."""
        return await self._steer(experiment, 'pause', {'running'}, state='paused')

    async def resume(self, experiment: str) -> Experiment:
        """Go on after a pause or failure, or with what a killed process has left. Raises as `pause`."""
        stored = await self.get(experiment)
        if stored.state == 'paused' or stored.is_over:
            stored = await self._steer(
                experiment,
                'resume',
                {'paused', 'failed'},
                lambda stored: replace(stored, reason='', ended=0.0),
                state='running',
            )
        await self._drivers.adopt(stored.id)
        return stored

    async def cancel(self, experiment: str, reason: str = '') -> Experiment:
        """Stop an experiment and cancel its runs under way. Raises `UnknownExperiment`, `EventRefused`."""
        cancelled = await self._steer(
            experiment,
            'cancel',
            {'running', 'paused', 'scoring'},
            lambda stored: replace(stored, ended=self._host.clock.now()),
            state='cancelled',
            reason=reason,
        )
        await self._drivers.settle(experiment)
        return cancelled

    async def rescore(self, experiment: str, scorers: Sequence[ScorerSpec] | None = None) -> Experiment:
        """Score all runs again, with other scorers if some are given; no run is made.

        Raises:
            UnknownExperiment, InvalidInput
            EventRefused: its runs are still being made.
        """
        specs = tuple(scorers or ())
        read_scorers(specs)

        def edit(stored: Experiment) -> Experiment:
            chosen = specs or stored.scorers
            digest = scorers_digest(chosen) + uuid.uuid4().hex[:8]  # Judges are asked again.
            return replace(stored, scorers=chosen, digest=digest)

        scored = await self._steer(
            experiment, 'rescore', {'done', 'cancelled', 'failed'}, edit, state='scoring'
        )
        await self._drivers.adopt(scored.id)
        return scored

    async def remove(self, experiment: str) -> None:
        """Remove an experiment; its runs stay. Raises `UnknownExperiment`, `EventRefused`."""
        stored = await self.get(experiment)
        if not stored.is_over:
            raise ExperimentRefused(experiment, 'remove', f'it is {stored.state}: cancel it first')
        await self._store.remove(experiment)

    async def mark(
        self,
        experiment: str,
        cell: str,
        *,
        over: str = '',
        value: float | None = None,
        comment: str = '',
    ) -> Mark:
        """Store what a person thinks of a run, and score it by that. Raises as `get`, and `InvalidInput`."""
        mark = Mark(cell=cell, over=over, value=value, comment=comment)
        return await self._marking.mark(await self.get(experiment), mark)

    async def marks(self, experiment: str) -> Sequence[Mark]:
        """Return people's marks, oldest first. Raises `UnknownExperiment`."""
        await self.get(experiment)
        return await self._store.marks.list(about=experiment)

    async def to_mark(self, experiment: str, limit: int = 10) -> Sequence[Pairing]:
        """Return runs that the caller has not marked, without their variants. Raises `UnknownExperiment`."""
        return await self._marking.to_mark(await self.get(experiment), limit)

    async def unmarked(self) -> Sequence[Unmarked]:
        """Return the experiments with answers that the caller has not marked, newest first."""
        return await self._marking.unmarked(self._seen)

    async def defaults(self) -> Sequence[LaunchDefault]:
        """Return the variants that are defaults, of experiments that may be seen."""
        seen = {item.id for item in await self.list()}
        return [item for item in await self._adoption.list() if item.experiment in seen]

    async def adoption(self, experiment: str, variant: str) -> AdoptionPlan:
        """Return what making a variant a version of its chart would change. Raises as `adopt`."""
        return await self._adoption.plan(await self.get(experiment), variant)

    async def adopt(
        self, experiment: str, variant: str, *, kind: AdoptionKind = 'settings', base: str = ''
    ) -> LaunchDefault:
        """Make a variant the default of its pattern. Raises `UnknownExperiment`, and as `Adoption.adopt`."""
        return await self._adoption.adopt(await self.get(experiment), variant, kind, base)

    async def reset_default(self, pattern: str, *, version: str = '') -> None:
        """Take back that a variant is the default. Raises as `Adoption.remove`."""
        await self._adoption.remove(pattern, version)

    async def agreement(self, experiment: str) -> Sequence[Agreement]:
        """Return how far each scorer agrees with people's marks. Raises `UnknownExperiment`."""
        return await self._marking.agreement(await self.get(experiment))

    async def _prepare(self, experiment: Experiment) -> tuple[Experiment, Planner]:
        pinned, planner = await self._preparing.prepare(experiment)
        if experiment.after:
            with naming('after', UnknownExperiment):
                await self.get(experiment.after)
        return pinned, planner

    async def _count_cases(self, experiment: Experiment) -> int:
        key = (experiment.dataset, experiment.version, experiment.split)
        if key not in self._counts:
            try:
                cases = await self.datasets.cases(key[0], key[1], split=experiment.split)
            except UnknownDataset:  # It has been removed.
                cells = await self._store.cells.list(about=experiment.id)
                return len({cell.case for cell in cells})
            self._counts[key] = len(cases)
        return self._counts[key]

    async def _steer(
        self,
        experiment: str,
        event: str,
        states: set[str],
        edit: Callable[[Experiment], Experiment] = lambda stored: stored,
        **values: str,
    ) -> Experiment:
        await self.get(experiment)

        def change(stored: Experiment) -> Experiment:
            if stored.state not in states:
                raise ExperimentRefused(experiment, event, f'it is {stored.state}')
            changed: Experiment = replace(edit(stored), **values)  # type: ignore[arg-type]
            return changed

        return await self._store.change(experiment, change)
