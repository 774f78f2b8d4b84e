"""What the panes of a run's page need of the run around them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from engine import Conductor, RunId, Shape
from ui.history import History
from ui.reading import place, speaker

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
        names = {other.name for other in alike}
        where = state.name.replace('_', ' ') if len(names) == len(alike) else place(path)
        return f'{speaker(state.role)} · {where}'
