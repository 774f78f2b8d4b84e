"""When a schedule is due: the fields of its form, and due times in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo, available_timezones

from cronsim import CronSim, CronSimError
from pydantic import BaseModel, ConfigDict, Field, ValidationInfo, create_model, field_validator

from ui.app.services.schedules import Interval, ScheduleSpec

ZONES = tuple(sorted(available_timezones() - {'Factory', 'localtime', 'posixrules'}))
DAYS: dict[str, Any] = {'1': 'Mon', '2': 'Tue', '3': 'Wed', '4': 'Thu', '5': 'Fri', '6': 'Sat', '0': 'Sun'}
"""Days of the week as cron counts them."""
LAST = 'L'
MONTH_DAYS = {**{str(day): str(day) for day in range(1, 32)}, LAST: 'The last'}
REPEATS = {
    'daily': 'Every day',
    'weekdays': 'Every weekday, Monday to Friday',
    'weekly': 'On some days of the week',
    'monthly': 'On a day of the month',
    'minutes': 'Every few minutes',
    'hours': 'Every few hours',
    'cron': 'As a cron expression says',
}
AT_A_TIME = 'daily', 'weekdays', 'weekly', 'monthly'
UNITS = {'minutes': 60, 'hours': 3_600}
"""Seconds."""
SIZES = {'minutes': 60, 'hours': 24}
"""What a step has to divide so that cron keeps it."""
CRON_HELP = 'Minute, hour, day of the month, month, day of the week: 30 2 * * * is 02:30 each day'
MONTHLY_HELP = 'Months without this day are left out'


def _when(*repeats: str) -> Any:
    return {'when': {'repeat': repeats}}


class Timing(BaseModel):
    """The form of the due times; `timing_model` says what can be chosen."""

    model_config = ConfigDict(str_strip_whitespace=True)

    repeat: str = ''
    days: list[Literal['1', '2', '3', '4', '5', '6', '0']] = Field(
        ['1'], min_length=1, title='Days', json_schema_extra={'labels': DAYS, **_when('weekly')}
    )
    day: str = ''
    at: time = Field(time(7, 30), title='Time', json_schema_extra=_when(*AT_A_TIME))
    minutes: int = Field(
        15, ge=1, le=100_000, title='Minutes between runs', json_schema_extra=_when('minutes')
    )
    hours: int = Field(1, ge=1, le=10_000, title='Hours between runs', json_schema_extra=_when('hours'))
    cron: str = Field(
        '', max_length=200, title='Cron expression', description=CRON_HELP, json_schema_extra=_when('cron')
    )
    time_zone: str = ''

    @field_validator('cron')
    @classmethod
    def _check_cron(cls, text: str, info: ValidationInfo) -> str:
        if info.data.get('repeat') == 'cron':
            problems = ScheduleSpec(cron=(text,)).problems() if text else {'': 'Enter a cron expression.'}
            for problem in problems.values():
                raise ValueError(problem)
        return text


def timing_model(spec: ScheduleSpec | None, zone: str) -> type[Timing]:
    """Return the form's model for the due times of a schedule, or of a new one for a reader in `zone`.

    Due times that no fields can say are offered as they are.
    """
    as_is = {'kept': f'As it is: {spec.explain()}'} if spec and timing_of(spec)['repeat'] == 'kept' else {}
    at_a_time = _when(*AT_A_TIME, 'cron')
    return create_model(
        'Timing',
        __base__=Timing,
        repeat=_choice('Repeat', 'weekdays', {**as_is, **REPEATS}),
        day=_choice('Day of the month', '1', MONTH_DAYS, description=MONTHLY_HELP, **_when('monthly')),
        time_zone=_choice(
            'Time zone', zone if zone in ZONES else 'UTC', dict.fromkeys(ZONES, ''), **at_a_time
        ),
    )


def _choice(
    title: str, default: str, labels: Mapping[str, str], *, description: str = '', **extra: Any
) -> Any:
    titles = {value: text for value, text in labels.items() if text}
    more: Any = {'labels': titles, **extra}
    field = Field(default, title=title, description=description, json_schema_extra=more)
    return Literal[tuple(labels)], field


def timing_of(spec: ScheduleSpec) -> dict[str, Any]:
    """Return the form's values for these due times."""
    zone = {'time_zone': spec.time_zone}
    match spec.cron, spec.intervals:
        case (expression,), ():
            return {**_from_cron(expression), **zone}
        case (), (Interval(every=every, offset=0),):
            for unit in ('hours', 'minutes'):
                if every % UNITS[unit] == 0:
                    return {'repeat': unit, unit: int(every // UNITS[unit]), **zone}
    return {'repeat': 'kept', **zone}


def spec_of(timing: Timing, spec: ScheduleSpec | None) -> ScheduleSpec:
    """Return the due times that the form says; those of `spec`, to the letter, if nothing is changed."""
    if spec and (timing.repeat == 'kept' or timing == type(timing)(**timing_of(spec))):
        return spec
    every = UNITS[timing.repeat] * getattr(timing, timing.repeat) if timing.repeat in UNITS else 0
    return replace(
        spec or ScheduleSpec(),
        cron=() if every else (_cron(timing.repeat, timing.at, timing.days, timing.day) or timing.cron,),
        intervals=(Interval(every=every),) if every else (),
        time_zone=timing.time_zone,
    )


def _cron(repeat: str, at: time, days: Sequence[str], day: str) -> str:
    """Return the cron expression of fields; '' if it is not made of fields."""
    clock = f'{at.minute} {at.hour}'
    written = {
        'daily': f'{clock} * * *',
        'weekdays': f'{clock} * * 1-5',
        'weekly': f'{clock} * * {",".join(days)}',
        'monthly': f'{clock} {day} * *',
    }
    return written.get(repeat, '')


def _from_cron(expression: str) -> dict[str, Any]:
    """Return the form's values for a cron expression: the fields that mean the same, else its text."""
    try:
        meaning = _meaning(expression)
    except CronSimError:
        return {'repeat': 'cron', 'cron': expression}
    for values, same in _candidates(meaning):
        if _meaning(same) == meaning:
            return values
    return {'repeat': 'cron', 'cron': expression}


def _candidates(meaning: tuple[Any, ...]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield values of the form, each with its cron expression, one of which may mean this."""
    _, minutes, hours, month_days, _, week_days, _ = meaning
    for unit, parts, stepped in (('minutes', minutes, '*/{} * * * *'), ('hours', hours, '0 */{} * * *')):
        step = sorted(parts)[1] if len(parts) > 1 else 0
        if step and SIZES[unit] % step == 0:
            yield {'repeat': unit, unit: step}, stepped.format(step)
    at = time(min(hours), min(minutes))
    days = [day for day in DAYS if int(day) in week_days]
    first = min(month_days)
    day = LAST if first == CronSim.LAST else str(first)
    for repeat, more in (
        ('daily', {}),
        ('weekdays', {}),
        ('weekly', {'days': days}),
        ('monthly', {'day': day}),
    ):
        if day in MONTH_DAYS and (days or repeat != 'weekly'):
            yield {'repeat': repeat, 'at': at, **more}, _cron(repeat, at, days, day)


def _meaning(expression: str) -> tuple[Any, ...]:
    """Return what a cron expression means, however it is written. Raises `CronSimError`."""
    cron = CronSim(expression, datetime.now(UTC))
    week_days = {day % 7 if isinstance(day, int) else day for day in cron.weekdays}
    return cron.seconds, cron.minutes, cron.hours, cron.days, cron.months, week_days, cron.day_and


def timing_words(spec: ScheduleSpec) -> str:
    """Return when a schedule is due, in words: Every weekday at 07:30 in Berlin."""
    values = timing_of(spec)
    repeat = values['repeat']
    if repeat in UNITS:
        number = values[repeat]
        return f'Every {number} {repeat}' if number > 1 else f'Every {repeat[:-1]}'
    if repeat not in AT_A_TIME:
        return spec.explain()
    days = ' and '.join(DAYS[day] for day in values.get('days', ()))
    day = 'the last day' if values.get('day') == LAST else f'day {values.get("day")}'
    words = {
        'daily': 'Every day',
        'weekdays': 'Every weekday',
        'weekly': f'Every {days.replace(" and ", ", ", days.count(" and ") - 1)}',
        'monthly': f'On {day} of each month',
    }
    return f'{words[repeat]} at {values["at"]:%H:%M} {zone_words(spec.time_zone)}'


def due_words(moments: Sequence[float], zone: str, reader: str, now: float) -> list[tuple[str, str]]:
    """Return due times in words: in the reader's time zone, and in the schedule's where its clock differs.

    Args:
        moments: seconds since 1970.
        zone: the schedule's time zone.
        reader: the reader's; '' if it is not known, for the schedule's alone.
        now: the present, which says what today is.
    """
    words = []
    for moment in moments:
        there, here = (datetime.fromtimestamp(moment, ZoneInfo(name)) for name in (zone, reader or zone))
        today = datetime.fromtimestamp(now, here.tzinfo).date()
        day = '' if there.date() == here.date() else f'{_day(there.date(), None)}, '
        same = there.replace(tzinfo=None) == here.replace(tzinfo=None)
        place = '' if same else f'{day}{_clock(there)} {zone_words(zone)}'
        words.append((f'{_day(here.date(), today)}, {_clock(here)}', place))
    return words


def zone_words(zone: str) -> str:
    """Return a time zone in words: in Berlin."""
    city = zone.rpartition('/')[2].replace('_', ' ')
    return f'in {city}' if '/' in zone else zone


def _day(day: date, today: date | None) -> str:
    if today and day - today in (timedelta(0), timedelta(days=1)):
        return 'today' if day == today else 'tomorrow'
    year = '' if today is None or day.year == today.year else f' {day.year}'
    return f'{day:%a} {day.day} {day:%b}{year}'


def _clock(moment: datetime) -> str:
    return f'{moment:%H:%M:%S}' if moment.second else f'{moment:%H:%M}'
