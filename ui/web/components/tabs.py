"""Tabs whose panels are all in the page: text streamed into a hidden one is not lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from ui.web.components.widgets import Box, Text, set_attributes, set_class

NEW = 'new'
"""The note of a tab with unseen content."""
MOVES = {'left': 'at - 1', 'right': 'at + 1', 'home': '0', 'end': 'tabs.length - 1'}
"""The tab to move to from the one `at`, by key."""
MOVE = """(event) => {
    const tabs = [...event.currentTarget.children].filter((tab) => tab.offsetParent);
    const at = tabs.indexOf(event.target);
    event.preventDefault();
    event.stopPropagation();  // or the run would move to another step
    tabs[TO]?.focus();
}"""


class Tabs:
    """A row of tabs over panels; the arrow keys, Home and End move between tabs."""

    def __init__(self, name: str, *, on_change: Callable[[], None] | None = None) -> None:
        self.shown = ''
        """The open tab."""
        self._on_change = on_change
        self.by_user = False
        """Whether the reported change was made by a person."""
        self._notes: dict[str, Text] = {}
        self._tabs: dict[str, tuple[ui.element, ui.element]] = {}
        with Box('tabs'):
            self._row = Box('tab-list', role='tablist', aria_label=name)
            self.aside = Box('tabs-aside')
            """A place for buttons at the other end of the row."""
        for key, to in MOVES.items():
            self._row.on(f'keydown.{key}', js_handler=MOVE.replace('TO', to))

    @property
    def titles(self) -> list[str]:
        """The titles of all tabs, in the order in which they were added."""
        return list(self._tabs)

    @contextmanager
    def panel(self, title: str, kind: str = '') -> Iterator[None]:
        """Draw a panel with its tab; the first one is open. The content of a `flat` panel scrolls itself."""
        with self._row:
            tab = Box('tab', 'button', type='button', role='tab')
            tab.on('click', lambda: self._choose(title))
            with tab:
                ui.label(title)
                self._notes[title] = Text('span', '', 'tab-note', aria_hidden='true')  # its title says it
        with Box(f'panel-body {kind}', role='tabpanel', aria_label=title, tabindex='0') as panel:
            Text('h2', title, 'visually-hidden')
            yield
        self._tabs[title] = (tab, panel)
        self._show_panel(self.shown or title)

    def set_visible(self, title: str, visible: bool) -> None:
        """Show or hide a tab; the open tab stays open."""
        self._tabs[title][0].set_visibility(visible or self.shown == title)

    def open(self, title: str) -> None:
        """Show the panel of a tab, and scroll the tab into view."""
        self._show_panel(title)
        if self._notes[title].text == NEW:
            self.set_note(title, '')
        tab, _ = self._tabs[title]
        ui.run_javascript(
            f'getHtmlElement({tab.id})?.scrollIntoView({{ block: "nearest", inline: "nearest" }})'
        )
        if self._on_change:
            self._on_change()

    def mark_new(self, title: str) -> None:
        """Mark a tab as having something new, unless it is open. Tabs are never opened automatically."""
        if title != self.shown and title in self._notes and not self._notes[title].text:
            self.set_note(title, NEW)

    def set_note(self, title: str, text: str) -> None:
        """Mark a tab with a dot whose tooltip is `text`; '' removes it. The tab keeps its width."""
        if title in self._notes:
            self._notes[title].show(text)
            tab, _ = self._tabs[title]
            set_class(tab, 'noted', on=text == NEW)
            set_class(tab, 'asking', on=text and text != NEW)
            set_attributes(tab, title=text)

    def _choose(self, title: str) -> None:
        self.by_user = True
        self.open(title)
        self.by_user = False

    def _show_panel(self, selected: str) -> None:
        self.shown = selected
        for title, (tab, panel) in self._tabs.items():
            tab.props(f'aria-selected="{str(title == selected).lower()}"')
            panel.set_visibility(title == selected)
