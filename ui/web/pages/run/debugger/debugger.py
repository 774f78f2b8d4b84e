"""The debugger of a run page: its controller, breakpoints and context menu."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine import Conductor, Transition
from engine.journal import Fold
from engine.records import RunId, Shape
from ui.web.components.layout import show_part
from ui.web.pages.run.debugger.breakpoint_store import BreakpointStore
from ui.web.pages.run.debugger.context_menu import DebugMenu
from ui.web.pages.shared.run.debug_controller import DebugController
from ui.web.replay.live import Follower


class Debugger:
    """Step mode and breakpoints on one page."""

    def __init__(self, conductor: Conductor, run: RunId, shape: Shape) -> None:
        self.controller = DebugController(conductor, run, shape)
        self.breakpoints = BreakpointStore(conductor, run, self.controller)
        self.context_menu = DebugMenu(self.controller, self.breakpoints, self.show_breakpoints)
        self._reveals: list[Callable[[], Any]] = []

    def update(self, follower: Follower, steps: Sequence[Transition], fold: Fold | None = None) -> None:
        """Update from the newest view; `fold` is used until the run is followed."""
        present = follower.fold if follower.fold.projection.seq else fold
        if present is not None:
            self.controller.update(present, steps)

    def on_reveal(self, act: Callable[[], Any]) -> None:
        """Register what helps to bring the list of breakpoints into sight."""
        self._reveals.append(act)

    def show_breakpoints(self) -> None:
        """Bring the inspector into view with the tab of breakpoints open."""
        show_part('inspector')
        for act in self._reveals:
            act()
