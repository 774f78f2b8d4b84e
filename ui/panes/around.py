"""What the panes of a run's page need of the run around them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from engine import Conductor, RunId, Shape
from ui.panes.reasons import Reasons
from ui.presenters.reading import place, speaker
from ui.replay.history import History
from ui.stepping.stepper import Stepper

Send = Callable[[str, str, dict[str, Any]], Awaitable[None]]
"""Hands an event to the run: its name, its address, its data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """One run, as its panes know it."""

    conductor: Conductor
    run: RunId
    shape: Shape
    history: History
    send: Send
    stepper: Stepper
    reasons: Reasons
    born: float = 0.0
    """When the run itself began; the steps that a fork took over are older."""

    @property
    def kept(self) -> str:
        """The address under which the contents that the run keeps are downloaded."""
        return f'/runs/{self.run}/kept'

    def named(self, path: str, played: str = '') -> str:
        """An agent's name: its role, and where it is if others have that role too.

        Args:
            path: the agent's state.
            played: the role that it plays now, where one is picked with each visit.
        """
        state = self.shape.state(path)
        if state is None:
            return place(path)
        alike = [other for other in self.shape.states if other.role == state.role]
        if state.roles and len(alike) > 1:
            region = state.parent.rpartition('.')[2].replace('_', ' ')
            return f'{speaker(played)} · {region}' if played else speaker(region)
        if state.roles and played:
            return speaker(played)
        if len(alike) == 1:
            return speaker(state.role)
        # As short as tells them apart: its own name, the phase that it works in, or where exactly it is.
        for short in (_own, _phase):
            if len({short(other.path) for other in alike}) == len(alike):
                return f'{speaker(state.role)} · {short(path)}'
        return f'{speaker(state.role)} · {place(path)}'


def _own(path: str) -> str:
    return path.rpartition('.')[2].replace('_', ' ')


def _phase(path: str) -> str:
    return path.partition('.')[0].replace('_', ' ')
