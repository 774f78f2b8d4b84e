"""HttpServices: the inbox, the notifications, the schedules and the triggers of a server."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote

from engine.operations import implement
from ui.api.client.connection import Connection
from ui.api.client.derived import RemoteDoor, remote
from ui.api.wire import decode, to_rfc3339
from ui.app.services.inbox import InboxItem
from ui.app.services.operations import (
    InboxOperations,
    NotificationOperations,
    ScheduleOperations,
    ToolOperations,
    TriggerOperations,
)
from ui.app.services.schedules import Tick


class HttpServices:
    """The services of a server. All operations raise `EngineError`.

    Args:
        ask: the connection to the server.
    """

    def __init__(self, ask: Connection) -> None:
        self._ask = ask
        self.inbox = implement(InboxOperations, RemoteDoor(InboxOperations, ask), snooze=self._snooze)
        self.notifications = remote(NotificationOperations, ask)
        self.schedules = implement(
            ScheduleOperations,
            RemoteDoor(ScheduleOperations, ask),
            run_now=self._run_now,
            backfill=self._backfill,
        )
        self.triggers = remote(TriggerOperations, ask)
        self.tools = remote(ToolOperations, ask)

    async def _snooze(self, ask: str, until: float) -> InboxItem:
        body = {'until': to_rfc3339(until) if until else ''}
        answer = await self._ask.ask('PUT', f'inbox/{quote(ask, safe="")}/snooze', safe=True, json=body)
        return decode(InboxItem, answer.json())

    async def _run_now(self, schedule: str, *, key: str = '') -> Tick:
        return decode(Tick, await self._ask.create(f'schedules/{quote(schedule, safe="")}/run', None))

    async def _backfill(self, schedule: str, since: float, until: float) -> Sequence[Tick]:
        body = {'since': to_rfc3339(since), 'until': to_rfc3339(until)}
        path = f'schedules/{quote(schedule, safe="")}/backfill'
        return [decode(Tick, tick) for tick in await self._ask.do(path, body)]
