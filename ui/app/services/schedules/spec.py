"""ScheduleSpec: cron expressions in a time zone, and intervals; named as in Temporal."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim, CronSimError

from engine.records import Instant

Overlap = Literal['skip', 'buffer_one', 'allow_all', 'cancel_other']
MIN_EVERY, MAX_EVERY = 1.0, 3_660 * 86_400.0
"""Seconds. Later due times could be beyond the last year of a calendar, and no list would show them."""
MAX_EXPRESSIONS = 20
MAX_TIME: Final = datetime(9000, 1, 1, tzinfo=UTC).timestamp()
"""Nothing is due after it: dates end with the year 9999, and a huge number does not grow by a minute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """Due every `every` seconds since 1970, shifted by an offset."""

    every: float
    offset: float = 0.0

    def problems(self) -> dict[str, str]:
        """Return the problems by field; {} if it is valid."""
        if not MIN_EVERY <= self.every <= MAX_EVERY:
            return {'every': 'must be from 1 second to 3,660 days'}
        if not 0 <= self.offset < self.every:
            return {'offset': 'must be from 0 to less than `every`'}
        return {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ScheduleSpec:
    """The due times: all times of all expressions and intervals."""

    cron: tuple[str, ...] = ()
    """Cron expressions of five fields (minute, hour, day of month, month, day of week), or six with seconds
    first."""
    intervals: tuple[Interval, ...] = ()
    """Intervals in seconds."""
    time_zone: str = 'UTC'
    """The time zone of the expressions, such as Europe/Berlin; UTC by default."""
    start: Instant = 0.0
    """Not due before this time, if any."""
    end: Instant = 0.0
    """Not due after this time, if any."""

    def problems(self) -> dict[str, str]:
        """Return the problems by field; {} if it is valid."""
        problems: dict[str, str] = {}
        if not self.cron and not self.intervals:
            problems['spec'] = 'needs a cron expression or an interval'
        if len(self.cron) + len(self.intervals) > MAX_EXPRESSIONS:
            problems['spec'] = f'must have at most {MAX_EXPRESSIONS} expressions and intervals'
        if problem := self.zone_problem():
            problems['spec.time_zone'] = problem
        for name, moment in (('start', self.start), ('end', self.end)):
            if not 0 <= moment < MAX_TIME:
                problems[f'spec.{name}'] = 'must be a time from 1970 to 8999'
        for number, expression in enumerate(self.cron):
            if problem := _cron_problem(expression):
                problems[f'spec.cron.{number}'] = problem
        for number, interval in enumerate(self.intervals):
            for field, problem in interval.problems().items():
                problems[f'spec.intervals.{number}.{field}'] = problem
        return problems

    def zone_problem(self) -> str:
        """Return why the time zone cannot be used, or ''; zones differ between machines and over time."""
        try:
            ZoneInfo(self.time_zone)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            return f'must be a time zone such as Europe/Berlin, not {self.time_zone!r}'
        return ''

    def times(self, after: float) -> Iterator[float]:
        """Yield the due times after a moment, in order, possibly without end."""
        begin = max(after, self.start - 1e-6) if self.start else after
        end = min(self.end or MAX_TIME, MAX_TIME)
        if begin >= end:
            return
        zone = ZoneInfo(self.time_zone)
        parts: list[Iterator[float]] = [
            (moment.timestamp() for moment in CronSim(text, datetime.fromtimestamp(begin, zone)))
            for text in self.cron
        ]
        parts += [_every(interval, begin) for interval in self.intervals]
        last = begin
        for moment in heapq.merge(*parts):
            if moment > end:
                return
            if moment > last:
                last = moment
                yield moment

    def next(self, after: float, limit: int = 1) -> list[float]:
        """Return the next due times."""
        return list(itertools.islice(self.times(after), limit))

    def explain(self) -> str:
        """Describe in words when it is due."""
        now = datetime.now(UTC)
        words = [f'{CronSim(text, now).explain()} ({self.time_zone})' for text in self.cron]
        words += [f'Every {_length(interval.every)}' for interval in self.intervals]
        return '; '.join(words)


def _cron_problem(expression: str) -> str:
    """Return what is wrong with a cron expression, or ''."""
    try:
        next(CronSim(expression, datetime.now(UTC)))
    except CronSimError as error:
        return f'{expression!r} is not a cron expression: {error}'
    except StopIteration:
        return f'{expression!r} is never due'
    return ''


def _every(interval: Interval, after: float) -> Iterator[float]:
    number = math.floor((after - interval.offset) / interval.every)
    for count in itertools.count(number):
        moment = count * interval.every + interval.offset
        if moment > after:
            yield moment


def _length(seconds: float) -> str:
    for size, name in ((86_400, 'day'), (3_600, 'hour'), (60, 'minute')):
        if seconds >= size and seconds % size == 0:
            number = int(seconds // size)
            return name if number == 1 else f'{number} {name}s'
    return f'{seconds:g} seconds' if seconds != 1 else 'second'
