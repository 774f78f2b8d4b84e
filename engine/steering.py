"""Steering: events that are sent to a run; pausing, stepping, extending and cancelling it are some."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.archive import Archive
from engine.catalog import Catalog
from engine.errors import EventRefused
from engine.journal import Journal
from engine.prepare import outside_event
from engine.records import RunId
from engine.run import Run


class Steering(Archive):
    """Steers the runs of this process, and reads all of them."""

    def __init__(self, journal: Journal, catalog: Catalog) -> None:
        super().__init__(journal, catalog)
        self.stranded: dict[RunId, str] = {}
        """Unfinished runs that could not be gone on with, and why."""
        self._live: dict[RunId, Run] = {}

    async def send(
        self, run: RunId, name: str, *, at: str = '', data: Mapping[str, Any] | None = None
    ) -> None:
        """Hand an event to a run; it is journaled when this returns.

        Args:
            run: which.
            name: one of the pattern's triggers; or `failed`, to end by hand what goes on in the state `at`.
            at: the active state it is for; '' is for all that take it.
            data: JSON values for the guards and actions. `approve` takes `always` (true: do not ask again for
                these tools) and `arguments` (per call's id, the JSON text to call it with instead); `deny`
                takes `reason`.

        Raises:
            UnknownRun, EventRefused, InvalidInput
        """
        if run not in self._live:
            info = await self.journal.info(run)
            elsewhere = self.stranded.get(run, 'another process runs it')
            raise EventRefused(run, name, f'it is {info.status}' if info.status.ended else elsewhere)
        live = self._live[run]
        await live.send(outside_event(run, live.ledger, name, at, data))

    def runs_here(self, run: RunId) -> bool:
        """Whether this conductor runs it now, and so can steer it."""
        return run in self._live

    async def pause(self, run: RunId) -> None:
        """Start nothing new: what is under way ends, and is journaled."""
        await self.send(run, 'pause')

    async def resume(self, run: RunId) -> None:
        """Go on."""
        await self.send(run, 'resume')

    async def step(self, run: RunId) -> None:
        """Start the next piece of work of a paused run, and no more; pauses a run that is not."""
        await self.send(run, 'step')

    async def extend(
        self,
        run: RunId,
        *,
        tokens: int | None = None,
        cost: float | None = None,
        seconds: float | None = None,
    ) -> None:
        """Raise the run's budget by so much; one that is spent and has not ended the run yet is open again.

        Raises:
            InvalidInput: nothing is raised, the run has no such budget, or the rise is too small to help.
        """
        more = {'tokens': tokens, 'cost': cost, 'seconds': seconds}
        await self.send(
            run, 'extend', data={kind: amount for kind, amount in more.items() if amount is not None}
        )

    async def cancel(self, run: RunId, reason: str = '') -> None:
        """Stop for good: every activity has been cancelled when the run is seen as ended."""
        await self.send(run, 'cancel', data={'reason': reason})
