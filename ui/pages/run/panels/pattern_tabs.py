"""The tabs of the panels that a run's pattern asks for; each has an address."""

from __future__ import annotations

from engine.records import View
from ui.components.tabs import Tabs
from ui.pages.run.panel import Panel, PanelSetup
from ui.pages.run.panels.registry import PANELS, panels_of
from ui.web.routing import with_query

AGENTS = 'Agents'
TAB_TITLES = {
    title.lower(): title for title in ('Transcript', 'Files', 'Artifacts', *(panel.title for panel in PANELS))
}
"""All tabs of a run page but the first, by the end of their address."""


class PatternTabs:
    """Draws and fills the panels, and marks the one that is most relevant to a step."""

    def __init__(self, setup: PanelSetup, tabs: Tabs) -> None:
        self._setup, self._tabs = setup, tabs
        self._panels: list[Panel] = []
        self._pending_actions: dict[str, str] = {}
        """What a person is asked for, by the title of the panel."""

    def draw(self, *, wide: bool) -> None:
        """Add the wide panels, or the others."""
        for panel in panels_of(self._setup.context.shape):
            if panel.wide == wide:
                with self._tabs.panel(panel.title, kind=panel.layout):
                    self._panels.append(panel(self._setup))

    def address(self, at: int | None, inspect: str = '') -> str:
        """Return the page's address: run, open tab, step, parameters of the open panel, inspector tab."""
        tab = self._tabs.shown
        end = next((f'/{end}' for end, title in TAB_TITLES.items() if title == tab), '')
        query = next((panel.query for panel in self._panels if panel.title == tab), {})
        return with_query(f'/runs/{self._setup.context.run}{end}', **query, at=at, inspect=inspect)

    def show(self, view: View, *, live: bool, may_control: bool) -> None:
        """Show the run at this step."""
        for panel in self._panels:
            panel.show(view, live=live, may_control=may_control)
            asks = panel.pending_action(view) if live and may_control else ''
            if asks != self._pending_actions.get(panel.title, ''):
                self._pending_actions[panel.title] = asks
                self._tabs.set_note(panel.title, asks)
        first = max(self._panels, key=lambda panel: panel.relevance(view), default=None)
        if first and first.relevance(view):
            self._tabs.mark_new(first.title)

    def open(self, tab: str) -> None:
        """Notify the panels that a tab was opened; hidden ones are not drawn."""
        for panel in self._panels:
            panel.open(tab == panel.title)

    def tick(self, view: View, now: float) -> None:
        """Update clocks."""
        for panel in self._panels:
            panel.tick(view, now)
