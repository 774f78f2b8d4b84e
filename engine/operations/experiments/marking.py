"""Marking: people's marks of runs, blind, and how far scorers agree with them."""

from __future__ import annotations

import asyncio
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from engine.errors import EntryChanged, InvalidInput, UnknownRun
from engine.operations.experiments.datasets import Case
from engine.operations.experiments.library import Library, UnknownDataset
from engine.operations.experiments.records import Cell, Experiment, Mark, cell_id, digest_of, mark_id
from engine.operations.experiments.running.host import Desk, Host
from engine.operations.experiments.scorers import latest_marks, read_scorers, score_run
from engine.operations.experiments.scorers.people import People
from engine.operations.experiments.store import ExperimentStore
from engine.records import Status
from engine.runtime.run_factory import ACTOR

MIN_CORRELATED = 3
"""How many marked runs a correlation needs."""
MAX_UNMARKED = 50
"""How many of the newest experiments are looked through for answers to mark."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """Runs to be marked by a person, who is not told which variants made them."""

    cell: str
    over: str = ''
    """The cell of the run beside it, in an order by chance; '' if there is one run to look at."""
    parameters: Mapping[str, Any]
    """Those of the case."""
    expectation: Any = None
    answer: Any = None
    other: Any = None
    """The answer of the run beside it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmarked:
    """An experiment with answers that a person has not marked yet."""

    experiment: str
    name: str
    left: int
    """How many are left: answers, or pairs of answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """How far a scorer agrees with people."""

    scorer: str
    runs: int
    """Runs that both have scored."""
    difference: float | None = None
    """How far its scores are from people's marks on average."""
    correlation: float | None = None
    """Spearman's rank correlation of both, from -1 to 1; None where one of them never varies."""
    pairs: int = 0
    """Pairs of runs of which people found one better, and both have a score."""
    alike: float | None = None
    """In what share of these the scorer finds the same one better; equal scores count half."""


class Marking:
    """The marks of a conductor's experiments."""

    def __init__(self, host: Host, store: ExperimentStore, datasets: Library) -> None:
        self._host, self._store, self._datasets = host, store, datasets
        self._left: dict[tuple[str, str], tuple[object, int]] = {}
        """How much a person has left of an experiment, and of which runs and marks that was counted."""

    async def mark(self, experiment: Experiment, mark: Mark) -> Mark:
        """Store a mark, and score the runs that it is about anew by what people think of them.

        Raises:
            InvalidInput: there is no such run, or the mark says nothing.
        """
        cells = {name: await self._store.cells.find(name) for name in (mark.cell, mark.over) if name}
        for field, name in (('cell', mark.cell), ('over', mark.over)):
            cell = cells.get(name)
            if name and (cell is None or cell.experiment != experiment.id or cell.status is None):
                raise InvalidInput({field: f'no run of this experiment has ended that is called {name!r}'})
        if mark.cell == mark.over:
            raise InvalidInput({'over': 'must be another run'})
        if mark.value is None and not mark.comment.strip():
            raise InvalidInput({'value': 'give a value from 0 to 1, or a comment'})
        now, author = self._host.clock.now(), ACTOR.get()
        stored = replace(mark, experiment=experiment.id, author=author, created=now)
        stored = replace(stored, id=mark_id(stored))
        await self._store.marks.write([stored])
        for cell in cells.values():
            if cell and cell.run:
                with suppress(UnknownRun):  # It has been removed; the mark stays.
                    await self._score(experiment, cell.id)
        return stored

    async def to_mark(self, experiment: Experiment, limit: int) -> list[Pairing]:
        """Return runs that the caller has not marked yet, the longest ended first."""
        pairs = (await self._pairs(experiment))[:limit]
        if not pairs:
            return []
        try:
            cases = {
                case.id: case for case in await self._datasets.cases(experiment.dataset, experiment.version)
            }
        except UnknownDataset:
            cases = {}
        me = ACTOR.get()
        return [await self._pairing(cases.get(cell.case), cell, other, me) for cell, other in pairs]

    async def unmarked(self, can_see: Callable[[Experiment], bool]) -> list[Unmarked]:
        """Return the experiments of which the caller has answers left to mark, newest first.

        What was cancelled or has failed is left alone. Counts again only where something has changed.
        """
        me, unmarked = ACTOR.get(), []
        for experiment in await self._store.experiments.list(newest=True, limit=MAX_UNMARKED):
            is_dropped = experiment.state in ('cancelled', 'failed')
            if is_dropped or not can_see(experiment) or not _people(experiment):
                continue
            cells = await self._store.cells.list(about=experiment.id, newest=True, limit=1)
            marks = await self._store.marks.list(about=experiment.id, newest=True, limit=1)
            stamp = (cells, marks, experiment.scorers)
            counted, left = self._left.get((experiment.id, me), (None, 0))
            if counted != stamp:
                left = len(await self._pairs(experiment))
                self._left[experiment.id, me] = (stamp, left)
            if left:
                unmarked.append(Unmarked(experiment=experiment.id, name=experiment.name, left=left))
        return unmarked

    async def _pairs(self, experiment: Experiment) -> list[tuple[Cell, Cell | None]]:
        """Return the runs that the caller has not marked, each with the one that is shown beside it."""
        people = next(iter(_people(experiment).values()), None)
        if people is None:
            return []
        me = ACTOR.get()
        marks = await self._store.marks.list(about=experiment.id)
        done = {frozenset((mark.cell, mark.over)) for mark in marks if mark.author == me}
        cells = [cell for cell in await self._store.cells.list(about=experiment.id) if _is_good(cell)]
        by_id = {cell.id: cell for cell in cells}
        pairs: list[tuple[Cell, Cell | None]] = []
        for cell in cells:
            other = None
            if people.compare:
                first = experiment.variants[0].name
                other = by_id.get(cell_id(experiment.id, cell.case, first, cell.repeat))
                if other is None or other is cell:
                    continue
            if frozenset((cell.id, other.id if other else '')) not in done:
                pairs.append((cell, other))
        return pairs

    async def agreement(self, experiment: Experiment) -> list[Agreement]:
        """Return how far each scorer agrees with people's marks of the same runs."""
        marks = latest_marks(await self._store.marks.list(about=experiment.id))
        cells = {cell.id: cell for cell in await self._store.cells.list(about=experiment.id)}
        kinds = {spec.name: spec for spec in experiment.scorers if spec.kind != 'people'}
        return [
            await asyncio.to_thread(_agree, name, spec.better == 'lower', cells, marks)
            for name, spec in kinds.items()
        ]

    async def _pairing(self, case: Case | None, cell: Cell, other: Cell | None, person: str) -> Pairing:
        if other and int(digest_of(cell.id, other.id, person), 16) % 2:
            cell, other = other, cell
        return Pairing(
            cell=cell.id,
            over=other.id if other else '',
            parameters=case.parameters if case else {},
            expectation=case.expectation if case else None,
            answer=await self._answer(cell),
            other=await self._answer(other) if other else None,
        )

    async def _answer(self, cell: Cell) -> Any:
        try:
            fold = await self._host.fold(cell.run)
        except UnknownRun:
            return None
        return fold.view.memory.get(fold.shape.answer) if fold.shape.answer else None

    async def _score(self, experiment: Experiment, cell: str) -> None:
        scorers = _people(experiment)
        while scorers:
            stored = await self._store.cells.find(cell)
            if stored is None or stored.state == 'running':
                return
            if stored.state == 'ended':
                try:
                    await self._store.touch(stored)  # Whoever scores it now sees that there is a mark.
                    return
                except EntryChanged:
                    continue
            evidence = await Desk(self._host, experiment).evidence(
                stored, _Unread(stored.case), scorers, marks=tuple(await self._store.marks_of(stored))
            )
            scores = {**stored.scores, **await score_run(scorers, evidence)}
            try:
                await self._store.touch(replace(stored, scores=scores))
                return
            except EntryChanged:
                continue


