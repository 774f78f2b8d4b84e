"""ScheduleHandler: a worker's activity that handles the due times of a schedule."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from temporalio import activity

from engine import LocalConductor
from ui.app.access.access import Access
from ui.app.services.schedules import Schedules
from ui.fleet.heartbeat import heartbeat
from ui.fleet.records import HANDLE


class ScheduleHandler:
    """Handles due times, like a server without a fleet.

    Args:
        open_conductor: opens the conductor that starts the runs, when first needed.
    """

    def __init__(self, open_conductor: Callable[[], Awaitable[LocalConductor]]) -> None:
        self._open = open_conductor
        self._opening = asyncio.Lock()
        self._conductor: LocalConductor | None = None
        self._schedules: Schedules | None = None

    @activity.defn(name=HANDLE)
    async def handle(self, schedule: str, moment: float, waiting: bool) -> bool:
        """Handle a schedule's times that are due by `moment` or by now.

        Returns:
            Whether a time waits for the previous run; `waiting` if the previous call returned True.
        """
        async with heartbeat():
            schedules = await self._open_schedules()
            return await schedules.handle(
                schedule, moment, waiting=waiting, interrupted=activity.info().attempt > 1
            )

    async def close(self) -> None:
        """Close the conductor, if opened."""
        if self._conductor:
            await self._conductor.close()

    async def _open_schedules(self) -> Schedules:
        async with self._opening:
            if self._schedules is None:
                self._conductor = conductor = await self._open()
                access = Access(conductor.journal.documents, conductor.clock)
                self._schedules = Schedules(conductor, time.time)
                # As on a server: if there are accounts, automatically started runs are audited.
                self._schedules.ticks.audit = access.audit if await access.accounts.has_any() else None
            return self._schedules
