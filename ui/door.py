"""Where pages find the conductor."""

from __future__ import annotations

from engine import Conductor


class Door:
    """Where pages find the conductor: it is opened when the server starts, after the pages are registered."""

    def __init__(self) -> None:
        self._conductor: Conductor | None = None

    def open(self, conductor: Conductor) -> None:
        """Let pages through."""
        self._conductor = conductor

    async def close(self) -> None:
        """Let go of the runs and close the journal, if the conductor was ever opened."""
        if self._conductor is not None:
            await self._conductor.close()

    def __call__(self) -> Conductor:
        """The conductor. Raises `RuntimeError` before the server has started."""
        if self._conductor is None:
            raise RuntimeError('the server has not started yet')
        return self._conductor
