"""Tabs of runs whose patterns keep more: messages, time, supervision; each has an address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine import View
from ui.panes.around import Around
from ui.panes.messages import Messages
from ui.panes.oversight import OversightPane
from ui.panes.phases import TimeTab
from ui.panes.tabs import Tabs
from ui.presenters.messages import Wanted, address
from ui.replay.live import Follower

TABS = {'messages': 'Messages', 'time': 'Time', 'supervision': 'Supervision'}
"""The last part of the address, and the title of the tab."""
ENDS = {
    **{title.lower(): title for title in ('Transcript', 'Files', 'Debate', 'Candidates')},
    **{title.lower(): title for title in ('Artifacts', 'Comparison')},
    **TABS,
}
"""Those of all tabs of a run's page but the first, which needs none."""


class Extras:
    """Those of them that the run's shape asks for."""

    def __init__(
        self,
        around: Around,
        follower: Follower,
        seek: Callable[[int | None], Awaitable[None]],
        wanted: Wanted,
        on_filter: Callable[[], None],
    ) -> None:
        self._around, self._follower, self._seek = around, follower, seek
        self._wanted, self._on_filter = wanted, on_filter
        self._messages: Messages | None = None
        self._time: TimeTab | None = None
        self._oversight: OversightPane | None = None
        self._tab = ''

    def draw(self, tabs: Tabs) -> None:
        """Add the panels."""
        shape = self._around.shape
        if shape.messages:
            with tabs.panel(TABS['messages'], kind='flat'):
                self._messages = Messages(
                    self._around, self._follower, self._seek, self._wanted, self._on_filter
                )
        if shape.clock:
            with tabs.panel(TABS['time']):
                self._time = TimeTab(shape)
        if shape.oversight:
            with tabs.panel(TABS['supervision']):
                self._oversight = OversightPane(self._around, self._follower, self._seek)

    def address(self, at: int | None) -> str:
        """Where the page is: the run, the tab that is open, the step, and what messages are wanted."""
        end = next((f'/{end}' for end, title in ENDS.items() if title == self._tab), '')
        query = self._messages.wanted.query if end == '/messages' and self._messages else {}
        return address(f'/runs/{self._around.run}{end}', **query, at=at)

    def open(self, tab: str) -> None:
        """Show the tab of this title, if it is one of them: what is hidden is not drawn."""
        self._tab = tab
        if self._messages:
            self._messages.open(tab == TABS['messages'])
        if self._time:
            self._time.open(tab == TABS['time'])
        if self._oversight:
            self._oversight.open(tab == TABS['supervision'])

    def show(self, view: View) -> None:
        """Show the run at this step."""
        if self._messages:
            self._messages.show(view)
        if self._oversight:
            self._oversight.show(view)
        self.tick(view, view.time)

    def tick(self, view: View, now: float) -> None:
        """Let time burn down."""
        if self._time:
            self._time.show(view, now)
