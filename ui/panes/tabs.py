"""Tabs whose panels are all in the page: what is streamed into a hidden one is not lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nicegui import ui


class Tabs:
    """A row of tabs over panels; the arrow keys move between tabs."""

    def __init__(self, name: str, *, on_change: Callable[[], None] | None = None) -> None:
        self.shown = ''
        """The tab that is open."""
        self._on_change = on_change
        self._tabs: dict[str, tuple[ui.element, ui.element]] = {}
        with ui.element('div').classes('tabs'):
            self._row = ui.element('div').classes('tab-list').props(f'role="tablist" aria-label="{name}"')
            self.aside = ui.element('div').classes('tabs-aside')
            """A place for buttons at the other end of the row."""
        for key, neighbour in (('left', 'previousElementSibling'), ('right', 'nextElementSibling')):
            move = f'(event) => {{ event.stopPropagation(); event.target.{neighbour}?.focus(); }}'
            self._row.on(f'keydown.{key}', js_handler=move)

    @contextmanager
    def panel(self, title: str) -> Iterator[None]:
        """A panel with its tab; the first one is open."""
        with self._row:
            tab = ui.element('button').classes('tab').props('type="button" role="tab"')
            tab.on('click', lambda: self.open(title))
            with tab:
                ui.label(title)
        with (
            ui.element('div')
            .classes('panel-body')
            .props(f'role="tabpanel" aria-label="{title}" tabindex="0"') as panel
        ):
            yield
        self._tabs[title] = (tab, panel)
        self._mark(self.shown or title)

    def open(self, title: str) -> None:
        """Open a tab."""
        self._mark(title)
        if self._on_change:
            self._on_change()

    def _mark(self, shown: str) -> None:
        self.shown = shown
        for title, (tab, panel) in self._tabs.items():
            tab.props(f'aria-selected="{str(title == shown).lower()}"')
            panel.set_visibility(title == shown)
