"""Outbox: messages to send, stored in one transaction with the position in the journal."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from engine.errors import EngineError, EntryChanged
from engine.journal import Columns, Documents, Entry, EntryQuery, Store
from engine.records import Instant, RunId

KIND, CURSOR = 'message', 'notified'
"""The kinds of entries: messages, and per run the last step for which messages were made."""
State = Literal['due', 'sent', 'failed']


class UnknownMessage(EngineError):
    """There is no message with that id."""

    def __init__(self, message: str) -> None:
        super().__init__(f'there is no message {message!r}')


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt to send a message."""

    time: Instant
    seconds: float
    status: int = 0
    """The HTTP status or the SMTP server's code; 0 if there was no response."""
    error: str = ''
    """The error; '' if the message was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxMessage:
    """One notification to one destination, with its attempts so far."""

    id: str
    destination: str
    event: str
    run: RunId
    title: str
    """The run's title."""
    step: int
    number: int = 0
    text: str
    created: Instant
    payload: Mapping[str, Any] = field(default_factory=dict)
    attempts: tuple[Attempt, ...] = ()
    state: State = 'due'
    at: Instant = 0.0
    """When it will be sent, or was sent or abandoned."""
    version: int = 0

    @property
    def lane(self) -> str:
        """The lane, one per run and destination; its messages are sent in order."""
        return f'{self.destination}/{self.run}'

    @property
    def place(self) -> tuple[int, int, str]:
        """Its sort key within its lane."""
        return (self.step, self.number, self.id)


COLUMNS = Columns(state='state', rank='at', about='run', version='version')


def message_id(destination: str, run: str, step: int, number: int, salt: str = '') -> str:
    """Return the id of a message, which is the same if the message is made again."""
    text = '\0'.join((destination, run, str(step), str(number), salt))
    return f'msg_{hashlib.sha256(text.encode()).hexdigest()[:24]}'


class Outbox:
    """The messages in a journal."""

    def __init__(self, documents: Documents) -> None:
        self._store = Store(documents, KIND, OutboxMessage, UnknownMessage, COLUMNS)

    async def due(self) -> list[OutboxMessage]:
        """Return all unsent messages, including those whose next attempt is later."""
        return await self._store.list(state='due')

    async def log(self, *, state: str = '', run: str = '', limit: int = 100) -> list[OutboxMessage]:
        """Return messages, latest first."""
        return await self._store.list(state=state, about=run, newest=True, limit=limit)

    async def get(self, message: str) -> OutboxMessage:
        """Return a message. Raises `UnknownMessage`."""
        return await self._store.get(message)

    async def cursor(self, run: RunId) -> Entry:
        """Return the entry with the last step read of a run, in its rank."""
        return await self._store.documents.get(CURSOR, run) or Entry(kind=CURSOR, key=run)

    async def add(
        self, messages: Sequence[OutboxMessage], cursor: Entry | None = None
    ) -> list[OutboxMessage]:
        """Store new messages together with the position in the journal.

        Raises:
            EntryChanged: another process already did; nothing was written.
        """
        written = map(self._store.entry_of, messages)
        await self._store.documents.write([*written, *([cursor] if cursor else [])])
        return [replace(message, version=1) for message in messages]

    async def change(self, message: OutboxMessage) -> OutboxMessage:
        """Store a message's outcome. Raises `EntryChanged`."""
        await self._store.write([message])
        return replace(message, version=message.version + 1)

    async def drop(self, message: OutboxMessage) -> None:
        """Delete a message that is no longer wanted."""
        with suppress(EntryChanged):
            await self._store.write([], [message])

    async def clean_up(self, before: float) -> None:
        """Delete messages sent or abandoned before a time."""
        for state in ('sent', 'failed'):
            await self._store.documents.forget(EntryQuery(kind=KIND, state=state, until=before))
