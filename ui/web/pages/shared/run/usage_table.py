"""The table of tokens and cost, in the header's popover and in the inspector."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.records import Usage, View
from ui.formatting.usage import cache_note, usage_notes, usage_rows
from ui.web.components.theme import empty_state
from ui.web.components.widgets import Box, CachedElement, Text, table_head


class UsageTable:
    """The usage of a run up to a step, by agent and by model."""

    def __init__(
        self, named: Callable[[str], str], saving: Callable[[Mapping[str, Usage]], float | None]
    ) -> None:
        """Draw an empty table.

        Args:
            named: returns the name of an agent, given its path.
            saving: returns the dollars that prompt caching has saved, given the usage by model.
        """
        self._name_of, self._saving = named, saving
        self.root = CachedElement('usage-table')

    def show(self, view: View) -> None:
        """Show the numbers at this step."""
        columns, groups = usage_rows(view, self._name_of)
        if not self.root.clear_if_changed((columns, groups)):
            return
        with self.root:
            if not view.usage.calls:
                empty_state('toll', 'No model calls up to this step.')
                return
            with Box('table numbers', 'table'):
                table_head(columns)
                for title, rows in groups:
                    self._draw_group(title, rows, len(columns))
            saved = cache_note(view.usage, self._saving(view.models)) if view.usage.calls else ''
            for note in filter(None, [saved, *usage_notes(view)]):
                Text('p', note, 'muted small')

    def _draw_group(self, title: str, rows: list[list[str]], width: int) -> None:
        with Box(tag='tbody'):
            with Box(tag='tr'):
                Text('th', title, 'usage-title', colspan=str(width), scope='colgroup')
            for name, *cells in rows:
                with Box(tag='tr'):
                    Text('th', name, scope='row')
                    for cell in cells:
                        Text('td', cell, 'num')
