"""The head of a list of runs: column headers that sort, totals and density."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from nicegui import app, ui

from engine.records import RunPage
from ui.formatting.usage import cost_text
from ui.formatting.values import compact, count
from ui.web.components.theme import button
from ui.web.components.widgets import Box, Text, set_attributes, set_class
from ui.web.pages.shared.run_list.filters import Filters

COLUMNS = (
    ('title', 'Run'),
    ('bytes', 'Size'),
    ('steps', 'Steps'),
    ('tokens', 'Tokens'),
    ('duration', 'Duration'),
    ('created', 'Started'),
)
DENSE = 'Compact rows'


class ListHead:
    """The row above a list: a click on a header sorts by it, a second click reverses the order."""

    def __init__(self, filters: Filters, on_sort: Callable[[Filters], None], runs: ui.element) -> None:
        """Draw it; `on_sort` gets the filters with the new order, `runs` is the element to make dense."""
        self._on_sort, self._runs = on_sort, runs
        self._headers: dict[str, tuple[ui.element, Text]] = {}
        with Box('run-heads') as self.element:
            with Box('run-columns', role='group', aria_label='Sort by'):
                Text('span', 'Status', 'head-status')
                self._totals = Text('span', '', 'run-totals num', role='status')
                for name, title in COLUMNS:
                    head = button(title, kind=f'quiet small sort-head head-{name}')
                    with head:
                        arrow = Text('span', '', 'sort-way')
                    head.on('click', lambda name=name: self._sort(name))
                    self._headers[name] = (head, arrow)
            self._dense = button('', icon='density_small', kind='quiet small', label=DENSE)
            self._dense.on('click', self._toggle_density)
        self.show(filters)
        self._set(bool(app.storage.user.get('dense')))

    def show(self, filters: Filters) -> None:
        """Show which column sorts the list."""
        self._filters = filters
        for name, (head, arrow) in self._headers.items():
            chosen = name == (filters.sort or 'created')
            arrow.show(('\N{UPWARDS ARROW}' if filters.up else '\N{DOWNWARDS ARROW}') if chosen else '')
            set_attributes(head, aria_pressed=str(chosen).lower())

    def show_totals(self, page: RunPage) -> None:
        """Show the total usage of all matching runs."""
        used = page.usage
        spent = f' · {compact(used.total)} tokens · {cost_text(used)}' if used and page.total else ''
        self._totals.show(f'{count(page.total, "run")}{spent}' if page.total else '')

    def _sort(self, name: str) -> None:
        chosen = name == (self._filters.sort or 'created')
        up = (not self._filters.up) if chosen else name == 'title'
        sort = '' if name == 'created' else name
        self.show(replace(self._filters, sort=sort, up='1' if up else '', page=1))
        self._on_sort(self._filters)

    def _toggle_density(self) -> None:
        self._set(not app.storage.user.get('dense'))

    def _set(self, dense: bool) -> None:
        app.storage.user['dense'] = dense
        set_class(self._runs, 'dense', on=dense)
        set_attributes(self._dense, aria_pressed=str(dense).lower())
