"""The translation of a schedule for Temporal wakes a worker at each tick."""

from __future__ import annotations

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from temporalio.client import ScheduleCalendarSpec, ScheduleRange

from engine.records import Launch
from ui.app.services.schedules import Interval, Schedule, ScheduleSpec
from ui.fleet.schedules.placer import temporal_schedule

SUMMER = datetime(2026, 6, 1, tzinfo=UTC).timestamp()
"""The start of four months without clock changes."""


def schedule_of(spec: ScheduleSpec, **more: object) -> Schedule:
    return Schedule(id='one', name='Often', action=Launch(pattern='lone'), spec=spec, **more)  # type: ignore[arg-type]


def holds(ranges: object, number: int) -> bool:
    assert isinstance(ranges, list)
    allowed: list[ScheduleRange] = ranges
    return any(number in range(item.start, item.end + 1, item.step) for item in allowed)


def wakes_at(calendar: ScheduleCalendarSpec, moment: datetime) -> bool:
    """Return whether a calendar includes a moment, as Temporal reads it: all fields must match."""
    return (
        holds(calendar.second, moment.second)
        and holds(calendar.minute, moment.minute)
        and holds(calendar.hour, moment.hour)
        and holds(calendar.day_of_month, moment.day)
        and holds(calendar.month, moment.month)
        and holds(calendar.day_of_week, moment.isoweekday() % 7)
    )


def field(low: int, high: int, *rules: str) -> st.SearchStrategy[str]:
    number = st.integers(low, high)
    lists = st.lists(number, min_size=1, max_size=4).map(lambda numbers: ','.join(map(str, numbers)))
    spans = st.tuples(number, number).map(lambda pair: f'{min(pair)}-{max(pair)}')
    steps = st.integers(1, 7).map(lambda step: f'*/{step}')
    return st.one_of(lists, spans, steps, st.sampled_from(['*', *rules]))


EXPRESSIONS = st.tuples(
    field(0, 59), field(0, 23), field(1, 28, 'L', 'LW'), field(1, 12), field(0, 7, 'MON', '5#2', '5L')
).map(' '.join)


@given(EXPRESSIONS, st.sampled_from(['UTC', 'Europe/Berlin', 'Asia/Kolkata']))
def test_each_time_of_a_cron_expression_wakes_a_worker(expression: str, zone: str) -> None:
    spec = ScheduleSpec(cron=(expression,), time_zone=zone, start=SUMMER, end=SUMMER + 120 * 86_400)
    schedule_spec = temporal_schedule(schedule_of(spec)).spec
    assert schedule_spec.time_zone_name == zone
    for moment in spec.next(SUMMER, 50):
        due = datetime.fromtimestamp(moment, ZoneInfo(zone))
        assert any(wakes_at(calendar, due) for calendar in schedule_spec.calendars), (expression, due)


@pytest.mark.parametrize(
    ('expression', 'named', 'other'),
    [
        ('30 2 * * MON', '2026-06-01T02:30', '2026-06-02T02:30'),
        ('*/20 8-10 * * *', '2026-06-01T09:40', '2026-06-01T11:00'),
        ('5 0 3 * * *', '2026-06-01T03:00:05', '2026-06-01T03:00:00'),
    ],
)
def test_other_times_wake_nobody(expression: str, named: str, other: str) -> None:
    (calendar,) = temporal_schedule(schedule_of(ScheduleSpec(cron=(expression,)))).spec.calendars
    assert wakes_at(calendar, datetime.fromisoformat(named))
    assert not wakes_at(calendar, datetime.fromisoformat(other))


def test_intervals_limits_and_pauses_are_translated() -> None:
    spec = ScheduleSpec(intervals=(Interval(every=90, offset=30),), start=SUMMER, end=SUMMER + 60)
    temporal = temporal_schedule(schedule_of(spec, paused=True, note='holidays'))
    (interval,) = temporal.spec.intervals
    assert interval.offset
    assert (interval.every.total_seconds(), interval.offset.total_seconds()) == (90, 30)
    assert temporal.spec.start_at == datetime.fromtimestamp(SUMMER, UTC)
    assert temporal.spec.end_at == datetime.fromtimestamp(SUMMER + 60, UTC)
    assert (temporal.state.paused, temporal.state.note) == (True, 'holidays')
