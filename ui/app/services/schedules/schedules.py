"""Schedules: stored with the runs; each due time is claimed once and starts one run or experiment."""

from __future__ import annotations

import asyncio
import logging
import math
import uuid
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from engine import InvalidInput, LocalConductor
from engine.errors import EngineError, EntryChanged, JournalError, UnknownPattern
from engine.journal import Columns, Store
from engine.operations.experiments import Experiment, UnknownDataset, launch_of
from engine.records import Launch, check_files
from engine.runtime import ACTOR, acting_as
from ui.app.services.schedules.records import Schedule, Tick, UnknownSchedule
from ui.app.services.schedules.ticks import DATASET_GONE, Source, Started, Ticks, new_tick

log = logging.getLogger('hemicycle')
KIND = 'schedule'
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
AHEAD_SECONDS = 60.0
"""By how much a schedule may be ahead of the clock, before it is taken that the clock was wrong."""
REDONE = ('missed', 'skipped', 'failed')
"""States of ticks that started no run, which a backfill and a clock that is set back handle again."""
TICK_RETENTION = 90 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSchedule:
    """A schedule as stored, with its position in time; moments are seconds since 1970."""

    id: str
    schedule: Schedule
    state: str
    """`active` or `paused`."""
    due: float
    """The next due time, or `NEVER`."""
    done: float
    """All due times up to this one are handled."""
    since: float
    """When a person last changed it."""
    version: int


COLUMNS = Columns(state='state', rank='due', version='version')


def plan(schedule: Schedule, *, done: float, since: float, version: int) -> PlannedSchedule:
    """Return a schedule as stored, whose due times up to `done` are handled."""
    due = [] if schedule.paused else schedule.spec.next(done)
    return PlannedSchedule(
        id=schedule.id,
        schedule=replace(schedule, next_times=(), problem=''),
        state='paused' if schedule.paused else 'active',
        due=due[0] if due else NEVER,
        done=done,
        since=since,
        version=version,
    )


