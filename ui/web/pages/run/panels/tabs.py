"""The middle column of the run page: the panels in their tabs, each with an address."""

from __future__ import annotations

from typing_extensions import override

from ui.web.components.layout import diagram_switch
from ui.web.components.tabs import Tabs
from ui.web.components.widgets import Box, NativeSelect, set_attributes, set_class
from ui.web.pages.run.agents.agents import AgentPanes
from ui.web.pages.run.pane import Face, Moment, Pane, Panel, RunPage
from ui.web.routing import with_query

TAB = 'tab '
"""Begins the keys of tabs among those of stages."""


class RunTabs(Pane):
    """Draws the panels, opens one of them, and marks the one that is most relevant to a step."""

    place = 'column'

    def __init__(self, page: RunPage) -> None:
        super().__init__(page)
        self._panels: dict[str, Panel] = {}
        self._pending_actions: dict[str, str] = {}
        """What a person is asked for, by the title of the panel."""
        with Box('main-column'):
            with Box('story'):
                page.draw('story')
            with Box('panel middle', 'section', aria_label='Agents'):
                self._tabs = Tabs('Agents, transcript, files and more', on_change=self._on_open)
                with self._tabs.aside:
                    self._views = NativeSelect({}, value='', on_change=self._on_view).classes('views')
                    set_attributes(self._views, aria_label='Show')
                    diagram_switch(self._hide_diagram)
                for kind in page.kinds_of('tab'):
                    assert issubclass(kind, Panel)
                    with self._tabs.panel(kind.title, kind=kind.layout):
                        panel = self._panels[kind.title] = page.add(kind)
                    self._tabs.set_visible(kind.title, panel.offered)

    def address(self, at: int | None, inspect: str) -> str:
        """Return the page's address: run, open tab, step, parameters of the open panel, inspector's tab."""
        title = self._tabs.shown
        end = '' if title == self._tabs.titles[0] else f'/{title.lower()}'
        query = self._panels[title].query
        return with_query(f'/runs/{self.page.context.run}{end}', **query, at=at, inspect=inspect)

    def open(self, end: str) -> None:
        """Open the tab whose address has this end; the first one has none."""
        first, *others = self._panels
        title = next((title for title in others if title.lower() == end), first)
        if title != self._tabs.shown:
            self._tabs.open(title)

    @override
    def show_face(self, face: Face) -> None:
        for title, panel in self._panels.items():
            self._tabs.set_visible(title, panel.offered and face in panel.faces)

    @override
    def show(self, moment: Moment) -> None:
        self.show_face(self.page.face)
        for title, panel in self._panels.items():
            asks = panel.pending_action(moment.view) if moment.may_answer else ''
            if asks != self._pending_actions.get(title, ''):
                self._pending_actions[title] = asks
                self._tabs.set_note(title, asks)
        first = max(self._panels.values(), key=lambda panel: panel.relevance(moment.view))
        if first.relevance(moment.view):
            self._tabs.mark_new(first.title)

    @override
    async def complete(self, moment: Moment) -> None:
        self._show_views()

    def _show_views(self) -> None:
        """Offer stages and tabs in the list that replaces both in Watch."""
        agents, first = self.page.find(AgentPanes), self._tabs.titles[0]
        others = {
            TAB + title: ': '.join(filter(None, (title, self._pending_actions.get(title))))
            for title, panel in self._panels.items()
            if title != first and panel.offered and self.page.face in panel.faces
        }
        self._views.set_value(agents.picked if self._tabs.shown == first else TAB + self._tabs.shown)
        self._views.set_options(agents.views | others)

    def _on_view(self) -> None:
        chosen = self._views.value
        end = chosen.removeprefix(TAB) if chosen.startswith(TAB) else ''
        self.open(end.lower())
        if not end and chosen != self.page.find(AgentPanes).picked:
            self.page.find(AgentPanes).pick(chosen)

    def _on_open(self) -> None:
        for title, panel in self._panels.items():
            panel.open(title == self._tabs.shown)
        self._show_views()
        self.page.show_address(add_history=self._tabs.by_user)

    def _hide_diagram(self, hidden: bool) -> None:
        set_class(self.page.grid, 'plain', on=hidden)
        self.page.find(AgentPanes).set_wide(hidden)
