"""Experiments: starts, continues, steers and reads experiments in a conductor's journal."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from engine.errors import (
    EngineError,
    EntryChanged,
    EventRefused,
    InvalidInput,
    JournalError,
    UnknownPattern,
    UnknownRun,
)
from engine.operations.experiments.adoption import Adoption, LaunchDefault
from engine.operations.experiments.answer import find_answer
from engine.operations.experiments.answer.path_records import PathAnswer
from engine.operations.experiments.answer.records import Answer, TrendPoint
from engine.operations.experiments.datasets.library import Library, UnknownDataset
from engine.operations.experiments.host import Host
from engine.operations.experiments.marking import Agreement, Marking, Pairing
from engine.operations.experiments.outcomes import read_paths, read_regression, read_trend
from engine.operations.experiments.planning import (
    MAX_PROBLEMS,
    Bound,
    Plan,
    PlannedRun,
    Planner,
    changes_since,
    naming,
    total_bound,
)
from engine.operations.experiments.recorded.answering import recording_problems
from engine.operations.experiments.records import Cell, Experiment, Mark, ScorerSpec, UnknownExperiment
from engine.operations.experiments.runner import Runner, design_of, results_of
from engine.operations.experiments.scorers import read_scorers, scorers_digest
from engine.operations.experiments.store import ExperimentStore
from engine.records import Launch, RunInfo, Status
from engine.runtime.run_factory import ACTOR

log = logging.getLogger('hemicycle')
LEASE_SECONDS = 20.0
"""How long a process is taken to run an experiment after its last sign of life."""
HEARTBEAT_SECONDS = 5.0
ADOPTION_SECONDS = 2.0
"""Seconds between looks for experiments that nobody runs."""
Seen = Callable[[Experiment], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class CellPage:
    """The cells of an experiment that have changed since a cursor."""

    cells: tuple[Cell, ...]
    cursor: float
    """Give it as `since` to get what changes afterwards."""
    planned: int
    """How many runs there are to be, of all variants together."""


class Experiments:
    """The experiments of a conductor, which makes their runs.

    Args:
        host: the conductor.
        check: checks a launch as if it was started. Raises `InvalidInput`, and what starting it may raise.
        bound: returns what a run uses at most.
        is_alive: whether the process of that name is still alive; see `LocalConductor`.
    """

    def __init__(
        self,
        host: Host,
        check: Callable[[Launch], Awaitable[object]],
        bound: Callable[[Launch], Awaitable[Bound]],
        is_alive: Callable[[str], bool],
    ) -> None:
        self._host, self._check, self._bound, self._is_alive = host, check, bound, is_alive
        self._store = ExperimentStore(host.journal.documents)
        self.datasets = Library(host.journal, host.catalog, host.clock)
        self._adoption = Adoption(host.journal.documents, host.clock)
        self._marking = Marking(host, self._store, self.datasets)
        self._runners: dict[str, asyncio.Task[None]] = {}
        """The experiments that run in this process."""
        self._again: set[str] = set()
        """Those of them that somebody wants to go on, though they may just have ended."""
        self._closing = asyncio.Event()
        self._seen: Seen = lambda experiment: True
        self._counts: dict[tuple[str, str, str], int] = {}
        """How many cases a split of a version of a dataset has."""

    def seen_by(self, can_see: Callable[[Experiment], bool]) -> Experiments:
        """Return the experiments of a person who may see these."""
        narrowed = object.__new__(Experiments)
        vars(narrowed).update(vars(self), _seen=can_see)
        return narrowed

    async def list(self) -> list[Experiment]:
        """Return all experiments, newest first."""
        return [item for item in await self._store.experiments.list(newest=True) if self._seen(item)]

    async def get(self, experiment: str) -> Experiment:
        """Return an experiment by its id. Raises `UnknownExperiment`."""
        stored = await self._store.experiments.get(experiment)
        if not self._seen(stored):
            raise UnknownExperiment(experiment)
        return stored

    async def plan(self, experiment: Experiment) -> Plan:
        """Return what an experiment would do. Raises as `add`."""
        pinned, planner = await self._prepare(experiment)
        reusable, changed = await self._reusable(pinned, planner)

        def count() -> int:
            return sum(reusable(planned) is not None for planned in planner.runs()) if pinned.after else 0

        reused = await asyncio.to_thread(count)
        samples = () if pinned.recorded else planner.sample_launches().values()
        bounds = [await self._bound(launch) for launch in samples]
        runs = len(planner.cases) * pinned.repeats * len(pinned.variants) - reused
        return Plan(
            cases=len(planner.cases),
            runs=runs,
            reused=reused,
            bound=total_bound(bounds, runs / len(pinned.variants)),
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
        await self._adopt(started)
        return started

    async def cells(self, experiment: str, since: float = 0.0) -> CellPage:
        """Return the cells that have changed after a cursor, in that order. Raises `UnknownExperiment`."""
        stored = await self.get(experiment)
        changed = await self._store.cells_since(experiment, since)
        cases = await self._count_cases(stored)
        return CellPage(
            cells=tuple(changed),
            cursor=changed[-1].changed if changed else since,
            planned=cases * len(stored.variants) * stored.repeats,
        )

    async def answer(self, experiment: str) -> Answer:
        """Return what the runs so far say of the variants. Raises `UnknownExperiment`."""
        stored = await self.get(experiment)
        results = results_of(await self._store.cells.list(about=experiment))
        design = design_of(stored, await self._count_cases(stored))
        return await asyncio.to_thread(find_answer, design, results, cut_short=stored.state == 'done')

    async def paths(self, experiment: str) -> PathAnswer:
        """Return where the paths of variants part. Raises `UnknownExperiment`."""
        stored = await self.get(experiment)
        return await read_paths(self._host.journal, stored, await self._store.cells.list(about=experiment))

    async def trend(self, experiment: str) -> Sequence[TrendPoint]:
        """Return the scores of versions of its workflow, the oldest first. Raises `UnknownExperiment`."""
        return await read_trend(self._store, await self.get(experiment), await self.list())

    async def regression(self, experiment: Experiment) -> str:
        """Return why an experiment that is done is a regression, in words; '' if it is none."""
        return await read_regression(self._store, experiment)

    async def pause(self, experiment: str) -> Experiment:
        """Start no more runs; those under way go on. Raises `UnknownExperiment`, `EventRefused`."""
        return await self._steer(experiment, 'pause', {'running'}, state='paused')

    async def resume(self, experiment: str) -> Experiment:
        """Go on after a pause, or with what a process that was killed has left. Raises as `pause`."""
        stored = await self.get(experiment)
        if stored.state == 'paused' or stored.is_over:
            stored = await self._steer(experiment, 'resume', {'paused'}, state='running')
        await self._adopt(stored)
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
        for cell in await self._store.cells.list(about=experiment, state='running'):
            if not cell.reused:
                with suppress(EventRefused, UnknownRun):
                    await self._host.cancel(cell.run, 'its experiment was cancelled')
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

        scored = await self._steer(experiment, 'rescore', {'done', 'cancelled'}, edit, state='scoring')
        await self._adopt(scored)
        return scored

    async def remove(self, experiment: str) -> None:
        """Remove an experiment; its runs stay. Raises `UnknownExperiment`, `EventRefused`."""
        stored = await self.get(experiment)
        if not stored.is_over:
            raise EventRefused(experiment, 'remove', f'it is {stored.state}: cancel it first')
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

    async def defaults(self) -> Sequence[LaunchDefault]:
        """Return the variants that are defaults, of experiments that may be seen."""
        seen = {item.id for item in await self.list()}
        return [item for item in await self._adoption.list() if item.experiment in seen]

    async def adopt(self, experiment: str, variant: str) -> LaunchDefault:
        """Make a variant what the launch form of its pattern starts from.

        Raises:
            UnknownExperiment
            InvalidInput: there is no such variant, or it would change nothing.
        """
        adopted = await self.get(experiment)
        try:
            cases = await self.datasets.cases(adopted.dataset, adopted.version)
        except UnknownDataset:
            cases = []
        given = set.intersection(*(set(case.parameters) for case in cases)) if cases else set()
        return await self._adoption.adopt(adopted, variant, given)

    async def reset_default(self, pattern: str) -> None:
        """Have the launch form of a pattern start from its own defaults again. Raises `NoLaunchDefault`."""
        await self._adoption.remove(pattern)

    async def agreement(self, experiment: str) -> Sequence[Agreement]:
        """Return how far each scorer agrees with people's marks. Raises `UnknownExperiment`."""
        return await self._marking.agreement(await self.get(experiment))

    async def run(self) -> None:
        """Go on with all experiments that no process runs, until cancelled."""
        while True:
            try:
                for state in ('running', 'scoring', 'paused'):
                    for stored in await self._store.experiments.list(state=state):
                        await self._adopt(stored)
            except JournalError as error:
                log.warning('experiments wait for the journal: %s', error)
            await self._host.clock.sleep(ADOPTION_SECONDS)

    async def settle(self, experiment: str) -> Experiment:
        """Return an experiment once this process is not running it (any more). Raises `UnknownExperiment`."""
        while task := self._runners.get(experiment):
            await asyncio.wait({task})
        return await self.get(experiment)

    async def close(self) -> None:
        """Stop making runs; another process, or the next one, goes on."""
        self._closing.set()
        tasks = [*self._runners.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _prepare(self, experiment: Experiment) -> tuple[Experiment, Planner]:
        """Check an experiment, and return it with the version of its dataset."""
        read_scorers(experiment.scorers)
        base = experiment.base.change({})
        if experiment.budget:
            experiment.budget.check()
        with naming('dataset', UnknownDataset):
            dataset = await self.datasets.get(experiment.dataset)
            version = dataset.version(experiment.version)
            pinned = replace(experiment, base=base, dataset=dataset.id, version=version.id)
            cases = await self.datasets.cases(dataset.id, version.id, split=experiment.split)
        with naming('base.pattern', UnknownPattern):
            planner = Planner(pinned, cases, self._host.catalog)
            await asyncio.to_thread(planner.check)
        if pinned.recorded:
            await self._check_recorded(planner)
        for place, launch in enumerate(planner.sample_launches().values()):
            try:
                await self._check(launch)
            except InvalidInput as error:
                at = f'variants.{place}.change'
                raise InvalidInput({f'{at}.{name}': text for name, text in error.problems.items()}) from None
        if experiment.after:
            with naming('after', UnknownExperiment):
                await self.get(experiment.after)
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

    async def _reusable(
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
                raise EventRefused(experiment, event, f'it is {stored.state}')
            changed: Experiment = replace(edit(stored), **values)  # type: ignore[arg-type]
            return changed

        return await self._store.change(experiment, change)

    async def _adopt(self, experiment: Experiment) -> None:
        """Run an experiment in this process, unless it or another one does so already."""
        if experiment.id in self._runners:
            self._again.add(experiment.id)
            return
        if experiment.is_over or self._closing.is_set() or not await self._hold(experiment.id):
            return
        if experiment.id not in self._runners:
            self._spawn(experiment.id, self._drive(experiment.id))

    def _spawn(self, experiment: str, work: Coroutine[Any, Any, None]) -> None:
        self._again.discard(experiment)
        task = asyncio.create_task(work, name=f'experiment {experiment}')
        self._runners[experiment] = task
        task.add_done_callback(partial(self._forget, experiment))

    def _forget(self, experiment: str, task: asyncio.Task[None]) -> None:
        del self._runners[experiment]
        if experiment in self._again and not self._closing.is_set():
            self._spawn(experiment, self._drive_again(experiment))

    async def _drive_again(self, experiment: str) -> None:
        """Run an experiment that was wanted while it was being left, if there is anything left to do."""
        with suppress(UnknownExperiment, JournalError):
            stored = await self._store.experiments.get(experiment)
            if not stored.is_over and await self._hold(experiment):
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
                    now = self._host.clock.now()
                    failed = partial(replace, state='failed', reason=str(error), ended=now)
                    await self._store.change(experiment, failed)
                    return
        finally:
            with suppress(JournalError):
                await self._store.release_lease(experiment, self._host.owner)

    async def _run_once(self, experiment: str) -> None:
        stored = await self._store.experiments.get(experiment)
        cases = await self.datasets.cases(stored.dataset, stored.version, split=stored.split)
        planner = await asyncio.to_thread(Planner, stored, cases, self._host.catalog)
        reusable, _ = await self._reusable(stored, planner)
        runner = Runner(self._host, self._store, planner, reusable)
        await self._while_held(experiment, asyncio.ensure_future(runner.run()))

    async def _while_held(self, experiment: str, work: asyncio.Future[None]) -> None:
        try:
            while not work.done():
                await asyncio.wait([work], timeout=HEARTBEAT_SECONDS)
                if not work.done() and not await self._still_holds(experiment):
                    raise EntryChanged('experiment-lease', experiment)
            await work
        finally:
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