def replan(planned: PlannedSchedule, schedule: Schedule, done: float) -> PlannedSchedule:
    """Return a stored schedule with changes that no person made, whose due times up to `done` are handled."""
    return plan(schedule, done=done, since=planned.since, version=planned.version)


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
        conductor: LocalConductor,
        now: Callable[[], float] | None = None,
        placer: SchedulePlacer | None = None,
    ) -> None:
        self._conductor, self.ticks = conductor, Ticks(conductor)
        self._store = Store(conductor.journal.documents, KIND, PlannedSchedule, UnknownSchedule, COLUMNS)
        self._placer = placer
        self._now = now or conductor.clock.now
        self._changed = asyncio.Event()

    async def list(self) -> list[Schedule]:
        """Return all schedules, sorted by name."""
        return sorted(
            [await self._describe(planned) for planned in await self._store.list()],
            key=lambda schedule: (schedule.name.lower(), schedule.id),
        )

    async def stored(self) -> Sequence[Schedule]:
        """Return all schedules as stored: without their next times, and what is wrong with them."""
        return [planned.schedule for planned in await self._store.list()]

    async def get(self, schedule: str) -> Schedule:
        """Return a schedule. Raises `UnknownSchedule`."""
        return await self._describe(await self._store.get(schedule))

    async def add(self, schedule: Schedule) -> Schedule:
        """Store a new schedule; only times from now on are due.

        Raises:
            InvalidInput: a field is invalid.
            EntryChanged: a schedule with the given id exists.
        """
        key, author = schedule.id or uuid.uuid4().hex[:12], schedule.author or ACTOR.get()
        added = replace(_plain(schedule), id=key, author=author, created=self._now())
        await self.validate(added)
        await self._write(added)
        return await self.get(added.id)

    async def change(self, schedule: str, **values: Any) -> Schedule:
        """Change some fields; missed times are not caught up.

        What it starts is checked if that is changed, or if it is resumed: one that can no longer start can
        still be paused, renamed or moved to another time.

        Raises:
            UnknownSchedule, InvalidInput
            EntryChanged: another change was made meanwhile.
        """
        planned = await self._store.get(schedule)
        changed, before = _plain(replace(planned.schedule, **values)), planned.schedule
        resumed = before.paused and not changed.paused
        same = (changed.action, changed.experiment) == (before.action, before.experiment)
        await self.validate(changed, starts=resumed or not same)
        await self._write(changed, planned.version)
        return await self.get(schedule)

    async def remove(self, schedule: str) -> None:
        """Remove a schedule; its runs stay. Raises `UnknownSchedule`."""
        await self._store.remove(schedule)

    async def run_now(self, schedule: str, *, key: str = '') -> Tick:
        """Start a run now, regardless of overlaps, once per key. Raises `UnknownSchedule`."""
        record, now = await self.get(schedule), self._now()
        name = f'{schedule}@{key or repr(now)}/by-hand'
        tick = await self.ticks.get(name) if key else None
        if tick is None:
            (tick,) = await self.ticks.claim([new_tick(name, schedule, now)])
        return (
            await self.ticks.start(tick, _action(record), _source(record))
            if tick.state == 'claimed'
            else tick
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
            before = await self.ticks.get(key)
            if before and before.state not in REDONE:
                continue
            tick = new_tick(key, schedule, moment, version=before.version if before else 0)
            try:
                (claimed,) = await self.ticks.claim([tick])
            except EntryChanged:
                continue
            started.append(await self.ticks.start(claimed, _action(record), _source(record)))
        return started

    async def log(self, schedule: str, limit: int = 50) -> Sequence[Tick]:
        """Return the outcomes of its due times, latest first. Raises `UnknownSchedule`."""
        await self._store.read(schedule)
        return await self.ticks.list(schedule, limit=limit)

    async def validate(self, schedule: Schedule, *, starts: bool = True) -> None:
        """Raise `InvalidInput`, naming the field, for a schedule that cannot work.

        Args:
            schedule: the schedule.
            starts: whether what it starts is checked, too; of an experiment, all its runs are planned.
        """
        problems = schedule.spec.problems()
        if not 0 < len(schedule.name.strip()) <= 200:
            problems['name'] = 'must have 1 to 200 characters'
        if not 0 <= schedule.policy.catchup_window < math.inf:
            problems['policy.catchup_window'] = 'must be a number of seconds, 0 or more'
        if (schedule.action is None) == (schedule.experiment is None):
            problems['action'] = 'must be a run or an experiment to start, and not both'
        elif not starts:
            pass
        elif schedule.experiment:
            problems |= await self._check_experiment(schedule.experiment)
        elif schedule.action:
            problems |= check_action(self._conductor, schedule.action)
        if problems:
            raise InvalidInput(problems)

    async def _check_experiment(self, experiment: Experiment) -> dict[str, str]:
        try:
            await self._conductor.experiments.plan(experiment)
        except InvalidInput as error:
            return {f'experiment.{name}': problem for name, problem in error.problems.items()}
        except EngineError as error:
            return {'experiment': str(error)}
        return {}

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
        schedules = {planned.id: planned.schedule for planned in await self._set_back()}
        placed = await self._place(list(schedules.values()))

        def due_here(schedule: str, due: float) -> float:
            return due + LATE_SECONDS if schedule in placed else due

        now, wait = self._now(), POLL_SECONDS
        for state in ('claimed', 'buffered'):
            for tick in reversed(await self.ticks.list(state=state)):
                schedule = schedules.get(tick.source)
                if schedule and due_here(schedule.id, tick.due) <= now:
                    await self._resume_tick(schedule, tick)
        for planned in await self._store.list(until=now):
            if due_here(planned.id, planned.due) <= now:
                await self._handle(planned, now)
        for planned in await self._store.list(until=now + POLL_SECONDS):
            wait = min(wait, max(0.0, due_here(planned.id, planned.due) - self._now()))
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
        planned, now = await self._store.find(schedule), max(self._now(), moment)
        if planned is None:
            return False
        before = await self.ticks.list(schedule, state='buffered')
        cut_off = await self.ticks.list(schedule, state='claimed') if interrupted else ()
        for tick in reversed([*before, *cut_off]):
            await self._resume_tick(planned.schedule, tick)
        if planned.due <= now:
            await self._handle(planned, now)
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
            await self.ticks.start(tick, _action(schedule), _source(schedule))

    async def _set_back(self) -> Sequence[PlannedSchedule]:
        """Have schedules continue from now that a clock set too far ahead has handled until long after.

        Returns:
            All schedules, as they were before.
        """
        schedules, now = await self._store.list(), self._now()
        for planned in schedules:
            if planned.done > now + AHEAD_SECONDS:
                await self._store.write([replan(planned, planned.schedule, now)])
        return schedules

    async def _handle(self, planned: PlannedSchedule, now: float) -> None:
        """Handle the due times of one schedule, each in its own transaction."""
        schedule = planned.schedule
        if problem := schedule.spec.zone_problem():
            paused = replace(schedule, paused=True, note=f'paused: the time zone {problem}')
            await self._store.write([replan(planned, paused, now)])
            return
        for moment in schedule.spec.next(planned.done, MAX_DUE):
            if moment > now:
                break
            before = await self.ticks.get(_tick_key(schedule.id, moment))  # from when the clock was ahead
            if before and before.state not in REDONE:
                tick = before
            else:
                tick = await self._decide(schedule, moment, now, planned.since)
                tick = replace(tick, version=before.version if before else 0)
            failed = tick.reason == FAILED
            after = replace(schedule, paused=True, note=tick.reason) if failed else schedule
            planned = replan(planned, after, moment)
            try:
                (claimed,) = await self.ticks.claim([tick], self._store.entry_of(planned))
            except EntryChanged:
                return  # Another process handles it.
            planned = replace(planned, version=planned.version + 1)
            if claimed.state == 'claimed':
                await self.ticks.start(claimed, _action(schedule), _source(schedule))
            if failed:
                return

    async def _decide(self, schedule: Schedule, moment: float, now: float, since: float) -> Tick:
        """Decide what to do at a due time; failures count only `since` a person last changed the schedule."""
        tick = new_tick(_tick_key(schedule.id, moment), schedule.id, moment)
        policy = schedule.policy
        if now - moment > policy.catchup_window:
            return replace(tick, state='missed', reason='no server was running')
        last = await self._last_run(schedule)
        if policy.pause_on_failure and last and last.failed > since:
            return replace(tick, state='skipped', reason=FAILED)
        if policy.overlap == 'allow_all' or last is None or last.is_over:
            return tick
        return await self._resolve_overlap(schedule, tick, last)

    async def _resolve_overlap(self, schedule: Schedule, tick: Tick, last: Started) -> Tick:
        """Decide what to do at a due time while the previous run is unfinished."""
        overlap = schedule.policy.overlap
        if overlap == 'cancel_other':
            try:
                with acting_as(_source(schedule).actor):
                    await last.cancel(f'the next run of {schedule.name} is due')
            except EngineError as error:
                return replace(tick, state='skipped', reason=f'{last.words} could not be cancelled: {error}')
            return tick
        buffered = await self.ticks.list(schedule.id, state='buffered', limit=1)
        if overlap == 'buffer_one' and not buffered:
            return replace(tick, state='buffered', reason=f'waits for {last.words}')
        return replace(tick, state='skipped', reason=f'{last.words} was not done')

    async def _is_busy(self, schedule: Schedule, tick: Tick) -> bool:
        last = await self._last_run(schedule)
        return last is not None and not last.is_over and last.id != tick.run

    async def _last_run(self, schedule: Schedule) -> Started | None:
        """Return the last started run or experiment, if it still exists."""
        for tick in await self.ticks.list(schedule.id, state='started', limit=1):
            return await self.ticks.find_started(tick)
        return None

    async def _write(self, schedule: Schedule, version: int = 0) -> None:
        """Store a person's change. Raises `EntryChanged`."""
        now = self._now()
        await self._store.write([plan(schedule, done=now, since=now, version=version)])
        self._changed.set()

    async def _describe(self, planned: PlannedSchedule) -> Schedule:
        """Return a schedule with its next times, and what is wrong with it now."""
        return replace(self._with_next_times(planned), problem=await self._problem(planned.schedule))

    async def _problem(self, schedule: Schedule) -> str:
        """Return why it could start nothing now, by a look at what it needs; '' if nothing is missing."""
        launches = [schedule.action] if schedule.action else []
        if schedule.experiment:
            launches = list(launches_of(schedule.experiment))
            try:
                await self._conductor.datasets.get(schedule.experiment.dataset)
            except UnknownDataset:
                return DATASET_GONE
        for launch in launches:
            try:
                await self._conductor.catalog.compile(launch.pattern, launch.version)
                self._conductor.catalog.pattern(launch.pattern, launch.version)
            except UnknownPattern as error:
                return f'{error}: choose another one'
        return ''

    def _with_next_times(self, planned: PlannedSchedule) -> Schedule:
        schedule = planned.schedule
        if schedule.paused:
            return schedule
        if problem := schedule.spec.zone_problem():
            return replace(schedule, note=f'the time zone {problem}')
        times = schedule.spec.next(max(planned.done, self._now()), NEXT_TIMES)
        return replace(schedule, next_times=tuple(times))


FAILED = 'paused: the previous run failed'


def launches_of(experiment: Experiment) -> Iterator[Launch]:
    """Yield how each variant runs; those that cannot even be read are left to whoever starts it."""
    for variant in experiment.variants:
        with suppress(InvalidInput):
            yield launch_of(experiment.base, variant)


def _source(schedule: Schedule) -> Source:
    return Source('schedule', schedule.name)


def _action(schedule: Schedule) -> Launch | Experiment:
    action = schedule.experiment or schedule.action
    assert action is not None  # It was checked when it was stored.
    return action


def _plain(schedule: Schedule) -> Schedule:
    """Return it without what an experiment has only once it is started."""
    return replace(schedule, experiment=schedule.experiment and schedule.experiment.again())


def _tick_key(schedule: str, moment: float) -> str:
    return f'{schedule}@{moment:.3f}'


def check_action(
    conductor: LocalConductor, action: Launch, *, mapped: tuple[str, ...] = ()
) -> dict[str, str]:
    """Return the problems of an action by field; the parameters `mapped` are supplied later."""
    try:
        check_files(action.files, 'action.files')
    except InvalidInput as error:
        return error.problems
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
