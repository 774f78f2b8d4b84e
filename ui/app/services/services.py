"""Services around a server's conductor, opened and closed with it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from engine import LocalConductor
from ui.app.access.audit_log import AuditLog
from ui.app.services.inbox import Inbox
from ui.app.services.notifications import Channels, MailServer, Notifications
from ui.app.services.schedules import SchedulePlacer, Schedules, Triggers
from ui.app.services.tools import Tools

log = logging.getLogger('hemicycle')
DAY = 86_400.0


class Services:
    """The inbox, the notifications and the schedules of a server."""

    def __init__(
        self,
        conductor: LocalConductor,
        *,
        url: str = '',
        now: Callable[[], float] | None = None,
        audit: AuditLog | None = None,
        placer: SchedulePlacer | None = None,
    ) -> None:
        """Create them; nothing runs before `start`.

        Args:
            conductor: the conductor of the runs.
            url: the server's URL for links.
            now: the wall-clock time for schedules; by default the conductor's clock.
            audit: the audit log for runs started by schedules and triggers; None if there is no login.
            placer: has the fleet handle due schedules; None without a fleet.
        """
        self.conductor = conductor
        self._channels = Channels(MailServer.of_environment())
        self.notifications = Notifications(conductor, self._channels, url=url.rstrip('/'))
        self.tools = Tools(conductor)
        self.inbox = Inbox(conductor, notify=self.notifications.notify_assignee)
        self.schedules, self.triggers = Schedules(conductor, now, placer), Triggers(conductor)
        self.schedules.ticks.audit = self.triggers.ticks.audit = audit
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Start following the journal and the clock."""
        for work, name in (
            (self.notifications.run, 'notifications'),
            (self.schedules.run, 'schedules'),
            (self.triggers.run, 'triggers'),
            (self.conductor.experiments.run, 'experiments'),
            (self._clean_up, 'clean up services'),
        ):
            self._tasks.append(asyncio.create_task(work(), name=name))

    async def close(self) -> None:
        """Stop, before the journal is closed; the next server sends any unsent messages."""
        for task in self._tasks:
            task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.notifications.close()
        await self._channels.close()
        await self.tools.close()

    async def _clean_up(self) -> None:
        while True:
            try:
                await self.inbox.clean_up()
                await self.notifications.clean_up()
                await self.schedules.clean_up(await self.triggers.retention_filter())
            except Exception:
                log.exception('old notifications could not be removed')
            await self.conductor.clock.sleep(DAY)
