"""RemoteJournal: the reading methods of a journal, for runs on a server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from engine.records import Note, RunId, RunInfo, RunPage, RunQuery, Shape, Snapshot, Transition
from ui.api.client.connection import Connection
from ui.api.cursors import MAX_LIMIT
from ui.api.dependencies import FILTERS
from ui.api.records import FamilyMember
from ui.api.wire import decode, to_rfc3339


class RemoteJournal:
    """Reads runs from a server as a journal reads them from disk. Only servers write."""

    def __init__(self, connection: Connection) -> None:
        self._ask = connection

    async def info(self, run: RunId) -> RunInfo:
        """Return the run's summary."""
        return await self._ask.one(RunInfo, f'runs/{run}')

    async def shape(self, run: RunId) -> Shape:
        """Return the run's chart."""
        return await self._ask.one(Shape, f'runs/{run}/shape')

    async def notes(self, run: RunId) -> list[Note]:
        """List the notes on the run's steps."""
        return await self._ask.many(Note, f'runs/{run}/notes')

    async def family(self, run: RunId) -> list[RunInfo]:
        """Return the run, its ancestors, and all their forks, oldest first."""
        members = await self._ask.many(FamilyMember, f'runs/{run}/lineage')
        return sorted((member.info for member in members), key=lambda info: (info.created, info.id))

    async def snapshot(self, run: RunId, at: int) -> Snapshot | None:
        """Return the latest snapshot at or before a step."""
        snapshot = await self._ask.get(f'runs/{run}/snapshot', at=at)
        return None if snapshot is None else decode(Snapshot, snapshot)

    async def transitions(
        self, run: RunId, *, after: int = 0, until: int | None = None, limit: int | None = None
    ) -> list[Transition]:
        """Return the steps in the given range."""
        steps: list[Transition] = []
        cursor: str | None = ''
        while cursor is not None and (limit is None or len(steps) < limit):
            size = MAX_LIMIT if limit is None else min(MAX_LIMIT, limit - len(steps))
            page = await self._ask.get(
                f'runs/{run}/steps', after=after, until=until, limit=size, cursor=cursor
            )
            steps += [decode(Transition, step) for step in page['items']]
            cursor = page['next']
        return steps

    async def runs(self, query: RunQuery) -> RunPage:
        """Return summaries of the matching runs, newest first."""
        infos: list[RunInfo] = []
        total = 0
        async for page in self.pages(query):
            total = page['total']
            infos += [decode(RunInfo, item) for item in page['items']]
            if len(infos) >= query.offset + query.limit:
                break
        return RunPage(runs=tuple(infos[query.offset : query.offset + query.limit]), total=total)

    async def pages(self, query: RunQuery) -> AsyncIterator[dict[str, Any]]:
        """Yield all pages of a list, from the first."""
        cursor: str | None = ''
        size = max(1, min(MAX_LIMIT, query.offset + query.limit))
        filters = {**query_of(query), 'place': query.place, 'limit': size}
        while cursor is not None:
            page = await self._ask.get('runs', cursor=cursor, **filters)
            yield page
            cursor = page['next']


def query_of(query: RunQuery) -> dict[str, Any]:
    """Return the filters of a list as query parameters."""
    times = {'since': query.since, 'until': query.until}
    filters = {name: getattr(query, name) or None for name in FILTERS}
    return {
        **{name: list(value) if isinstance(value, tuple) else value for name, value in filters.items()},
        'edge': list(query.edges) or None,
        'edges': None,
        **{name: None if moment is None else to_rfc3339(moment) for name, moment in times.items()},
    }
