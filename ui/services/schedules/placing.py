"""SchedulePlacer: has a fleet handle schedules when they are due."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ui.services.schedules.records import Schedule


class SchedulePlacer(Protocol):
    """Has workers handle schedules, so that these need no server."""

    async def place(self, schedules: Sequence[Schedule]) -> Collection[str]:
        """Take care of these schedules from now on, and of no others.

        Returns:
            The ids of those that it does take care of.

        Raises:
            EngineError: it cannot be reached.
        """
