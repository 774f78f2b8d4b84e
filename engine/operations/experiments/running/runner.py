"""Runner: makes the runs of one experiment, a few at a time, scores them, and stops when told to."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
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
from engine.operations.experiments.running.host import Desk, Host
from engine.operations.experiments.scorers import Scorer, read_scorers, score_run
from engine.operations.experiments.scorers.people import People
from engine.operations.experiments.store import ExperimentStore
from engine.records import RunId, Status

log = logging.getLogger('hemicycle')
RETRY_SECONDS = 1.0
"""Seconds until something is tried again that the journal or the files could not do."""
LOOK_SECONDS = 1.0
"""Seconds between looks at whether a person has paused or cancelled the experiment."""
MIN_TICK = 1e-6
"""By how much cursors of changes differ at least, in seconds."""


NEVER_JUDGED: Final = Cell(id='', experiment='', case='', variant='', repeat=1, run=RunId(''))


@dataclass(slots=True)
class Spent:
    """What all runs of an experiment have used, those of judges included."""

    tokens: int = 0
    dollars: float = 0.0
    seconds: float = 0.0

    def add(self, cell: Cell) -> None:
        """Count a run that has ended; a reused one was paid for before."""
        if not cell.reused:
            self.tokens += cell.tokens
            self.dollars += cell.dollars or 0.0
            self.seconds += cell.seconds

    def add_judges(self, cell: Cell, before: Cell) -> None:
        """Count the runs that have judged a run, less those of the last time."""
        self.tokens += cell.judge_tokens - before.judge_tokens
        self.dollars += (cell.judge_dollars or 0.0) - (before.judge_dollars or 0.0)


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
        self._comparing = {name for name, scorer in self._scorers.items() if scorer.compares}
        self._cells: dict[str, Cell] = {}
        self._cases = {case.id: case for case in planner.cases}
        self._waiting: dict[tuple[str, int], set[str]] = {}
        """Cells that wait for the run of the first variant, by case and repeat."""
        self._marks: dict[str, list[Mark]] | None = None
        self._spent = Spent()
        self._early = EarlyStop(design_of(self.experiment, len(planner.cases)))
        self._changed = 0.0
        self.progressed = asyncio.Event()
        """Set whenever a cell has changed."""

    async def run(self) -> None:
        """Make and score all runs that are not yet made or scored; return when there are no more, or stopped.

        Raises:
            EntryChanged: another process runs the experiment, too.
        """
        await self._load()
        ahead = self._ahead()
        active: set[asyncio.Task[None]] = set()
        try:
            while True:
                await self._look()
                if self.experiment.state in ('running', 'scoring'):
                    self._fill(active, ahead)
                elif self.experiment.is_over:
                    await self._cancel_runs()
                if active:
                    active = await self._wait(active)
                elif self.experiment.state == 'paused':
                    await self._host.clock.sleep(LOOK_SECONDS)
                else:
                    break
            await self._finish()
        finally:
            for task in active:
                task.cancel()
            await asyncio.gather(*active, return_exceptions=True)

    async def _load(self) -> None:
        """Read what is done already."""
        for cell in await self._store.cells.list(about=self.experiment.id):
            self._cells[cell.id] = cell
            self._changed = max(self._changed, cell.changed)
            if cell.state != 'running':
                self._spent.add(cell)
                self._spent.add_judges(cell, NEVER_JUDGED)
            if self._is_done(cell):
                self._weigh(cell)

    @staticmethod
    async def _wait(active: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """Wait until a run has ended, but not for ever; return those under way."""
        done, active = await asyncio.wait(active, timeout=LOOK_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
        return active

    def _fill(self, active: set[asyncio.Task[None]], ahead: Iterator[PlannedRun]) -> None:
        """Start runs until as many are under way as may be."""
        while len(active) < self.experiment.at_once and not (
            self._limit() and self.experiment.state == 'running'
        ):
            planned = next(ahead, None)
            if planned is None:
                return
            active.add(asyncio.create_task(self._carry_out(planned), name=f'cell {planned.cell.id}'))

    def _ahead(self) -> Iterator[PlannedRun]:
        """Yield what is left to do: first what was under way, then what was never started."""
        begun = [cell for cell in self._cells.values() if not self._is_done(cell)]
        for cell in begun:
            if cell.case in self._cases:
                yield self._planner.plan(self._cases[cell.case], cell.variant, cell.repeat)
        for planned in self._planner.runs() if self.experiment.state != 'scoring' else ():
            if planned.cell.id not in self._cells and not self._is_settled(planned.cell.variant):
                yield planned

    def _is_done(self, cell: Cell) -> bool:
        return cell.state == 'scored' and cell.scored_by == self.experiment.digest

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
        cell = self._cells.get(planned.cell.id)
        if cell is None:
            old = self._reusable(planned)
            reused = replace(planned.cell, run=old.run, reused=True) if old else planned.cell
            cell = await self._write(reused)
        if cell.state == 'running':
            cell = await self._finish_run(cell, planned)
            self._spent.add(cell)
        if not self._is_done(cell):
            cell = await self._score(cell)
            await self._score_those_waiting(cell)

    async def _finish_run(self, cell: Cell, planned: PlannedRun) -> Cell:
        """Start the run of a cell unless it was started, and wait for its end."""
        try:
            if not cell.reused:
                await self._desk.start(cell.run, planned.launch)
            stopped = await self._desk.finish(cell.run)
            info = await self._host.info(cell.run)
        except (UnknownRun, JournalDamaged) as error:
            return await self._fail(cell, error)
        except (JournalError, FilesUnavailable, EventRefused):
            raise
        except EngineError as error:
            return await self._fail(replace(cell, run=RunId('')), error)
        seconds = (await self._host.fold(cell.run)).view.seconds
        return await self._write(
            replace(
                cell,
                state='ended',
                status=info.status,
                error=stopped or info.error,
                tokens=info.usage.total,
                dollars=info.usage.cost,
                seconds=seconds,
            )
        )

    async def _fail(self, cell: Cell, error: EngineError) -> Cell:
        """Store that a run could not be started, or is lost."""
        return await self._write(replace(cell, state='ended', status=Status.FAILED, error=str(error)))

    async def _score(self, cell: Cell) -> Cell:
        scores: dict[str, Score] = {}
        if cell.run:
            first = self._cells.get(
                cell_id(cell.experiment, cell.case, self.experiment.variants[0].name, cell.repeat)
            )
            other = first if self._comparing and first and first.state != 'running' and first.run else None
            marks = await self._marks_of(cell)
            try:
                evidence = await self._desk.evidence(
                    cell,
                    self._cases[cell.case],
                    self._scorers,
                    other=other if other and other.id != cell.id else None,
                    marks=marks,
                )
                scores = await score_run(self._scorers, evidence)
            except UnknownRun as error:
                scores = {name: Score(reason=str(error)) for name in self._scorers}
        judge_runs = [await self._host.info(run) for score in scores.values() for run in score.runs]
        costs = [info.usage.cost for info in judge_runs]
        scored = await self._write(
            replace(
                cell,
                state='scored',
                scores=scores,
                scored_by=self.experiment.digest,
                judge_tokens=sum(info.usage.total for info in judge_runs),
                judge_dollars=None if None in costs else sum(cost or 0.0 for cost in costs),
            )
        )
        self._spent.add_judges(scored, cell)
        self._weigh(scored)
        return scored

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

    async def _score_those_waiting(self, cell: Cell) -> None:
        """Score the runs that wait for this one: it is what they are compared with."""
        if cell.variant == self.experiment.variants[0].name:
            for waiting in self._waiting.pop((cell.case, cell.repeat), set()):
                await self._score(self._cells[waiting])

    def _weigh(self, cell: Cell) -> None:
        """Count a run towards an early stop, unless it waits for the one that it is compared with."""
        if any(cell.scores[name].waits for name in self._comparing if name in cell.scores):
            self._waiting.setdefault((cell.case, cell.repeat), set()).add(cell.id)
        elif self.experiment.stop_early:
            self._early.add(result_of(cell))

    async def _write(self, cell: Cell) -> Cell:
        """Store a cell, though a person may have marked its run meanwhile."""
        self._changed = max(self._host.clock.now(), self._changed + MIN_TICK)
        cell = replace(cell, changed=self._changed)
        try:
            stored = await self._store.write_cell(cell)
        except EntryChanged:
            there = await self._store.cells.find(cell.id)
            if there is None or (there.run, there.state) != (cell.run, 'scored'):
                raise
            stored = await self._store.write_cell(replace(cell, version=there.version))
        self._cells[cell.id] = stored
        self.progressed.set()
        return stored

    async def _cancel_runs(self) -> None:
        """Cancel what is under way, once the experiment is cancelled."""
        for cell in [cell for cell in self._cells.values() if cell.state == 'running' and not cell.reused]:
            with suppress(EventRefused, UnknownRun):
                await self._host.cancel(cell.run, 'its experiment was cancelled')

    async def _finish(self) -> None:
        """Say that the experiment is done, and why if not all cases were run."""
        reason = ''
        if limit := self._limit():
            reason = f'its budget of {limit} is used up'
        elif self.experiment.stop_early and len(self._cells) < self._planned:
            reason = 'the answer is clear'

        def end(stored: Experiment) -> Experiment:
            if stored.state not in ('scoring', 'running'):
                return stored
            why = stored.reason if stored.state == 'scoring' else reason
            return replace(stored, state='done', reason=why, ended=self._host.clock.now())

        self.experiment = await self._store.change(self.experiment.id, end)
        self.progressed.set()

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
