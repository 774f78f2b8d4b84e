"""Desk: what a run's page needs of step mode, and how it is told of the present."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from engine import Conductor, Fold, RunId, Shape, Transition
from ui.panes.switch import show_part
from ui.replay.live import Follower
from ui.stepping.context import PlaceMenu
from ui.stepping.setting import Setting
from ui.stepping.stepper import Stepper


class Desk:
    """Step mode and breakpoints on one page."""

    def __init__(self, conductor: Conductor, run: RunId, shape: Shape) -> None:
        self.stepper = Stepper(conductor, run, shape)
        self.setting = Setting(conductor, run, self.stepper)
        self.places = PlaceMenu(self.stepper, self.setting, self.reveal)
        self._reveals: tuple[Callable[[], Any], ...] = ()

    def learn(self, follower: Follower, steps: Sequence[Transition], shown: Fold | None = None) -> None:
        """Learn the present, and steps that may be new: it is `shown` where nothing has been followed yet."""
        present = follower.fold if follower.fold.ledger.seq else shown
        if present is not None:
            self.stepper.know(present, steps)

    def to_reveal(self, *acts: Callable[[], Any]) -> None:
        """What is to be done to show the list of breakpoints, wherever it is hidden."""
        self._reveals = acts

    def reveal(self) -> None:
        """Show the list of breakpoints."""
        show_part('inspector')
        for act in self._reveals:
            act()
