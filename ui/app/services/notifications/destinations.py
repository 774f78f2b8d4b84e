"""Destinations: who is notified of which events through which channel; stored with the runs."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field, StrictBool, TypeAdapter, ValidationError

from engine import InvalidInput
from engine.errors import EngineError
from engine.host.clock import Clock
from engine.journal import Documents, Store
from engine.records import COMPUTED, HIDDEN, Instant, Label
from ui.app.services.signing import new_signing_secret, secret_problem

KIND = 'destination'
Channel = Literal['webhook', 'slack', 'email']
EventType = Literal[
    'run.waiting',
    'question.assigned',
    'run.ended',
    'run.failed',
    'run.budget_warned',
    'experiment.done',
    'experiment.regressed',
    'schedule.not_started',
]
EVENT_TYPES: tuple[EventType, ...] = get_args(EventType)
ADDRESS = re.compile(r'[^@\s,;<>"]+@[^@\s,;<>"]+\.[^@\s,;<>"]+')
MAX_TEXT = 200
"""Maximum characters of a short text."""


CHANNELS = Label(
    'Channel', {'webhook': 'Signed webhook', 'slack': 'Slack-compatible webhook', 'email': 'E-mail'}
)
EVENTS = Label(
    'Events',
    {
        'run.waiting': 'A run waits for a person',
        'question.assigned': 'A question is assigned',
        'run.ended': 'A run is done or cancelled',
        'run.failed': 'A run fails',
        'run.budget_warned': 'A budget is nearly or completely used',
        'experiment.done': 'An experiment is over',
        'experiment.regressed': 'An experiment scores worse than the last time, or than it may',
        'schedule.not_started': 'A schedule cannot start what it should, or skips an experiment',
    },
)


class UnknownDestination(EngineError):
    """There is no destination with that id."""

    def __init__(self, destination: str) -> None:
        super().__init__(f'there is no destination {destination!r}')


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where notifications are sent, and about what."""

    id: Annotated[str, COMPUTED] = ''
    name: Annotated[str, Field(min_length=1, max_length=MAX_TEXT), Label('Name')]
    """What to call it."""
    channel: Annotated[Channel, CHANNELS] = 'webhook'
    """A signed webhook, a Slack-compatible webhook, or e-mail."""
    address: Annotated[str, Field(min_length=1, max_length=2_000), Label('Address')]
    """A URL such as https://team.example/hook, or an e-mail address."""
    events: Annotated[tuple[EventType, ...], EVENTS] = EVENT_TYPES
    """The events to send; by default all."""
    pattern: Annotated[str, Field(max_length=MAX_TEXT), Label('Only this pattern')] = ''
    """Only runs and experiments of this pattern."""
    tag: Annotated[str, Field(max_length=MAX_TEXT), Label('Only this tag')] = ''
    """Only runs and experiments with this tag."""
    person: Annotated[str, Field(max_length=MAX_TEXT), Label('Person')] = ''
    """Only questions that are assigned to this person."""
    secret: Annotated[str, Field(max_length=MAX_TEXT), HIDDEN] = ''
    """Signs webhooks: `whsec_` and base64. By default a new one, which is shown once."""
    paused: StrictBool = False
    """Send nothing for now."""
    problem: Annotated[str, COMPUTED] = ''
    """Why messages are no longer sent there, or ''."""
    created: Annotated[Instant, COMPUTED] = 0.0
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


class Destinations:
    """Stores destinations as entries of a journal."""

    def __init__(self, documents: Documents, clock: Clock) -> None:
        self._store, self._clock = Store(documents, KIND, Destination, UnknownDestination), clock

    async def list(self) -> list[Destination]:
        """Return all destinations, sorted by name."""
        return sorted(
            await self._store.list(), key=lambda destination: (destination.name.lower(), destination.id)
        )

    async def get(self, destination: str) -> Destination:
        """Return a destination. Raises `UnknownDestination`."""
        return await self._store.get(destination)

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
        await self._store.write([added])
        return added

    async def change(self, destination: str, **values: Any) -> Destination:
        """Change some fields. Raises `UnknownDestination`, `InvalidInput`, `EntryChanged`."""

        def edit(stored: Destination) -> Destination:
            changed = replace(stored, **values)
            if stored.paused and not changed.paused:
                changed = replace(changed, problem='')
            validate(changed)
            return changed

        return await self._store.change(destination, edit)

    async def remove(self, destination: str) -> None:
        """Remove a destination; unsent messages are never sent. Raises `UnknownDestination`."""
        await self._store.remove(destination)


def validate(destination: Destination) -> None:
    """Raise `InvalidInput`, naming the field, for a destination that cannot work."""
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
