"""Steering: pausing, stepping and cancelling a run, as events that are sent to it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.records import RunId


class Steering:
    """What is steered by one word each."""

    async def send(
        self, run: RunId, name: str, *, at: str = '', data: Mapping[str, Any] | None = None
    ) -> None:
        """Hand an event to a run."""
        raise NotImplementedError

    async def pause(self, run: RunId) -> None:
        """Start nothing new: what is under way ends, and is journaled."""
        await self.send(run, 'pause')

    async def resume(self, run: RunId) -> None:
        """Go on."""
        await self.send(run, 'resume')

    async def step(self, run: RunId) -> None:
        """Start the next piece of work of a paused run, and no more; pauses a run that is not."""
        await self.send(run, 'step')

    async def cancel(self, run: RunId, reason: str = '') -> None:
        """Stop for good: every activity has been cancelled when the run is seen as ended."""
        await self.send(run, 'cancel', data={'reason': reason})
