"""The components of the comparing page that run in the browser: aligned rows, texts in pieces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from nicegui.element import Element

from engine import Row
from ui.beside.wording import Piece
from ui.presenters.comparing import FACETS, row_other, row_text
from ui.web import ASSETS


class Aligned(Element, component=ASSETS / 'aligned.js'):
    """Rows of steps, of which one is picked."""

    def __init__(self, on_pick: Callable[[int], Any], *, label: str) -> None:
        """Show none yet; `on_pick` gets the place of the row that is gone to."""
        super().__init__()
        self._props |= {'label': label}
        self.on('pick', lambda event: on_pick(int(event.args)))

    def show(self, rows: Sequence[Row], at: int) -> None:
        """Show these rows, with the one at `at` picked."""
        texts: dict[str, int] = {}
        made = []
        for row in rows:
            other = row_other(row) if row.other else ''
            places = [texts.setdefault(row_text(row), len(texts)), -1]
            if other:
                places[1] = texts.setdefault(other, len(texts))
            remark = ', '.join(FACETS[facet] for facet in row.facets)
            made.append([row.kind, row.a, row.b, *places, remark, row.pending])
        self.run_method('show', made, list(texts), at)

    def pick(self, at: int) -> None:
        """Go to another row."""
        self.run_method('pick', at)


class Pieces(Element, component=ASSETS / 'pieces.js'):
    """A text; what the other one does not have is marked."""

    def __init__(self, pieces: Sequence[Piece], side: str) -> None:
        """`side` is A or B."""
        super().__init__()
        self._props |= {'pieces': [list(piece) for piece in pieces], 'side': side}
