"""What a guard says of itself, and what it looked at when it answered, under its answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine import Conductor, EdgeShape, Grounds, RunId, Transition
from ui.parts import Text
from ui.presenters.reading import worded


class Reasons:
    """The grounds of guards, at the step that is shown."""

    def __init__(self, conductor: Conductor, run: RunId) -> None:
        """Nothing is known before `load`."""
        self._conductor, self._run = conductor, run
        self._grounds: Grounds | None = None
        self.step: Transition | None = None
        """None is before the first."""
        self.before: Mapping[str, Any] = {}
        """The fold's document without the step."""

    async def load(self) -> None:
        """Read what the pattern's guards look at."""
        self._grounds = await self._conductor.grounds(self._run)

    def show(self, step: Transition | None, before: Mapping[str, Any]) -> None:
        """Go to another step, and what was there before it."""
        self.step, self.before = step, before

    def draw(self, edge: EdgeShape, guard: str) -> None:
        """Draw what there is to say of one guard of an edge."""
        if self._grounds is None or self.step is None:
            return
        ground = self._grounds.of(edge.source, edge.dest, guard, self.before, self.step.event)
        if ground.says:
            Text('div', ground.says, 'guard-says')
        if ground.values:
            saw = (f'{name.replace("_", " ")} = {worded(value)}' for name, value in ground.values)
            Text('div', ' · '.join(saw), 'guard-saw mono')
