"""Schedules: stored with the runs; each due time is claimed once and starts exactly one run."""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

from pydantic import TypeAdapter

from engine import Conductor, InvalidInput, Status
from engine.errors import EngineError, EntryChanged, JournalError, UnknownRun
from engine.journal import Entry, EntryQuery
from engine.records import RunInfo, refuse_nul
from engine.runtime import acting_as
from ui.services.schedules.records import Action, Schedule, Tick, UnknownSchedule
from ui.services.schedules.ticks import Source, Ticks, new_tick

log = logging.getLogger('hemicycle')
KIND = 'schedule'
SCHEDULE = TypeAdapter(Schedule)
NEVER = 1e15
"""The rank of a schedule that is never due again."""
POLL_SECONDS = 5.0
"""Maximum seconds between checks, as another process may have written a schedule."""
LATE_SECONDS = 15.0
"""Seconds after which a server handles times that the fleet's workers should have handled."""
MAX_DUE = 1_000
"""Maximum due times of a schedule handled per check; the rest follows in the next."""
NEXT_TIMES = 5
MAX_BACKFILL = 500
TICK_RETENTION = 90 * 86_400.0


class SchedulePlacer(Protocol):
    """Has workers handle schedules, so that no server is needed."""

    async def place(self, schedules: Sequence[Schedule]) -> Collection[str]:
        """Handle these schedules, and no others, from now on.

        Returns:
            The ids of the schedules that it handles.

        Raises:
            EngineError: the placer cannot be reached.
        """


