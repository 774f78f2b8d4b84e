"""ExperimentStore: experiments, their cells and marks, and who is running them, as documents."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from engine.errors import EntryChanged
from engine.journal.documents import Documents, EntryQuery
from engine.journal.store import Columns, Store
from engine.operations.experiments.records import Cell, Experiment, Mark, UnknownExperiment, cell_id

FIRST_PAGE, PAGE = 200, 500
"""Cells read at first, and at a time from then on."""
MIN_TICK = 1e-6
"""By how much the cursors of changes differ at least, in seconds."""
NEW_AT_ONCE = 10
"""How many of the newest experiments are read to find those that are new."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Which process runs an experiment, and until when it says so."""

    id: str
    owner: str
    until: float
    version: int = 0


class ExperimentStore:
    """What is stored of experiments. Every method may raise `JournalError`."""

    def __init__(self, documents: Documents) -> None:
        self.experiments = Store(
            documents,
            'experiment',
            Experiment,
            UnknownExperiment,
            Columns(state='state', rank='created'),
        )
        self.cells = Store(
            documents,
            'experiment-cell',
            Cell,
            KeyError,
            Columns(state='state', rank='changed', about='experiment', version='version'),
        )
        self.marks = Store(
            documents, 'experiment-mark', Mark, KeyError, Columns(rank='created', about='experiment')
        )
        self.leases = Store(
            documents, 'experiment-lease', Lease, KeyError, Columns(rank='until', version='version')
        )
        self._documents = documents

    async def change(self, experiment: str, edit: Callable[[Experiment], Experiment]) -> Experiment:
        """Change an experiment, whoever else does. Raises `UnknownExperiment`."""
        while True:
            try:
                return await self.experiments.change(experiment, edit)
            except EntryChanged:
                continue

    async def newest(self, after: float | None = None, **query: Any) -> list[Experiment]:
        """Return the experiments that match a query, or those made after a moment, newest first.

        For the latter, it reads hardly any others.
        """
        if after is None:
            return await self.experiments.list(newest=True, **query)
        limit = NEW_AT_ONCE
        while True:
            stored = await self.experiments.list(newest=True, limit=limit, **query)
            if len(stored) < limit or stored[-1].created <= after:
                return [item for item in stored if item.created > after]
            limit *= 10

    async def write_cell(self, cell: Cell) -> Cell:
        """Store a cell; return it as stored. Raises `EntryChanged` if somebody else has changed it."""
        await self.cells.write([cell])
        return replace(cell, version=cell.version + 1)

    async def cells_since(self, experiment: str, since: float) -> list[Cell]:
        """Return the cells that have changed after a cursor, in the order of their last changes."""
        cells: dict[str, Cell] = {}
        limit, until = FIRST_PAGE, None
        while True:
            page = await self.cells.list(about=experiment, newest=True, until=until, limit=limit)
            cells |= {cell.id: cell for cell in page if cell.changed > since and cell.id not in cells}
            if len(page) < limit or page[-1].changed <= since or page[-1].changed == until:
                return [*reversed(cells.values())]
            limit, until = PAGE, page[-1].changed

    async def touch(self, cell: Cell) -> None:
        """Store a cell as the last one that has changed, whatever other clocks say. Raises `EntryChanged`."""
        newest = await self.cells.list(about=cell.experiment, newest=True, limit=1) or [cell]
        await self.write_cell(replace(cell, changed=newest[0].changed + MIN_TICK))

    async def cells_of(self, experiment: Experiment, case: str, since: float) -> list[Cell]:
        """Return the cells of a case that have changed after a cursor, in that order; no other is read."""
        ids = [
            cell_id(experiment.id, case, variant.name, repeat)
            for variant in experiment.variants
            for repeat in range(1, experiment.repeats + 1)
        ]
        cells = [cell for id in ids if (cell := await self.cells.find(id)) and cell.changed > since]
        return sorted(cells, key=lambda cell: cell.changed)

    async def marks_of(self, cell: Cell) -> Sequence[Mark]:
        """Return people's marks of a run, alone or beside another."""
        marks = await self.marks.list(about=cell.experiment)
        return [mark for mark in marks if cell.id in (mark.cell, mark.over)]

    async def remove(self, experiment: str) -> None:
        """Remove an experiment with its cells and marks; its runs stay. Raises `UnknownExperiment`."""
        await self.experiments.remove(experiment)
        for kind in (self.cells.kind, self.marks.kind):
            await self._documents.forget(EntryQuery(kind=kind, about=experiment))

    async def take_lease(
        self, experiment: str, owner: str, now: float, until: float, *, is_dead: Callable[[str], bool]
    ) -> bool:
        """Take or renew the lease of an experiment; return whether the owner holds it.

        Args:
            experiment: which one.
            owner: the process that takes it.
            now: the time.
            until: how long it is held.
            is_dead: whether the process of that name is dead, so that its lease is free.
        """
        held = await self.leases.find(experiment)
        if held and held.owner != owner and held.until > now and not is_dead(held.owner):
            return False
        lease = Lease(id=experiment, owner=owner, until=until, version=held.version if held else 0)
        try:
            await self.leases.write([lease])
        except EntryChanged:
            return False
        return True

    async def release_lease(self, experiment: str, owner: str) -> None:
        """Let other processes take an experiment, if its owner holds it."""
        held = await self.leases.find(experiment)
        if held and held.owner == owner:
            with suppress(EntryChanged):
                await self.leases.write([], [held])
