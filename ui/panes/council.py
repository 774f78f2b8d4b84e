"""The tabs of a run in which several compete or debate: the debate board and the candidates."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from engine import View
from ui.panes.around import Around
from ui.panes.board import Board
from ui.panes.candidates import Candidates
from ui.panes.tabs import Tabs
from ui.presenters.contests import CHOICE, CONFLICTS, LIST
from ui.presenters.debates import in_debate, turn_of

DEBATE, CANDIDATES, AGENTS = 'Debate', 'Candidates', 'Agents'


class Council:
    """Draws the tabs, fills them, and turns to the one that a step is about until a person has picked one."""

    def __init__(
        self,
        around: Around,
        tabs: Tabs,
        seek: Callable[[int], Awaitable[None]],
        widen: Callable[[bool], None],
    ) -> None:
        self._around, self._tabs, self._widen = around, tabs, widen
        self._board: Board | None = None
        self._candidates: Candidates | None = None
        self._crowded = False
        if around.shape.debate:
            with tabs.panel(DEBATE):
                self._board = Board(around, seek)
        if around.shape.candidates:
            with tabs.panel(CANDIDATES):
                self._candidates = Candidates(around, seek)

    def show(self, view: View, *, live: bool, mine: bool, crowded: bool) -> None:
        """Show the debate and the candidates at `view`; `crowded` says that the agents need a wide window."""
        if self._board:
            self._board.show(view, live=live, mine=mine)
        if self._candidates:
            self._candidates.show(view, live=live, mine=mine)
        if not (self._board or self._candidates):
            return
        asked = live and mine
        chooses = self._candidates is not None and view.waiting in (CHOICE, LIST, CONFLICTS)
        speaks = self._board is not None and turn_of(view, self._around.shape)[1]
        self._tabs.note(CANDIDATES, 'your decision' if asked and chooses else '')
        self._tabs.note(DEBATE, 'your turn' if asked and speaks else '')
        debated = self._board is not None and in_debate(view, self._around.shape)
        self._tabs.suggest(CANDIDATES if chooses else DEBATE if debated else AGENTS)
        self._crowded = crowded
        self._make_room()

    def open(self, tab: str) -> None:
        """A tab was opened."""
        if self._candidates:
            self._candidates.open(tab == CANDIDATES)
        if self._board or self._candidates:
            self._make_room()

    def _make_room(self) -> None:
        self._widen(self._crowded or self._tabs.shown in (DEBATE, CANDIDATES))
