"""The table of tokens and cost: in the head's popover and in the inspector."""

from __future__ import annotations

from collections.abc import Callable

from nicegui import ui

from engine import View
from ui.parts import Text
from ui.presenters.spending import notes, table
from ui.theme import empty


class SpendingTable:
    """What a run has used up to a step, by agent and by model."""

    def __init__(self, named: Callable[[str], str]) -> None:
        self._named = named
        self._drawn: object = None
        self.root = ui.element('div').classes('spending')

    def show(self, view: View) -> None:
        """Show the numbers at this step."""
        columns, groups = table(view, self._named)
        if (columns, groups) == self._drawn:
            return
        self._drawn = (columns, groups)
        self.root.clear()
        with self.root:
            if not view.usage.calls:
                empty('toll', 'No model has been called up to this step.')
                return
            with ui.element('table'):
                with ui.element('thead'), ui.element('tr'):
                    for name in columns:
                        Text('th' if name else 'td', name)
                for title, rows in groups:
                    self._group(title, rows, len(columns))
            for note in notes(view):
                Text('p', note, 'muted small')

    def _group(self, title: str, rows: list[list[str]], width: int) -> None:
        with ui.element('tbody'):
            with ui.element('tr'):
                Text('th', title, 'spending-title', colspan=str(width), scope='colgroup')
            for name, *cells in rows:
                with ui.element('tr'):
                    Text('th', name, scope='row')
                    for cell in cells:
                        Text('td', cell, 'num')