@dataclass(frozen=True, slots=True)
class _Unread:
    """A case for scorers that look at people's marks alone."""

    id: str
    expectation: Any = None


def _people(experiment: Experiment) -> dict[str, People]:
    """Return the scorers that ask people; the others need not be known here, as after an import."""
    scorers = read_scorers([spec for spec in experiment.scorers if spec.kind == 'people'])
    return {name: scorer for name, scorer in scorers.items() if isinstance(scorer, People)}


def _is_good(cell: Cell) -> bool:
    return cell.state == 'scored' and cell.status is Status.DONE


def _agree(name: str, is_lower_better: bool, cells: Mapping[str, Cell], marks: Sequence[Mark]) -> Agreement:
    """Return how far a scorer agrees with marks."""

    def score(cell: str) -> float | None:
        given = cells[cell].scores.get(name) if cell in cells else None
        return given.value if given else None

    alone: defaultdict[str, list[float]] = defaultdict(list)
    alike: list[float] = []
    for mark in marks:
        value = mark.value
        if value is None:
            continue
        if not mark.over:
            alone[mark.cell].append(value)
        elif value != 0.5 and (one := score(mark.cell)) is not None and (two := score(mark.over)) is not None:
            alike.append(0.5 if one == two else float(((one > two) != is_lower_better) == (value > 0.5)))
    both = [(value, fmean(values)) for cell, values in alone.items() if (value := score(cell)) is not None]
    return Agreement(
        scorer=name,
        runs=len(both),
        difference=fmean(abs(one - two) for one, two in both) if both else None,
        correlation=_correlation(both, -1 if is_lower_better else 1),
        pairs=len(alike),
        alike=fmean(alike) if alike else None,
    )


def _correlation(both: Sequence[tuple[float, float]], sign: int) -> float | None:
    ones, twos = {one for one, _ in both}, {two for _, two in both}
    if len(both) < MIN_CORRELATED or len(ones) < 2 or len(twos) < 2:
        return None
    from scipy.stats import spearmanr

    value = float(spearmanr([one for one, _ in both], [two for _, two in both]).statistic)
    return None if math.isnan(value) else sign * value
