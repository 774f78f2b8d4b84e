"""A journal in memory with one unreadable step per run, as in a damaged database."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.errors import StepDamaged
from engine.journal import MemoryJournal

if TYPE_CHECKING:
    from engine import Transition
    from engine.records import RunId


class DamagedJournal(MemoryJournal):
    """Refuses all ranges that contain step `damaged`; 0 is none."""

    damaged = 0

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """The steps in the given range. Raises `StepDamaged`."""
        steps = await super().transitions(run, after=after, until=until, limit=limit)
        if any(step.seq == self.damaged for step in steps):
            raise StepDamaged(run, self.damaged, 'is missing')
        return steps
