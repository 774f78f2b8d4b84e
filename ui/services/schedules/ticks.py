"""Ticks: claims each due time exactly once, then starts its run under an id derived from it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from engine import Conductor
from engine.errors import EngineError, EntryChanged, JournalConflict, JournalError
from engine.journal import Entry, EntryQuery
from engine.records import Launch
from engine.runtime import ACTOR, acting_as
from ui.access.audit_log import AuditLog
from ui.access.caller import Caller, Role
from ui.services.schedules.records import Tick, tick_run

log = logging.getLogger('hemicycle')
KIND = 'tick'
TICK = TypeAdapter(Tick)


@dataclass(frozen=True, slots=True)
class Source:
    """The source of an automatically started run."""

    kind: str
    """`schedule` or `trigger`."""
    name: str

    @property
    def actor(self) -> str:
        """Its name in place of a person's account; account names never contain a colon."""
        return f'{self.kind}:{self.name}'


class Ticks:
    """The ticks in a conductor's journal."""

    def __init__(self, conductor: Conductor) -> None:
        self._conductor = conductor
        self.audit: AuditLog | None = None
        """The audit log for automatically started runs; None if there is no login."""

    async def list(self, source: str = '', *, state: str = '', limit: int | None = None) -> Sequence[Tick]:
        """Return ticks, latest first."""
        query = EntryQuery(kind=KIND, about=source, state=state, newest=True, limit=limit)
        return [read_tick(entry) for entry in await self._conductor.journal.entries(query)]

    async def get(self, tick: str) -> Tick | None:
        """Return the tick with this id, or None."""
        entry = await self._conductor.journal.entry(KIND, tick)
        return read_tick(entry) if entry else None

    async def claim(self, ticks: Sequence[Tick], *others: Entry) -> Sequence[Tick]:
        """Store new ticks and other entries, all or none. Raises `EntryChanged`."""
        await self._conductor.journal.write_entries([*map(_to_entry, ticks), *others])
        return [replace(tick, version=tick.version + 1) for tick in ticks]

    async def start(self, tick: Tick, action: Launch, source: Source) -> Tick:
        """Start the run of a claimed tick unless already started; the tick records the outcome.

        The run's author is the source, unless a person requested it.

        Raises:
            JournalError: the journal cannot be written at present; the tick stays claimed.
        """
        done = replace(tick, state='started')
        try:
            # A conflict: a process was killed right after it had started the run.
            with acting_as(ACTOR.get() or source.actor), suppress(JournalConflict):
                parameters = {**action.parameters, **tick.parameters}
                launch = replace(action, parameters=parameters, title=action.title or source.name)
                await self._conductor.start(launch, run=tick.run)
        except JournalError:
            raise
        except EngineError as error:
            log.warning('%s could not start %s: %s', tick.source, action.pattern, error)
            done = replace(tick, state='failed', reason=str(error))
        if self.audit and not ACTOR.get():  # a person's own action is logged by the guard
            caller = Caller(source.actor, Role.OPERATOR, source.kind)
            details = {'pattern': action.pattern}
            await self.audit.write(caller, 'start', runs=[tick.run], details=details, refused=done.reason)
        return await self.store(done)

    async def store(self, tick: Tick) -> Tick:
        """Store a tick's outcome; if another process already did, return that one."""
        try:
            await self._conductor.journal.write_entries([_to_entry(tick)])
        except EntryChanged:
            entry = await self._conductor.journal.entry(KIND, tick.id)
            return read_tick(entry) if entry else tick
        return replace(tick, version=tick.version + 1)

    async def clean_up(self, before: float, is_kept: Callable[[Tick], bool] = lambda tick: False) -> None:
        """Delete ticks settled before a time, except those that must be kept."""
        journal = self._conductor.journal
        for state in ('started', 'skipped', 'missed', 'failed', 'seen'):
            for entry in await journal.entries(EntryQuery(kind=KIND, state=state, until=before)):
                if not is_kept(read_tick(entry)):
                    with suppress(EntryChanged):
                        await journal.write_entries([], [entry])


def new_tick(
    key: str, source: str, due: float, parameters: Mapping[str, Any] | None = None, **fields: Any
) -> Tick:
    """Create a tick, claimed unless `fields` say otherwise."""
    values: dict[str, Any] = {'state': 'claimed', 'run': tick_run(key), **fields}
    return Tick(id=key, source=source, due=due, parameters=parameters or {}, **values)


def _to_entry(tick: Tick) -> Entry:
    body = {'run': tick.run, 'reason': tick.reason, 'parameters': dict(tick.parameters)}
    return Entry(
        kind=KIND,
        key=tick.id,
        body=body,
        state=tick.state,
        rank=tick.due,
        about=tick.source,
        version=tick.version,
    )


def read_tick(entry: Entry) -> Tick:
    """Return the tick that an entry of the journal holds."""
    tick: Tick = TICK.validate_python(
        {
            **entry.body,
            'id': entry.key,
            'source': entry.about,
            'due': entry.rank,
            'state': entry.state,
            'version': entry.version,
        }
    )
    return tick
