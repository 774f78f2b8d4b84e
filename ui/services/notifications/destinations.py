"""Destinations: who is notified of which events through which channel; stored with the runs."""

from __future__ import annotations

import base64
import re
import secrets
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError
from standardwebhooks import Webhook

from engine import InvalidInput
from engine.errors import EngineError
from engine.host.clock import Clock
from engine.journal import Entry, EntryQuery, Journal
from engine.records import Instant, refuse_nul

KIND = 'destination'
Channel = Literal['webhook', 'slack', 'email']
EventType = Literal['run.waiting', 'question.assigned', 'run.ended', 'run.failed', 'run.budget_warned']
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
ADDRESS = re.compile(r'[^@\s,;<>"]+@[^@\s,;<>"]+\.[^@\s,;<>"]+')
MAX_TEXT = 200
"""Maximum characters of a short text."""


class UnknownDestination(EngineError):
    """There is no destination with that id."""

    def __init__(self, destination: str) -> None:
        super().__init__(f'there is no destination {destination!r}')


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where notifications are sent, and about what."""

    id: str = ''
    name: str
    channel: Channel
    address: str
    """A URL or an e-mail address."""
    secret: str = ''
    """The secret for signing webhooks: `whsec_` and base64; generated if none is given."""
    events: tuple[EventType, ...] = EVENT_TYPES
    pattern: str = ''
    """Only runs of this pattern; '' means all. The same goes for `tag`."""
    tag: str = ''
    person: str = ''
    """Only questions assigned to this person; '' means all."""
    paused: bool = False
    problem: str = ''
    """Why messages are no longer sent there, or ''."""
    created: Instant = 0.0
    """Only events from this time on are sent."""

    def wants(self, event: str, pattern: str, tags: Sequence[str], assignee: str = '') -> bool:
        """Whether it is notified of an event of a run with this pattern and these tags."""
        if self.person and event in ('run.waiting', 'question.assigned') and assignee != self.person:
            return False
        return (
            event in self.events
            and self.pattern in ('', pattern)
            and (not self.tag or self.tag in tags)
            and not self.paused
        )


STORED = TypeAdapter(Destination)


def new_signing_secret() -> str:
    """Return a random secret to sign messages with: `whsec_` and 24 bytes in base64 (Standard Webhooks)."""
    return f'whsec_{base64.b64encode(secrets.token_bytes(24)).decode()}'


class Destinations:
    """Stores destinations as entries of a journal."""

    def __init__(self, journal: Journal, clock: Clock) -> None:
        self._journal, self._clock = journal, clock

    async def list(self) -> list[Destination]:
        """Return all destinations, sorted by name."""
        entries = await self._journal.entries(EntryQuery(kind=KIND))
        return sorted(
            (_destination_of(entry) for entry in entries),
            key=lambda destination: (destination.name.lower(), destination.id),
        )

    async def get(self, destination: str) -> Destination:
        """Return a destination. Raises `UnknownDestination`."""
        return _destination_of(await self._read_entry(destination))

    async def add(self, destination: Destination) -> Destination:
        """Store a new destination; secret and time are set here. Raises `InvalidInput`, `EntryChanged`."""
        added = replace(
            destination,
            id=destination.id or uuid.uuid4().hex[:12],
            secret=(destination.secret or new_signing_secret()) if destination.channel == 'webhook' else '',
            created=self._clock.now(),
            problem='',
        )
        validate(added)
        await self._journal.write_entries([Entry(kind=KIND, key=added.id, body=asdict(added))])
        return added

    async def change(self, destination: str, **values: Any) -> Destination:
        """Change some fields. Raises `UnknownDestination`, `InvalidInput`, `EntryChanged`."""
        entry = await self._read_entry(destination)
        stored = _destination_of(entry)
        changed = replace(stored, **values)
        if stored.paused and not changed.paused:
            changed = replace(changed, problem='')
        validate(changed)
        await self._journal.write_entries([replace(entry, body=asdict(changed))])
        return changed

    async def remove(self, destination: str) -> None:
        """Remove a destination; unsent messages are never sent. Raises `UnknownDestination`."""
        await self._journal.write_entries([], [await self._read_entry(destination)])

    async def _read_entry(self, destination: str) -> Entry:
        entry = await self._journal.entry(KIND, destination)
        if entry is None:
            raise UnknownDestination(destination)
        return entry


def _destination_of(entry: Entry) -> Destination:
    return STORED.validate_python(dict(entry.body))


def validate(destination: Destination) -> None:
    """Raise `InvalidInput`, naming the field, for a destination that cannot work."""
    refuse_nul(asdict(destination))
    problems: dict[str, str] = {}
    if not 0 < len(destination.name.strip()) <= MAX_TEXT:
        problems['name'] = f'must have 1 to {MAX_TEXT} characters'
    if destination.channel not in get_args(Channel):
        problems['channel'] = f'must be one of {", ".join(get_args(Channel))}, not {destination.channel!r}'
    elif problem := address_problem(destination.channel, destination.address):
        problems['address'] = problem
    if not destination.events or (
        unknown := [name for name in destination.events if name not in EVENT_TYPES]
    ):
        wrong = f', not {unknown[0]!r}' if destination.events else ''
        problems['events'] = f'must be some of {", ".join(EVENT_TYPES)}{wrong}'
    if problem := secret_problem(destination.secret):
        problems['secret'] = problem
    if problems:
        raise InvalidInput(problems)


def secret_problem(secret: str) -> str:
    """Return why webhooks cannot be signed with a secret, or ''. An empty secret requests a new one."""
    try:
        if secret:
            Webhook(secret)
    except Exception as error:  # the library has no common base class for its errors
        return f'must be whsec_ and base64: {error}'
    return ''


def address_problem(channel: str, address: str) -> str:
    """Return why a channel cannot use an address, or ''."""
    if channel == 'email':
        well = ADDRESS.fullmatch(address)
        return '' if well else f'must be an e-mail address such as ada@team.example, not {address!r}'
    try:
        parts = urlsplit(address)
        well_formed = parts.scheme in ('http', 'https') and bool(parts.hostname) and parts.port != 0
    except ValueError:
        well_formed = False
    return '' if well_formed else f'must be a URL such as https://team.example/hook, not {address!r}'


def parse(values: Mapping[str, Any]) -> Destination:
    """Parse a destination from a caller's values. Raises `InvalidInput`."""
    try:
        return STORED.validate_python(dict(values))
    except ValidationError as error:
        problems = {'.'.join(map(str, item['loc'])): item['msg'] for item in error.errors()}
        raise InvalidInput(problems) from None
