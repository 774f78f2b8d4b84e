"""Numbers, times and lists as people read them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta

from engine import Status

MINUTE, HOUR, DAY = 60, 3_600, 86_400

WORDS = {
    Status.RUNNING: 'Running',
    Status.PAUSED: 'Paused',
    Status.WAITING: 'Waiting for you',
    Status.DONE: 'Done',
    Status.FAILED: 'Failed',
    Status.CANCELLED: 'Cancelled',
}
"""What is said of a run's status."""


def count(number: int, one: str, many: str = '') -> str:
    """A number of things: `1 step`, `12 steps`, `3.4k tokens`."""
    return f'{compact(number)} {one if number == 1 else many or f"{one}s"}'


def compact(number: int) -> str:
    """A number in few characters: 950, 3.4k, 1.2M."""
    for limit, unit in ((1_000_000, 'M'), (1_000, 'k')):
        if number >= limit:
            shown = number / limit
            return f'{shown:.0f}{unit}' if shown >= 100 else f'{shown:.1f}'.removesuffix('.0') + unit
    return str(number)


def ago(then: float, now: float) -> str:
    """How long before `now`: just now, 5 min ago, 3 h ago, 12 days ago, 4 Mar 2026."""
    passed = max(0.0, now - then)
    for limit, unit, name in ((MINUTE, 10, 's'), (HOUR, MINUTE, 'min'), (DAY, HOUR, 'h')):
        if passed < limit:
            number = int(passed // unit) * (10 if unit == 10 else 1)
            return f'{number} {name} ago' if number else 'just now'
    if passed < 30 * DAY:
        return f'{count(int(passed // DAY), "day")} ago'
    day = datetime.fromtimestamp(then).astimezone()
    return f'{day.day} {day:%b %Y}'


def exact(then: float) -> str:
    """A moment to the second, with its time zone."""
    moment = datetime.fromtimestamp(then).astimezone()
    return f'{moment.day} {moment:%B %Y, %H:%M:%S %Z}'


def first_sentence(text: str) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = ' '.join(text.strip().split('\n\n')[0].split())
    found = re.match(r'.+?[.!?](?=\s|$)', paragraph)
    return found.group() if found else paragraph


def tags_of(text: str) -> tuple[str, ...]:
    """The tags in a line, separated by commas; each once."""
    return tuple(dict.fromkeys(tag for part in re.split(r'[,\n]', text) if (tag := ' '.join(part.split()))))


def took(seconds: float) -> str:
    """A short time as it is measured: 12 ms, 3.4 s."""
    return f'{seconds * 1000:.0f} ms' if seconds < 1 else f'{seconds:.1f} s'


def size(number: int) -> str:
    """Bytes as people read them: 812 B, 3.4 MB."""
    shown, units = float(number), ['B', 'kB', 'MB', 'GB', 'TB']
    while shown >= 1_000 and len(units) > 1:
        shown /= 1_000
        del units[0]
    return f'{shown:.0f} {units[0]}' if number < 1_000 or shown >= 100 else f'{shown:.1f} {units[0]}'


def day(text: str) -> datetime | None:
    """The beginning of a day such as 2026-03-04, here; None where it is none."""
    try:
        return datetime.strptime(text, '%Y-%m-%d').astimezone()
    except ValueError:
        return None


def between(since: str, until: str) -> tuple[float | None, float | None]:
    """From the beginning of one day to the end of another, in seconds since 1970; None is no bound."""
    first, last = day(since), day(until)
    return (
        first.timestamp() if first else None,
        (last + timedelta(days=1)).timestamp() if last else None,
    )