class Schedules:
    """Schedules of runs.

    Args:
        conductor: starts the runs; its journal stores the schedules.
        now: returns wall-clock time in seconds since 1970; by default the conductor's clock.
        placer: in a fleet, has workers handle due times.
    """

    def __init__(
        self,
        conductor: Conductor,
        now: Callable[[], float] | None = None,
        placer: SchedulePlacer | None = None,
    ) -> None:
        self._conductor, self.ticks = conductor, Ticks(conductor)
        self._placer = placer
        self._now = now or conductor.clock.now
        self._changed = asyncio.Event()

    async def list(self) -> list[Schedule]:
        """Return all schedules, sorted by name."""
        entries = await self._conductor.journal.entries(EntryQuery(kind=KIND))
        return sorted(
            (self._schedule_of(entry) for entry in entries),
            key=lambda schedule: (schedule.name.lower(), schedule.id),
        )

    async def get(self, schedule: str) -> Schedule:
        """Return a schedule. Raises `UnknownSchedule`."""
        return self._schedule_of(await self._read_entry(schedule))

    async def add(self, schedule: Schedule) -> Schedule:
        """Store a new schedule; only times from now on are due.

        Raises:
            InvalidInput: a field is invalid.
            EntryChanged: a schedule with the given id exists.
        """
        added = replace(schedule, id=schedule.id or uuid.uuid4().hex[:12], created=self._now())
        self.validate(added)
        await self._store(Entry(kind=KIND, key=added.id), added, self._now())
        return await self.get(added.id)

    async def change(self, schedule: str, **values: Any) -> Schedule:
        """Change some fields; missed times are not caught up.

        Raises:
            UnknownSchedule, InvalidInput
            EntryChanged: another change was made meanwhile.
        """
        entry = await self._read_entry(schedule)
        changed = replace(self._schedule_of(entry), **values)
        self.validate(changed)
        await self._store(entry, changed, self._now())
        return await self.get(schedule)

    async def remove(self, schedule: str) -> None:
        """Remove a schedule; its runs stay. Raises `UnknownSchedule`."""
        await self._conductor.journal.write_entries([], [await self._read_entry(schedule)])

    async def run_now(self, schedule: str, *, key: str = '') -> Tick:
        """Start a run now, regardless of overlaps, once per key. Raises `UnknownSchedule`."""
        record, now = await self.get(schedule), self._now()
        name = f'{schedule}@{key or repr(now)}/by-hand'
        tick = await self.ticks.get(name) if key else None
        if tick is None:
            (tick,) = await self.ticks.claim([new_tick(name, schedule, now)])
        return (
            await self.ticks.start(tick, record.action, _source(record)) if tick.state == 'claimed' else tick
        )

    async def backfill(self, schedule: str, since: float, until: float) -> Sequence[Tick]:
        """Start a run for every due time from `since` to `until` without a run.

        Raises:
            UnknownSchedule
            InvalidInput: there are too many times, or the end is in the future.
        """
        record = await self.get(schedule)
        if not since < until <= self._now():
            raise InvalidInput({'until': 'must be after `since`, and not in the future'})
        due = []
        for moment in record.spec.times(since - 1e-6):
            if moment > until:
                break
            due.append(moment)
            if len(due) > MAX_BACKFILL:
                raise InvalidInput({'since': f'more than {MAX_BACKFILL} times are due until then'})
        started = []
        for moment in due:
            key = _tick_key(schedule, moment)
            entry = await self._conductor.journal.entry('tick', key)
            if entry and entry.state not in ('missed', 'skipped', 'failed'):
                continue
            tick = new_tick(key, schedule, moment, version=entry.version if entry else 0)
            try:
                (claimed,) = await self.ticks.claim([tick])
            except EntryChanged:
                continue
            started.append(await self.ticks.start(claimed, record.action, _source(record)))
        return started

    async def log(self, schedule: str, limit: int = 50) -> Sequence[Tick]:
        """Return the outcomes of its due times, latest first. Raises `UnknownSchedule`."""
        await self._read_entry(schedule)
        return await self.ticks.list(schedule, limit=limit)

    def validate(self, schedule: Schedule) -> None:
        """Raise `InvalidInput`, naming the field, for a schedule that cannot work."""
        refuse_nul(asdict(schedule))
        problems = schedule.spec.problems()
        if not 0 < len(schedule.name.strip()) <= 200:
            problems['name'] = 'must have 1 to 200 characters'
        if not 0 <= schedule.policy.catchup_window < math.inf:
            problems['policy.catchup_window'] = 'must be a number of seconds, 0 or more'
        problems |= check_action(self._conductor, schedule.action)
        if problems:
            raise InvalidInput(problems)

    async def run(self) -> None:
        """Start runs when they are due, until cancelled."""
        while True:
            self._changed.clear()
            try:
                wait = await self.check_due()
            except (JournalError, EntryChanged) as error:
                log.warning('schedules wait for the journal: %s', error)
                wait = POLL_SECONDS
            await self._conductor.clock.sleep_until(self._changed, wait)

    async def check_due(self) -> float:
        """Handle all due times; return the seconds until the next check.

        In a fleet, workers handle them; times not handled after `LATE_SECONDS` seconds are handled here.
        """
        schedules = {schedule.id: schedule for schedule in await self.list()}
        placed = await self._place(list(schedules.values()))

        def due_here(schedule: str, due: float) -> float:
            return due + LATE_SECONDS if schedule in placed else due

        now, wait = self._now(), POLL_SECONDS
        for state in ('claimed', 'buffered'):
            for tick in reversed(await self.ticks.list(state=state)):
                schedule = schedules.get(tick.source)
                if schedule and due_here(schedule.id, tick.due) <= now:
                    await self._resume_tick(schedule, tick)
        for entry in await self._conductor.journal.entries(EntryQuery(kind=KIND, until=now)):
            if due_here(entry.key, entry.rank) <= now:
                await self._handle(entry, now)
        for entry in await self._conductor.journal.entries(EntryQuery(kind=KIND, until=now + POLL_SECONDS)):
            wait = min(wait, max(0.0, due_here(entry.key, entry.rank) - self._now()))
        return wait

    async def handle(
        self, schedule: str, moment: float, *, waiting: bool = False, interrupted: bool = False
    ) -> bool:
        """Handle one schedule's due times, when called by the placer of a fleet.

        Args:
            schedule: its id; nothing happens if it no longer exists.
            moment: the minimum current time: the placer's clock may be ahead of ours.
            waiting: whether the previous call returned True.
            interrupted: whether the previous call may have been interrupted.

        Returns:
            Whether to call this again soon, because a due time waits for the previous run.
        """
        entry = await self._conductor.journal.entry(KIND, schedule)
        if entry is None:
            return False
        stored, now = self._schedule_of(entry), max(self._now(), moment)
        before = await self.ticks.list(schedule, state='buffered')
        cut_off = await self.ticks.list(schedule, state='claimed') if interrupted else ()
        for tick in reversed([*before, *cut_off]):
            await self._resume_tick(stored, tick)
        if entry.rank <= now:
            await self._handle(entry, now)
        after = await self.ticks.list(schedule, state='buffered', limit=1)
        return bool(after) and (waiting or not before)

    async def _place(self, schedules: Sequence[Schedule]) -> Collection[str]:
        """Return the ids of the schedules that the fleet handles."""
        if self._placer is None:
            return ()
        try:
            return await self._placer.place(schedules)
        except EngineError as error:
            log.warning('schedules are handled by this server: %s', error)
            return ()

    async def clean_up(self, is_kept: Callable[[Tick], bool] = lambda tick: False) -> None:
        """Delete old ticks, including those of triggers, except those that must be kept."""
        await self.ticks.clean_up(self._now() - TICK_RETENTION, is_kept)

    async def _resume_tick(self, schedule: Schedule, tick: Tick) -> None:
        """Continue a tick that a killed process had claimed or that waits for the previous run."""
        if tick.state == 'buffered':
            if await self._is_busy(schedule, tick):
                return
            try:
                (tick,) = await self.ticks.claim([replace(tick, state='claimed')])
            except EntryChanged:
                return  # Another process continues it.
        if tick.state == 'claimed':
            await self.ticks.start(tick, schedule.action, _source(schedule))

    async def _handle(self, entry: Entry, now: float) -> None:
        """Handle the due times of one schedule, each in its own transaction."""
        schedule = self._schedule_of(entry)
        done = float(entry.body['done'])
        for moment in schedule.spec.next(done, MAX_DUE):
            if moment > now:
                break
            tick = await self._decide(schedule, moment, now, float(entry.body['since']))
            entry = self._entry_of(entry, schedule, moment)
            paused = replace(schedule, paused=True, note=tick.reason) if tick.reason == FAILED else None
            if paused:
                entry = self._entry_of(entry, paused, moment)
            try:
                (claimed,) = await self.ticks.claim([tick], entry)
            except EntryChanged:
                return  # Another process handles it.
            entry = replace(entry, version=entry.version + 1)
            if claimed.state == 'claimed':
                await self.ticks.start(claimed, schedule.action, _source(schedule))
            if paused:
                return

    async def _decide(self, schedule: Schedule, moment: float, now: float, since: float) -> Tick:
        """Decide what to do at a due time; failures count only `since` a person last changed the schedule."""
        tick = new_tick(_tick_key(schedule.id, moment), schedule.id, moment)
        policy = schedule.policy
        if now - moment > policy.catchup_window:
            return replace(tick, state='missed', reason='no server was running')
        last = await self._last_run(schedule)
        if policy.pause_on_failure and last and last.status is Status.FAILED and last.updated > since:
            return replace(tick, state='skipped', reason=FAILED)
        if policy.overlap == 'allow_all' or last is None or last.status.ended:
            return tick
        return await self._resolve_overlap(schedule, tick, last)

    async def _resolve_overlap(self, schedule: Schedule, tick: Tick, last: RunInfo) -> Tick:
        """Decide what to do at a due time while the previous run is unfinished."""
        overlap = schedule.policy.overlap
        if overlap == 'cancel_other':
            try:
                with acting_as(_source(schedule).actor):
                    await self._conductor.cancel(last.id, f'the next run of {schedule.name} is due')
            except EngineError as error:
                return replace(tick, state='skipped', reason=f'{last.id} could not be cancelled: {error}')
            return tick
        buffered = await self.ticks.list(schedule.id, state='buffered', limit=1)
        if overlap == 'buffer_one' and not buffered:
            return replace(tick, state='buffered', reason=f'waits for {last.id}')
        return replace(tick, state='skipped', reason=f'{last.id} was not done')

    async def _is_busy(self, schedule: Schedule, tick: Tick) -> bool:
        last = await self._last_run(schedule)
        return last is not None and not last.status.ended and last.id != tick.run

    async def _last_run(self, schedule: Schedule) -> RunInfo | None:
        """Return the last started run, if it still exists."""
        for tick in await self.ticks.list(schedule.id, state='started', limit=1):
            try:
                return await self._conductor.info(tick.run)
            except UnknownRun:
                return None
        return None

    async def _store(self, entry: Entry, schedule: Schedule, now: float) -> None:
        """Store a person's change."""
        changed = replace(entry, body={**entry.body, 'since': now})
        await self._conductor.journal.write_entries([self._entry_of(changed, schedule, now)])
        self._changed.set()

    def _entry_of(self, entry: Entry, schedule: Schedule, done: float) -> Entry:
        due = [] if schedule.paused else schedule.spec.next(done)
        body = asdict(replace(schedule, next_times=()))
        rank = due[0] if due else NEVER
        state = 'paused' if schedule.paused else 'active'
        body |= {'done': done, 'since': entry.body['since']}
        return replace(entry, body=body, rank=rank, state=state)

    def _schedule_of(self, entry: Entry) -> Schedule:
        values = {name: value for name, value in entry.body.items() if name not in ('done', 'since')}
        schedule: Schedule = SCHEDULE.validate_python(values)
        if schedule.paused:
            return schedule
        times = schedule.spec.next(max(float(entry.body['done']), self._now()), NEXT_TIMES)
        return replace(schedule, next_times=tuple(times))

    async def _read_entry(self, schedule: str) -> Entry:
        entry = await self._conductor.journal.entry(KIND, schedule)
        if entry is None:
            raise UnknownSchedule(schedule)
        return entry


FAILED = 'paused: the previous run failed'


def _source(schedule: Schedule) -> Source:
    return Source('schedule', schedule.name)


def _tick_key(schedule: str, moment: float) -> str:
    return f'{schedule}@{moment:.3f}'


def check_action(conductor: Conductor, action: Action, *, mapped: tuple[str, ...] = ()) -> dict[str, str]:
    """Return the problems of an action by field; the parameters `mapped` are supplied later."""
    try:
        pattern = conductor.catalog.pattern(action.pattern)
        if not mapped:
            pattern(pattern.parse(dict(action.parameters)))
    except InvalidInput as error:
        return {f'action.parameters.{name}': problem for name, problem in error.problems.items()}
    except EngineError as error:
        return {'action.pattern': str(error)}
    fields = pattern.Parameters.model_fields
    unknown = [name for name in (*action.parameters, *mapped) if name not in fields]
    return {f'action.parameters.{name}': 'the pattern has no such parameter' for name in unknown}
