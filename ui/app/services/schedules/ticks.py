"""Ticks: claims each due time exactly once, then starts its run under an id derived from it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from engine import LocalConductor
from engine.errors import EngineError, EntryChanged, JournalConflict, JournalError
from engine.journal import Columns, Entry, Store
from engine.operations import Role
from engine.records import Launch
from engine.runtime import ACTOR, acting_as
from ui.app.access.audit_log import AuditLog
from ui.app.access.caller import Caller
from ui.app.services.schedules.records import Tick, tick_run

log = logging.getLogger('hemicycle')
KIND = 'tick'
COLUMNS = Columns(state='state', rank='due', about='source', version='version')


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

    def __init__(self, conductor: LocalConductor) -> None:
        self._conductor = conductor
        self._store = Store(conductor.journal.documents, KIND, Tick, KeyError, COLUMNS)
        self.audit: AuditLog | None = None
        """The audit log for automatically started runs; None if there is no login."""

    async def list(self, source: str = '', *, state: str = '', limit: int | None = None) -> Sequence[Tick]:
        """Return ticks, latest first."""
        return await self._store.list(about=source, state=state, newest=True, limit=limit)

    async def get(self, tick: str) -> Tick | None:
        """Return the tick with this id, or None."""
        return await self._store.find(tick)

    async def claim(self, ticks: Sequence[Tick], *others: Entry) -> Sequence[Tick]:
        """Store new ticks and other entries, all or none. Raises `EntryChanged`."""
        await self._store.documents.write([*map(self._store.entry_of, ticks), *others])
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
            await self._store.write([tick])
        except EntryChanged:
            return await self._store.find(tick.id) or tick
        return replace(tick, version=tick.version + 1)

    async def clean_up(self, before: float, is_kept: Callable[[Tick], bool] = lambda tick: False) -> None:
        """Delete ticks settled before a time, except those that must be kept."""
        for state in ('started', 'skipped', 'missed', 'failed', 'seen'):
            for tick in await self._store.list(state=state, until=before):
                if not is_kept(tick):
                    with suppress(EntryChanged):
                        await self._store.write([], [tick])


def new_tick(
    key: str, source: str, due: float, parameters: Mapping[str, Any] | None = None, **fields: Any
) -> Tick:
    """Create a tick, claimed unless `fields` say otherwise."""
    values: dict[str, Any] = {'state': 'claimed', 'run': tick_run(key), **fields}
    return Tick(id=key, source=source, due=due, parameters=parameters or {}, **values)
