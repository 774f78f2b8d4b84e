"""Ticks: claims each due time exactly once, then starts its run under an id derived from it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from engine import LocalConductor
from engine.errors import (
    EngineError,
    EntryChanged,
    EventRefused,
    InvalidInput,
    JournalConflict,
    JournalError,
    UnknownRun,
)
from engine.journal import Columns, Entry, Store
from engine.operations import Role
from engine.operations.experiments import Experiment, UnknownExperiment
from engine.records import Launch, Status
from engine.runtime import ACTOR, acting_as
from ui.app.access.audit_log import AuditLog
from ui.app.access.caller import Caller
from ui.app.services.schedules.records import Tick, tick_run

log = logging.getLogger('hemicycle')
KIND = 'tick'
DATASET_GONE = 'the dataset of its experiment was removed: edit it, and choose an experiment with another one'
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """What a tick has started: a run, or an experiment."""

    id: str
    words: str
    """What it is in a sentence: a run by its id, an experiment also by how far it is."""
    is_over: bool
    failed: float
    """When it failed; 0 if it has not."""
    cancel: Callable[[str], Awaitable[object]]
    """Cancels it, for a reason."""


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

    async def start(self, tick: Tick, action: Launch | Experiment, source: Source) -> Tick:
        """Start the run or experiment of a claimed tick unless already started; the tick records the outcome.

        Its author is the source, unless a person requested it.

        Raises:
            JournalError: the journal cannot be written at present; the tick stays claimed.
        """
        done = replace(tick, state='started', experiment=isinstance(action, Experiment))
        try:
            with acting_as(ACTOR.get() or source.actor):
                if isinstance(action, Experiment):
                    await self._start_experiment(tick.run, action)
                else:
                    await self._start_run(tick, action, source.name)
        except JournalError:
            raise
        except EngineError as error:
            log.warning('%s could not start: %s', tick.source, error)
            done = replace(done, state='failed', reason=str(error))
        if self.audit and not ACTOR.get():  # a person's own action is logged by the guard
            caller = Caller(source.actor, Role.OPERATOR, source.kind)
            if isinstance(action, Experiment):
                what, runs, details = 'experiments.add', [], {'name': action.name}
            else:
                what, runs, details = 'start', [tick.run], {'pattern': action.pattern}
            await self.audit.write(caller, what, runs=runs, details=details, refused=done.reason)
        return await self.store(done)

    async def _start_run(self, tick: Tick, action: Launch, title: str) -> None:
        parameters = {**action.parameters, **tick.parameters}
        launch = replace(action, parameters=parameters, title=action.title or title)
        with suppress(JournalConflict):  # A process was killed right after it had started the run.
            await self._conductor.start(launch, run=tick.run)

    async def _start_experiment(self, id: str, experiment: Experiment) -> None:
        experiments = self._conductor.experiments
        try:
            await experiments.add(replace(experiment, id=id))
        except InvalidInput as error:
            if 'dataset' in error.problems:  # It is named by its id, which says nothing to a person.
                raise EngineError(DATASET_GONE) from None
            raise
        except EntryChanged:  # A process was killed right after it had started it.
            with suppress(EventRefused):  # It is over by now.
                await experiments.resume(id)

    async def find_started(self, tick: Tick) -> Started | None:
        """Return what a tick has started, if that still exists."""
        conductor, experiments = self._conductor, self._conductor.experiments
        try:
            if tick.experiment:
                stored = await experiments.get(tick.run)
                return Started(
                    id=stored.id,
                    words=f'the experiment before ({stored.id}, {stored.state})',
                    is_over=stored.is_over,
                    failed=stored.ended if stored.state == 'failed' else 0.0,
                    cancel=partial(experiments.cancel, stored.id),
                )
            info = await conductor.info(tick.run)
        except (UnknownRun, UnknownExperiment):
            return None
        return Started(
            id=info.id,
            words=info.id,
            is_over=info.status.ended,
            failed=info.updated if info.status is Status.FAILED else 0.0,
            cancel=partial(conductor.cancel, info.id),
        )

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
