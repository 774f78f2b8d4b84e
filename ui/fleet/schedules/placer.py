"""TemporalPlacer: creates a Temporal schedule for each of ours, only to wake a worker when due."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Final

from cronsim import CronSim
from temporalio.client import (
    Schedule,
    ScheduleActionStartWorkflow,
    ScheduleAlreadyRunningError,
    ScheduleCalendarSpec,
    ScheduleIntervalSpec,
    ScheduleOverlapPolicy,
    SchedulePolicy,
    ScheduleRange,
    ScheduleSpec,
    ScheduleState,
)
from temporalio.service import RPCError, RPCStatusCode

from ui.app.services import schedules as ours
from ui.fleet.records import CONTROL, SCHEDULE_WORKFLOW
from ui.fleet.temporal import TIMEOUT, Temporal, map_errors

PREFIX: Final = 'hemicycle-schedule-'
FORMAT: Final = 1
"""The version of the conversion; incrementing it replaces all schedules in Temporal."""
RECHECK_SECONDS: Final = 60.0
"""Seconds between checks of Temporal's schedules, even if nothing has changed here."""
CATCH_UP: Final = timedelta(seconds=60)
"""Each wake-up handles all past times, so after an outage of Temporal the last ones suffice."""


class TemporalPlacer:
    """Keeps Temporal's schedules in sync with ours.

    The name of each ends in a digest of its source. So schedules are never changed in Temporal: missing ones
    are created, and obsolete ones deleted.

    Args:
        temporal: stores the schedules.
    """

    def __init__(self, temporal: Temporal) -> None:
        self._temporal = temporal
        self._placed: set[str] = set()
        self._until = 0.0

    async def place(self, schedules: Sequence[ours.Schedule]) -> set[str]:
        """Have Temporal wake a worker whenever one of these schedules is due.

        Returns:
            The ids of the schedules that Temporal handles. It supports only whole seconds.

        Raises:
            TemporalUnavailable
        """
        by_name = {_name(schedule): schedule for schedule in schedules if _has_whole_seconds(schedule.spec)}
        now = asyncio.get_running_loop().time()
        if by_name.keys() != self._placed or now > self._until:
            self._placed = set()
            await self._sync(by_name)
            self._placed, self._until = set(by_name), now + RECHECK_SECONDS
        return {schedule.id for schedule in by_name.values()}

    async def _sync(self, by_name: dict[str, ours.Schedule]) -> None:
        client = self._temporal.client
        with map_errors():
            names = {listed.id async for listed in await client.list_schedules(rpc_timeout=TIMEOUT)}
            there = {name for name in names if name.startswith(PREFIX)}
            for name in by_name.keys() - there:
                try:
                    await client.create_schedule(name, temporal_schedule(by_name[name]), rpc_timeout=TIMEOUT)
                except ScheduleAlreadyRunningError:
                    continue  # Another server has created it.
            for name in there - by_name.keys():
                try:
                    await client.get_schedule_handle(name).delete(rpc_timeout=TIMEOUT)
                except RPCError as error:
                    if error.status != RPCStatusCode.NOT_FOUND:
                        raise


def temporal_schedule(schedule: ours.Schedule) -> Schedule:
    """Convert a schedule to one of Temporal's that wakes a worker at all its due times, and possibly more.

    Temporal cannot express a day of the month *or* of the week, the last Friday and the like. So every
    wake-up checks our own schedule for due times. Temporal also skips a time that does not exist when clocks
    go forward; a server handles it some seconds later.
    """
    spec = schedule.spec
    return Schedule(
        action=ScheduleActionStartWorkflow(
            SCHEDULE_WORKFLOW,
            args=[schedule.id],
            id=f'{SCHEDULE_WORKFLOW}-{schedule.id}',
            task_queue=CONTROL,
        ),
        spec=ScheduleSpec(
            calendars=[calendar for text in spec.cron for calendar in _calendars(text)],
            intervals=[
                ScheduleIntervalSpec(
                    every=timedelta(seconds=interval.every), offset=timedelta(seconds=interval.offset)
                )
                for interval in spec.intervals
            ],
            start_at=_to_datetime(spec.start),
            end_at=_to_datetime(spec.end),
            time_zone_name=spec.time_zone,
        ),
        # The worker decides from the journal whether runs may overlap.
        policy=SchedulePolicy(overlap=ScheduleOverlapPolicy.ALLOW_ALL, catchup_window=CATCH_UP),
        state=ScheduleState(note=schedule.note or schedule.name, paused=schedule.paused),
    )


def _calendars(expression: str) -> Iterator[ScheduleCalendarSpec]:
    parsed = CronSim(expression, datetime.now(UTC))
    days, weekdays = _ranges(parsed.days, range(1, 32)), _ranges(parsed.weekdays, range(8))
    all_days, all_weekdays = _ranges(range(1, 32), ()), _ranges(range(7), ())
    both = [(days, weekdays)] if parsed.day_and else [(days, all_weekdays), (all_days, weekdays)]
    for first, other in both:
        yield ScheduleCalendarSpec(
            second=_ranges(parsed.seconds, ()),
            minute=_ranges(parsed.minutes, ()),
            hour=_ranges(parsed.hours, ()),
            day_of_month=first,
            month=_ranges(parsed.months, ()),
            day_of_week=other,
            comment=expression,
        )


def _ranges(items: Iterable[object], domain: Sequence[int]) -> list[ScheduleRange]:
    """Return the values of a field, or all of `domain` if one is a rule such as "the last"."""
    values = list(items)
    if domain and any(item not in domain for item in values):
        values = list(domain)
    numbers = {int(item) % 7 if domain == range(8) else int(item) for item in values}  # type: ignore[call-overload]
    return [ScheduleRange(number) for number in sorted(numbers)]


def _to_datetime(seconds: float) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _has_whole_seconds(spec: ours.ScheduleSpec) -> bool:
    return all(interval.every % 1 == interval.offset % 1 == 0 for interval in spec.intervals)


def _name(schedule: ours.Schedule) -> str:
    made_from = [FORMAT, asdict(schedule.spec), schedule.paused, schedule.note, schedule.name]
    digest = hashlib.sha256(json.dumps(made_from, default=list).encode()).hexdigest()
    return f'{PREFIX}{schedule.id}-{digest[:12]}'
