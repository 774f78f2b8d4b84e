"""HttpServices: the inbox, the notifications, the schedules and the triggers of a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from engine.records import RunInfo
from ui.api.client.connection import Connection
from ui.api.client.schedules import HttpSchedules
from ui.api.wire import decode, dump, dump_fields, to_rfc3339
from ui.services.inbox import InboxItem, InboxPage
from ui.services.notifications import Destination, OutboxMessage, UnknownDestination
from ui.services.schedules import Tick, Trigger, UnknownTrigger

"""Fields that only the server sets."""


class HttpServices:
    """The methods of `Services`, for those of a server. All of them raise `EngineError`.

    Args:
        ask: the connection to the server.
    """

    def __init__(self, ask: Connection) -> None:
        self._ask = ask
        self.inbox, self.notifications = HttpInbox(ask), HttpNotifications(ask)
        self.schedules, self.triggers = HttpSchedules(ask), HttpTriggers(ask)

    async def assign(self, ask: str, assignee: str, by: str = '') -> InboxItem:
        """Assign a question to a person and notify them; the server knows `by`."""
        return decode(InboxItem, await _put(self._ask, f'{_question(ask)}/assignee', {'assignee': assignee}))


class HttpInbox:
    """The methods of `Inbox`.

    Args:
        ask: the connection to the server.
    """

    def __init__(self, ask: Connection) -> None:
        self._ask = ask

    async def list(self, *, assignee: str = '', run: str = '', snoozed: bool = False) -> InboxPage:
        """Return all open questions, oldest first."""
        return await self._ask.one(InboxPage, 'inbox', assignee=assignee, run=run, snoozed=snoozed)

    async def find(self, ask: str) -> InboxItem:
        """Return an open question."""
        return await self._ask.one(InboxItem, _question(ask))

    async def answer(
        self, ask: str, event: str, data: Mapping[str, Any] | None = None, *, digest: str, by: str = ''
    ) -> RunInfo:
        """Answer a question, unless it has changed since it was shown; the server knows `by`."""
        body = {'event': event, 'digest': digest, 'data': dict(data or {})}
        return await self._ask.one_of(RunInfo, f'{_question(ask)}/answer', body)

    async def snooze(self, ask: str, until: float) -> InboxItem:
        """Snooze a question until a time; 0 ends the snooze."""
        body = {'until': to_rfc3339(until) if until else ''}
        return decode(InboxItem, await _put(self._ask, f'{_question(ask)}/snooze', body))


class HttpNotifications:
    """The methods of `Notifications`.

    Args:
        ask: the connection to the server.
    """

    def __init__(self, ask: Connection) -> None:
        self._ask, self.destinations = ask, HttpDestinations(ask)

    async def log(self, *, state: str = '', run: str = '', limit: int = 100) -> list[OutboxMessage]:
        """Return messages, latest first."""
        return await self._ask.many(OutboxMessage, 'messages', state=state, run=run, limit=limit)

    async def resend(self, message: str) -> OutboxMessage:
        """Send a message again, with the same id."""
        return await self._ask.one_of(OutboxMessage, f'messages/{quote(message, safe="")}/resend')

    async def test(self, destination: str) -> OutboxMessage:
        """Send an empty test message."""
        return await self._ask.one_of(OutboxMessage, f'destinations/{quote(destination, safe="")}/test')


class HttpDestinations:
    """The methods of `Destinations`; secrets are left out, except of one that was just added.

    Args:
        ask: the connection to the server.
    """

    def __init__(self, ask: Connection) -> None:
        self._ask = ask

    async def list(self) -> list[Destination]:
        """Return all destinations, by name."""
        return await self._ask.many(Destination, 'destinations')

    async def get(self, destination: str) -> Destination:
        """Return the destination with this id. Raises `UnknownDestination`."""
        for stored in await self.list():
            if stored.id == destination:
                return stored
        raise UnknownDestination(destination)

    async def add(self, destination: Destination) -> Destination:
        """Store a new destination; return it with what the server sets: id, secret and time."""
        return decode(Destination, await self._ask.create('destinations', dump(destination)))

    async def change(self, destination: str, **values: Any) -> Destination:
        """Change some fields of a destination."""
        return await self._ask.one_of(
            Destination, _destination(destination), dump_fields(Destination, values), method='PATCH'
        )

    async def remove(self, destination: str) -> None:
        """Delete a destination; unsent messages are never sent."""
        await self._ask.ask('DELETE', _destination(destination), safe=True)


class HttpTriggers:
    """The methods of `Triggers`; secrets are left out, except of one that was just added.

    Args:
        ask: the connection to the server.
    """

    def __init__(self, ask: Connection) -> None:
        self._ask = ask

    async def list(self) -> list[Trigger]:
        """Return all triggers, by name."""
        return await self._ask.many(Trigger, 'triggers')

    async def get(self, trigger: str) -> Trigger:
        """Return the trigger with this id. Raises `UnknownTrigger`."""
        for stored in await self.list():
            if stored.id == trigger:
                return stored
        raise UnknownTrigger(trigger)

    async def add(self, trigger: Trigger) -> Trigger:
        """Store a new trigger; return it with what the server sets: id, secret and time."""
        return decode(Trigger, await self._ask.create('triggers', dump(trigger)))

    async def change(self, trigger: str, **values: Any) -> Trigger:
        """Change some fields of a trigger."""
        body = dump_fields(Trigger, values)
        return await self._ask.one_of(Trigger, _trigger(trigger), body, method='PATCH')

    async def remove(self, trigger: str) -> None:
        """Remove a trigger; its runs stay."""
        await self._ask.ask('DELETE', _trigger(trigger), safe=True)

    async def log(self, trigger: str, limit: int = 50) -> Sequence[Tick]:
        """Return the ticks that fired it, latest first."""
        return await self._ask.many(Tick, f'{_trigger(trigger)}/ticks', limit=limit)


async def _put(ask: Connection, path: str, body: Mapping[str, Any]) -> Any:
    return (await ask.ask('PUT', path, safe=True, json=body)).json()


def _question(ask: str) -> str:
    return f'inbox/{quote(ask, safe="")}'


def _destination(destination: str) -> str:
    return f'destinations/{quote(destination, safe="")}'


def _trigger(trigger: str) -> str:
    return f'triggers/{quote(trigger, safe="")}'
