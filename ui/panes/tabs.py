"""Tabs whose panels are all in the page: what is streamed into a hidden one is not lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nicegui import ui

from ui.parts import Text


class Tabs:
    """A row of tabs over panels; the arrow keys move between tabs."""

    def __init__(self, name: str, *, on_change: Callable[[], None] | None = None) -> None:
        self.shown = ''
        """The tab that is open."""
        self._on_change = on_change
        self._chosen = False
        """Whether a person has opened a tab, so that none opens by itself any more."""
        self.by_hand = False
        """Whether the change that is told of is a person's."""
        self._notes: dict[str, Text] = {}
        self._tabs: dict[str, tuple[ui.element, ui.element]] = {}
        with ui.element('div').classes('tabs'):
            self._row = ui.element('div').classes('tab-list').props(f'role="tablist" aria-label="{name}"')
            self.aside = ui.element('div').classes('tabs-aside')
            """A place for buttons at the other end of the row."""
        for key, neighbour in (('left', 'previousElementSibling'), ('right', 'nextElementSibling')):
            move = f'(event) => {{ event.stopPropagation(); event.target.{neighbour}?.focus(); }}'
            self._row.on(f'keydown.{key}', js_handler=move)

    @property
    def titles(self) -> list[str]:
        """Of all tabs."""
        return list(self._tabs)

    @contextmanager
    def panel(self, title: str, kind: str = '') -> Iterator[None]:
        """A panel with its tab; the first one is open. A `flat` one does not scroll: what is in it does."""
        with self._row:
            tab = ui.element('button').classes('tab').props('type="button" role="tab"')
            tab.on('click', lambda: self._choose(title))
            with tab:
                ui.label(title)
                self._notes[title] = Text('span', '', 'chip wait tab-note')
            self._notes[title].set_visibility(False)
        with (
            ui.element('div')
            .classes(f'panel-body {kind}')
            .props(f'role="tabpanel" aria-label="{title}" tabindex="0"') as panel
        ):
            yield
        self._tabs[title] = (tab, panel)
        self._mark(self.shown or title)

    def offer(self, title: str, offered: bool) -> None:
        """Show or hide a tab; the one that is open stays."""
        self._tabs[title][0].set_visibility(offered or self.shown == title)

    def open(self, title: str) -> None:
        """Open a tab."""
        self._mark(title)
        tab, _ = self._tabs[title]
        ui.run_javascript(
            f'getHtmlElement({tab.id})?.scrollIntoView({{ block: "nearest", inline: "nearest" }})'
        )
        if self._on_change:
            self._on_change()

    def suggest(self, title: str) -> None:
        """Open a tab, unless a person has opened one."""
        if not self._chosen and title != self.shown and title in self._tabs:
            self.open(title)

    def note(self, title: str, text: str) -> None:
        """Say something beside the name of a tab; '' takes it away."""
        if title in self._notes:
            self._notes[title].show(text)
            self._notes[title].set_visibility(bool(text))

    def pick(self, title: str) -> None:
        """Open a tab for good: none opens by itself any more."""
        self._chosen = True
        self.open(title)

    def _choose(self, title: str) -> None:
        self.by_hand = True
        self.pick(title)
        self.by_hand = False

    def _mark(self, shown: str) -> None:
        self.shown = shown
        for title, (tab, panel) in self._tabs.items():
            tab.props(f'aria-selected="{str(title == shown).lower()}"')
            panel.set_visibility(title == shown)
