"""The table of cases and variants: kept here, sent in blocks as the reader scrolls."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from nicegui.element import Element

from ui.formatting.experiments.table import CellTable, Show
from ui.web.components.assets import ASSETS

BLOCK = 50
"""Rows sent together, as in cell_table.js."""


class CellGrid(Element, component=ASSETS / 'viewers' / 'cell_table.js'):
    """Draws a table of which the browser has only what is in view; `arrange` sorts and filters it."""

    def __init__(
        self,
        table: CellTable,
        *,
        label: str,
        on_open: Callable[[str, str], Any],
        on_sort: Callable[[str], Any],
    ) -> None:
        """Start empty; `on_open` gets the case and the variant of a cell, `on_sort` the column's key."""
        super().__init__()
        self._table, self._generation = table, 0
        self._order: list[str] = []
        self._places: dict[str, int] = {}
        self._arrangement: tuple[str, Show, str] = ('', 'all', '')
        self._props |= {'label': label, 'columns': [], 'total': 0, 'sort': '', 'first': [], 'generation': 0}
        self.on('need', lambda event: self._fill(*event.args))
        self.on('open', lambda event: on_open(str(event.args[0]), table.variants[int(event.args[1])]))
        self.on('sort', lambda event: on_sort(str(event.args)))

    @property
    def total(self) -> int:
        """Number of rows."""
        return len(self._order)

    def arrange(self, sort: str, show: Show, text: str, columns: Sequence[tuple[str, str, str]]) -> None:
        """Sort and filter the rows; `columns` are key, name and note of each, the cases first."""
        self._arrangement = sort, show, text
        self._order = self._table.order(sort, show, text)
        self._places = {case: place for place, case in enumerate(self._order)}
        self._generation += 1
        first = self._table.lines(self._order[:BLOCK])
        with self._props.suspend_updates():
            self._props |= {'total': self.total, 'first': first, 'generation': self._generation}
        self._props['sort'] = sort
        self.show_columns(columns)
        self.run_method('show', self._generation, self.total, first)

    def show_columns(self, columns: Sequence[tuple[str, str, str]]) -> None:
        """Show the head: key, name and note of each column, the cases first."""
        shown = [list(column) for column in columns]
        if self._props['columns'] != shown:
            self._props['columns'] = shown

    def refresh(self, cases: Collection[str]) -> None:
        """Send the rows of cases that have changed. They keep their places; new ones come last."""
        _, show, text = self._arrangement
        if new := [case for case in cases if case not in self._places]:
            fitting = set(self._table.order(show=show, text=text))
            for case in new:
                if case in fitting:
                    self._places[case] = len(self._order)
                    self._order.append(case)
        rows = [
            [place, line]
            for case in cases
            if (place := self._places.get(case)) is not None
            for line in self._table.lines([case])
        ]
        if rows:
            self.run_method('patch', self.total, sorted(rows))

    def _fill(self, generation: int, blocks: Sequence[int]) -> None:
        if generation != self._generation:
            return
        for block in blocks:
            start = int(block) * BLOCK
            self.run_method('fill', generation, block, self._table.lines(self._order[start : start + BLOCK]))
