"""Runner: makes the runs of one experiment, a few at a time, scores them, and stops when told to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Final

from engine.errors import (
    EngineError,
    EntryChanged,
    EventRefused,
    FilesUnavailable,
    JournalDamaged,
    JournalError,
    JournalUnavailable,
    UnknownRun,
)
from engine.operations.experiments.answer import CellResult, Design, EarlyStop, Measure
from engine.operations.experiments.planning import PlannedRun, Planner
from engine.operations.experiments.records import Cell, Experiment, Mark, Score, cell_id
from engine.operations.experiments.running.cells import Cells, Spent
from engine.operations.experiments.running.host import RETRY_SECONDS, Desk, Host, RunLost, end_of
from engine.operations.experiments.scorers import Scorer, read_scorers, score_run
from engine.operations.experiments.scorers.people import People
from engine.operations.experiments.store import ExperimentStore
from engine.records import RunId, Status

log = logging.getLogger('hemicycle')
LOOK_SECONDS = 1.0
"""Seconds between looks at whether a person has paused or cancelled the experiment."""
NOTHING_TO_COMPARE: Final = 'the run that it is compared with could not be started, or is gone'


class Runner:
    """Runs one experiment in this process. Its cells say what is done, so another process can go on with it.

    Args:
        host: the conductor of the runs.
        store: where the cells are.
        planner: the runs there are to be.
        reusable: finds the run of an earlier experiment that may be taken over for a planned one.
    """

    def __init__(
        self,
        host: Host,
        store: ExperimentStore,
        planner: Planner,
        reusable: Callable[[PlannedRun], Cell | None] = lambda planned: None,
    ) -> None:
        self.experiment: Experiment = planner.experiment
        self._host, self._store, self._planner, self._reusable = host, store, planner, reusable
        self._desk = Desk(host, self.experiment)
        self._scorers: dict[str, Scorer] = read_scorers(self.experiment.scorers)
        comparing = {name for name, scorer in self._scorers.items() if scorer.compares}
        self._cells = Cells(store, host.clock, self.experiment, comparing)
        self._comparing = comparing
        self._cases = {case.id: case for case in planner.cases}
        self._marks: dict[str, list[Mark]] | None = None
        self._spent = Spent()
        self._early = EarlyStop(design_of(self.experiment, len(planner.cases)))
        self._begun: Iterator[PlannedRun] = iter(())
        self._ahead = self._find_ahead()

    async def run(self) -> None:
        """Make and score all runs that are not yet made or scored; return once it is over.

        What is under way when it is cancelled goes on, to be settled.

        Raises:
            EntryChanged: another process runs the experiment, too.
        """
        await self._load()
        active: set[asyncio.Task[None]] = set()
        try:
            while not (await self._look()).is_over:
                if self.experiment.state != 'paused':
                    self._fill(active)
                if active:
                    active = await self._wait(active)
                elif self.experiment.state == 'paused':
                    await self._host.clock.sleep(LOOK_SECONDS)
                else:
                    break
        finally:
            for task in active:
                task.cancel()
            await asyncio.gather(*active, return_exceptions=True)
        if not self.experiment.is_over:
            await self._finish()

    async def _load(self) -> None:
        """Read what is done already."""
        for cell in await self._cells.load():
            if cell.state != 'running':
                self._spent.add(cell)
                self._spent.add_judges(cell)
            self._weigh(cell)
        begun = [cell for cell in self._cells.open.values() if cell.case in self._cases]
        self._begun = (
            self._planner.plan(self._cases[cell.case], cell.variant, cell.repeat) for cell in begun
        )

    @staticmethod
    async def _wait(active: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """Wait until a run has ended, but not for ever; return those under way."""
        done, active = await asyncio.wait(active, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return active

    def _fill(self, active: set[asyncio.Task[None]]) -> None:
        """Have as many runs made at once as may be: first those that are begun, whatever they cost."""
        while len(active) < self.experiment.at_once:
            planned = next(self._begun, None)
            if planned is None and self.experiment.state == 'running' and not self._limit():
                planned = next(self._ahead, None)
            if planned is None:
                return
            active.add(asyncio.create_task(self._carry_out(planned), name=f'cell {planned.cell.id}'))

    def _find_ahead(self) -> Iterator[PlannedRun]:
        """Yield the runs that were never started, planned one by one."""
        for case, variant, repeat in self._planner.places():
            key = cell_id(self.experiment.id, case.id, variant, repeat)
            if key not in self._cells and not self._is_settled(variant):
                yield self._planner.plan(case, variant, repeat)

    def _is_settled(self, variant: str) -> bool:
        """Whether it is clear enough how a variant compares; for the first one, how all the others do."""
        if not self.experiment.stop_early:
            return False
        first, *others = [item.name for item in self.experiment.variants]
        settled = self._early.settled
        return variant in settled if variant != first else bool(others) and {*others} <= {*settled}

    def _limit(self) -> str:
        """Return which limit of the budget is reached; '' if none is."""
        budget, spent = self.experiment.budget, self._spent
        if budget is None:
            return ''
        used = {'tokens': spent.tokens, 'cost': spent.dollars, 'seconds': spent.seconds}
        return next((kind for kind, limit in budget.limits().items() if used[kind] >= limit), '')

    async def _look(self) -> Experiment:
        """Return the experiment as a person has changed it meanwhile."""
        with suppress(JournalUnavailable):
            stored = await self._store.experiments.get(self.experiment.id)
            if stored.digest != self.experiment.digest:
                raise EntryChanged('experiment', self.experiment.id)
            self.experiment = replace(self.experiment, state=stored.state, reason=stored.reason)
        return self.experiment

    async def _carry_out(self, planned: PlannedRun) -> None:
        """Make a run and score it, however often the journal is unavailable meanwhile."""
        while True:
            try:
                await self._make(planned)
                return
            except (EntryChanged, JournalDamaged):
                raise
            except (JournalError, FilesUnavailable) as error:
                log.warning('experiment %s waits: %s', self.experiment.id, error)
                await self._host.clock.sleep(RETRY_SECONDS)

    async def _make(self, planned: PlannedRun) -> None:
        cell = self._cells.open.get(planned.cell.id)
        if cell is None and planned.cell.id not in self._cells:
            old = self._reusable(planned)
            cell = await self._cells.write(
                replace(planned.cell, run=old.run, reused=True) if old else planned.cell
            )
        if cell and cell.state == 'running':
            cell = await self._finish_run(cell, planned)
            self._spent.add(cell)
        while cell and not self._cells.is_done(cell):
            cell = await self._score(cell)
        for waiting in self._cells.waiting_for(planned.cell):
            await self._score(waiting)

    async def _finish_run(self, cell: Cell, planned: PlannedRun) -> Cell:
        """Start the run of a cell unless it was started, and wait for its end."""
        stopped = ''
        try:
            if not cell.reused:
                stopped = (await self._desk.outcome(cell.run, planned.launch)).error
            return await self._cells.write(await end_of(self._host, cell, stopped))
        except UnknownRun as error:
            if cell.reused:  # It has been removed since, so it is made again.
                cell = await self._cells.write(replace(cell, run=planned.cell.run, reused=False))
                return await self._finish_run(cell, planned)
            return await self._fail(cell, error)
        except (RunLost, JournalDamaged) as error:
            return await self._fail(cell, error)
        except (JournalError, FilesUnavailable, EventRefused):
            raise
        except EngineError as error:
            return await self._fail(replace(cell, run=RunId('')), error)

    async def _fail(self, cell: Cell, error: EngineError) -> Cell:
        """Store that a run could not be started, or is lost."""
        return await self._cells.write(replace(cell, state='ended', status=Status.FAILED, error=str(error)))

    async def _score(self, cell: Cell) -> Cell:
        while True:
            scores = await self._find_scores(cell) if cell.run else {}
            tokens, dollars = await self._use_of_judges(scores)
            scored = replace(
                cell,
                state='scored',
                scores=scores,
                scored_by=self.experiment.digest,
                judge_tokens=tokens,
                judge_dollars=dollars,
            )
            try:
                scored = await self._cells.write(scored)
                break
            except EntryChanged:  # A person may have marked it, which counts.
                cell, self._marks = await self._cells.reread(cell), None
        self._spent.add_judges(scored, cell)
        self._weigh(scored)
        return scored

    async def _find_scores(self, cell: Cell) -> Mapping[str, Score]:
        first = await self._cells.first_of(cell) if self._comparing else None
        marks = await self._marks_of(cell)
        try:
            evidence = await self._desk.evidence(
                cell,
                self._cases[cell.case],
                self._scorers,
                other=first,
                marks=marks,
            )
        except (UnknownRun, JournalDamaged) as error:
            return {name: Score(reason=str(error)) for name in self._scorers}
        scores = await score_run(self._scorers, evidence)
        if first is None:
            return scores
        return {
            name: Score(reason=NOTHING_TO_COMPARE) if name in self._comparing and score.waits else score
            for name, score in scores.items()
        }

    async def _use_of_judges(self, scores: Mapping[str, Score]) -> tuple[int, float | None]:
        """Return the tokens and dollars of the runs that have judged."""
        tokens, dollars, is_known = 0, 0.0, True
        for run in (run for score in scores.values() for run in score.runs):
            with suppress(UnknownRun):
                usage = (await self._host.info(run)).usage
                tokens, dollars = tokens + usage.total, dollars + (usage.cost or 0.0)
                is_known = is_known and usage.cost is not None
        return tokens, dollars if is_known else None

    async def _marks_of(self, cell: Cell) -> tuple[Mark, ...]:
        """Return people's marks of a run; while all are scored again, as they were at the start of that."""
        if not any(isinstance(scorer, People) for scorer in self._scorers.values()):
            return ()
        if self.experiment.state != 'scoring':
            return tuple(await self._store.marks_of(cell))
        if self._marks is None:
            self._marks = {}
            for mark in await self._store.marks.list(about=self.experiment.id):
                for marked in filter(None, (mark.cell, mark.over)):
                    self._marks.setdefault(marked, []).append(mark)
        return tuple(self._marks.get(cell.id, ()))

    def _weigh(self, cell: Cell) -> None:
        """Count a run towards an early stop, unless it waits for the one that it is compared with."""
        if self.experiment.stop_early and self._cells.is_done(cell) and not self._cells.waits(cell):
            self._early.add(result_of(cell))

    async def _finish(self) -> None:
        """Say that the experiment is done, and why if not all cases were run."""
        reason = ''
        if len(self._cells) < self._planned:
            limit = self._limit()
            reason = f'its budget of {limit} is used up' if limit else 'the answer is clear'

        def end(stored: Experiment) -> Experiment:
            if stored.state not in ('scoring', 'running'):
                return stored
            why = stored.reason if stored.state == 'scoring' else reason
            return replace(stored, state='done', reason=why, ended=self._host.clock.now())

        self.experiment = await self._store.change(self.experiment.id, end)

    @property
    def _planned(self) -> int:
        return len(self._cases) * len(self.experiment.variants) * self.experiment.repeats


def design_of(experiment: Experiment, cases: int) -> Design:
    """Return what is compared, as the statistics need it."""
    first, *others = [variant.name for variant in experiment.variants]
    return Design(
        base=first,
        variants=tuple(others),
        measures=tuple(
            Measure(name=spec.name, lower_is_better=spec.better == 'lower', worth=spec.worth)
            for spec in experiment.scorers
        ),
        cases=cases,
        repeats=experiment.repeats,
        early_stop=experiment.stop_early,
    )


def result_of(cell: Cell) -> CellResult:
    """Return a run that has ended, as the statistics need it."""
    return CellResult(
        case=cell.case,
        variant=cell.variant,
        repeat=cell.repeat,
        failed=cell.status is not Status.DONE,
        scores={name: score.value for name, score in cell.scores.items()},
        dollars=cell.dollars,
        tokens=cell.tokens,
        seconds=cell.seconds,
        ended=cell.changed,
    )


def results_of(cells: Iterable[Cell]) -> list[CellResult]:
    """Return the runs that have ended and are scored."""
    return [result_of(cell) for cell in cells if cell.state == 'scored']
