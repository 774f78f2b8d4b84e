"""Cells: the runs of one experiment, as the process that makes them knows them, and their use."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from engine.errors import EntryChanged
from engine.host.clock import Clock
from engine.operations.experiments.records import Cell, Experiment, cell_id
from engine.operations.experiments.store import MIN_TICK, ExperimentStore


@dataclass(slots=True)
class Spent:
    """What all runs of an experiment have used, those of judges included."""

    tokens: int = 0
    dollars: float = 0.0
    """Without what is not known."""
    seconds: float = 0.0

    def add(self, cell: Cell) -> None:
        """Count a run that has ended; a reused one was paid for before."""
        if not cell.reused:
            self.tokens += cell.tokens
            self.dollars += cell.dollars or 0.0
            self.seconds += cell.seconds

    def add_judges(self, cell: Cell, before: Cell | None = None) -> None:
        """Count the runs that have judged a run, less those of the last time."""
        self.tokens += cell.judge_tokens - (before.judge_tokens if before else 0)
        self.dollars += (cell.judge_dollars or 0.0) - ((before.judge_dollars or 0.0) if before else 0.0)


class Cells:
    """The cells of one experiment. Of those that are done, only the ids are kept: there may be many.

    Args:
        store: where they are.
        clock: the source of time.
        experiment: whose they are, with the scorers that they are to be scored by.
        comparing: the names of the scorers that compare a run with that of the first variant.
    """

    def __init__(
        self, store: ExperimentStore, clock: Clock, experiment: Experiment, comparing: Collection[str]
    ) -> None:
        self._store, self._clock, self._experiment = store, clock, experiment
        self._comparing = comparing
        self._known: set[str] = set()
        self.open: dict[str, Cell] = {}
        """Those that are begun, and neither done nor waiting."""
        self._waiting: defaultdict[tuple[str, int], dict[str, Cell]] = defaultdict(dict)
        """Those that wait for the run that they are compared with, by case and repeat."""
        self._changed = 0.0
        self._writing = asyncio.Lock()
        """Held while a cell is written, so that those who read what has changed see the changes in order."""

    def __len__(self) -> int:
        """Return how many are begun."""
        return len(self._known)

    def __contains__(self, cell: str) -> bool:
        """Return whether a cell is begun."""
        return cell in self._known

    async def load(self) -> Sequence[Cell]:
        """Read what is done already; return all, those that changed last at the end."""
        cells = await self._store.cells_since(self._experiment.id, 0.0)
        self._known.update(cell.id for cell in cells)
        self.open = {cell.id: cell for cell in cells if not self._is_scored(cell)}
        for cell in cells:
            self._changed = max(self._changed, cell.changed)
            self._keep(cell)
        return cells

    async def write(self, cell: Cell) -> Cell:
        """Store a cell; return it as stored. Raises `EntryChanged` if somebody else has changed it."""
        async with self._writing:
            self._changed = max(self._clock.now(), self._changed + MIN_TICK)
            stored = await self._store.write_cell(replace(cell, changed=self._changed))
        self._known.add(stored.id)
        self._keep(stored)
        return stored

    async def reread(self, cell: Cell) -> Cell:
        """Return a cell that a person has marked meanwhile. Raises `EntryChanged` if it is no mark."""
        there = await self._store.cells.find(cell.id)
        if there is None or _progress(there) != _progress(cell):
            raise EntryChanged('experiment-cell', cell.id)
        self._keep(there)
        return there

    async def first_of(self, cell: Cell) -> Cell | None:
        """Return what a cell is compared with, once its run has ended; for the first variant, None."""
        key = self._first(cell)
        if key == cell.id or not self._is_over(key):
            return None
        return self.open.get(key) or await self._store.cells.find(key)

    def is_done(self, cell: Cell) -> bool:
        """Return whether nothing can be done for a cell now."""
        return self._is_scored(cell) and not (self.waits(cell) and self._is_over(self._first(cell)))

    def waits(self, cell: Cell) -> bool:
        """Return whether a cell waits for the run that it is compared with."""
        return any(cell.scores[name].waits for name in self._comparing if name in cell.scores)

    def waiting_for(self, cell: Cell) -> Sequence[Cell]:
        """Return the cells that wait for the run of this one."""
        if cell.variant != self._experiment.variants[0].name:
            return ()
        return [*self._waiting.get((cell.case, cell.repeat), {}).values()]

    def _keep(self, cell: Cell) -> None:
        place = (cell.case, cell.repeat)
        self.open.pop(cell.id, None)
        self._waiting[place].pop(cell.id, None)
        if not self.is_done(cell):
            self.open[cell.id] = cell
        elif self.waits(cell):
            self._waiting[place][cell.id] = cell
        if not self._waiting[place]:
            del self._waiting[place]

    def _is_scored(self, cell: Cell) -> bool:
        return cell.state == 'scored' and cell.scored_by == self._experiment.digest

    def _is_over(self, key: str) -> bool:
        return key in self._known and not (key in self.open and self.open[key].state == 'running')

    def _first(self, cell: Cell) -> str:
        return cell_id(cell.experiment, cell.case, self._experiment.variants[0].name, cell.repeat)


def _progress(cell: Cell) -> tuple[object, ...]:
    return cell.run, cell.state, cell.scored_by
