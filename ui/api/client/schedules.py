"""HttpSchedules: the methods of `Schedules`, for schedules on a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from ui.api.client.connection import Connection
from ui.api.wire import decode, dump, dump_fields, to_rfc3339
from ui.services.schedules import Schedule, Tick


class HttpSchedules:
    """Schedules on a server.

    Args:
        ask: the connection to the server.
    """

    def __init__(self, ask: Connection) -> None:
        self._ask = ask

    async def list(self) -> list[Schedule]:
        """Return all schedules, by name. Raises `EngineError`, as all methods do."""
        return await self._ask.many(Schedule, 'schedules')

    async def get(self, schedule: str) -> Schedule:
        """Return the schedule with this id."""
        return await self._ask.one(Schedule, f'schedules/{quote(schedule, safe="")}')

    async def add(self, schedule: Schedule) -> Schedule:
        """Add a schedule, starting now."""
        return decode(Schedule, await self._ask.create('schedules', dump(schedule)))

    async def change(self, schedule: str, **values: Any) -> Schedule:
        """Change some fields of a schedule."""
        body = dump_fields(Schedule, values)
        path = f'schedules/{quote(schedule, safe="")}'
        return await self._ask.one_of(Schedule, path, body, method='PATCH')

    async def remove(self, schedule: str) -> None:
        """Remove a schedule; its runs stay."""
        await self._ask.ask('DELETE', f'schedules/{quote(schedule, safe="")}', safe=True)

    async def run_now(self, schedule: str) -> Tick:
        """Start a run of a schedule now."""
        return decode(Tick, await self._ask.create(f'schedules/{quote(schedule, safe="")}/run', None))

    async def backfill(self, schedule: str, since: float, until: float) -> Sequence[Tick]:
        """Start a run for each scheduled time in a span that has none yet."""
        body = {'since': to_rfc3339(since), 'until': to_rfc3339(until)}
        path = f'schedules/{quote(schedule, safe="")}/backfill'
        return [decode(Tick, tick) for tick in await self._ask.do(path, body)]

    async def log(self, schedule: str, limit: int = 50) -> Sequence[Tick]:
        """List what happened each time a schedule was due, latest first."""
        return await self._ask.many(Tick, f'schedules/{quote(schedule, safe="")}/ticks', limit=limit)
