"""Browser elements of the compare page: aligned rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui.element import Element

from engine.history import Row
from ui.components.assets import ASSETS
from ui.formatting.comparison import FACETS, row_other, row_text


class AlignedRows(Element, component=ASSETS / 'viewers' / 'aligned_rows.js'):
    """Rows of steps, one of them selected."""

    def __init__(self, on_pick: Callable[[int], Any], *, label: str) -> None:
        """Start empty; `on_pick` gets the index of the selected row."""
        super().__init__()
        self._props |= {'label': label}
        self.on('pick', lambda event: on_pick(int(event.args)))

    def show(self, rows: Sequence[Row], at: int) -> None:
        """Show these rows, with the one at `at` selected."""
        texts: dict[str, int] = {}
        lines = []
        for row in rows:
            other = row_other(row) if row.other else ''
            places = [texts.setdefault(row_text(row), len(texts)), -1]
            if other:
                places[1] = texts.setdefault(other, len(texts))
            remark = ', '.join(FACETS[facet] for facet in row.facets)
            lines.append([row.kind, row.a, row.b, *places, remark, row.pending])
        self.run_method('show', lines, list(texts), at)

    def pick(self, at: int) -> None:
        """Select another row."""
        self.run_method('pick', at)
