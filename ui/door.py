"""Where pages find the conductor."""

from __future__ import annotations

import asyncio

from engine import Conductor, Scratch
from ui.settings import Places


class Door:
    """Where pages find the conductor: it is opened when the server starts, after the pages are registered."""

    def __init__(self, places: Places | None = None) -> None:
        """`places` is where this process keeps what it keeps; None where it is all in memory."""
        self.places = places
        self._conductor: Conductor | None = None
        self._scratches: dict[str, Scratch] = {}

    def open(self, conductor: Conductor) -> None:
        """Let pages through."""
        self._conductor = conductor

    async def close(self) -> None:
        """Let go of the runs and close the journal, if the conductor was ever opened."""
        await asyncio.gather(*(scratch.empty() for scratch in self._scratches.values()))
        if self._conductor is not None:
            await self._conductor.close()

    def __call__(self) -> Conductor:
        """The conductor. Raises `RuntimeError` before the server has started."""
        if self._conductor is None:
            raise RuntimeError('the server has not started yet')
        return self._conductor

    def scratch(self, person: str) -> Scratch:
        """Where a person tries tools: the same folder as long as the server runs."""
        return self._scratches.setdefault(person, Scratch(self().services))
