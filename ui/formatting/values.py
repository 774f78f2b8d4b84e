"""Numbers, times, lists and invalid input as people read them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from engine import Status
from engine.records import View

MINUTE, HOUR, DAY = 60, 3_600, 86_400
MAX_UNUSABLE = 10
"""Maximum number of an MCP server's unusable tools that are named in a sentence."""

STATUS_TEXT = {
    Status.RUNNING: 'Running',
    Status.PAUSED: 'Paused',
    Status.WAITING: 'Waiting for you',
    Status.DONE: 'Done',
    Status.FAILED: 'Failed',
    Status.CANCELLED: 'Cancelled',
}
"""The text for a run's status."""


def status_text(status: Status, error: str = '') -> str:
    """Return the text for a run's status; `error` says how the result of a done run falls short."""
    return 'Done with issues' if status is Status.DONE and error else STATUS_TEXT[status]


def status_class(status: Status, error: str = '') -> str:
    """Return the CSS class of a run's status."""
    return f'{status.value} issues' if status is Status.DONE and error else status.value


ORIGIN_NOTES = {
    'simulated': 'Simulated: the scripted model wrote this, and no provider was called.',
    'stubbed': "Stubbed: the run's stubs answered instead of a model.",
}
"""By the origin of replies: what to say next to a result that rests on them."""


def result_notes(view: View) -> list[str]:
    """Return notes to show next to a run's result: that it falls short, or was not written by a model."""
    notes = []
    if view.status is Status.DONE and view.error:
        notes.append(f'{status_text(view.status, view.error)}: {view.error.rstrip(".")}.')
    return [*notes, *filter(None, [origin_note(view)])]


def origin_note(view: View) -> str:
    """Return a note that no model wrote the result, or some of it; '' if models did."""
    return ' '.join(note for origin, note in ORIGIN_NOTES.items() if origin in view.origins)


def count(number: int, singular: str, plural: str = '') -> str:
    """Return a number of things: `1 step`, `12 steps`, `3.4k tokens`."""
    return f'{compact(number)} {singular if number == 1 else plural or f"{singular}s"}'


def describe_tools(tools: Sequence[str], unusable: Sequence[str], *, named: bool = False) -> str:
    """Return how many tools an MCP server offers, and which of its tools cannot be used, with the reasons."""
    offered = count(len(tools), 'tool') if tools else 'no tools'
    offered += f': {", ".join(tools)}' if tools and named else ''
    more = [f'and {len(unusable) - MAX_UNUSABLE} more'] if len(unusable) > MAX_UNUSABLE else []
    return f'{offered}; not usable: {"; ".join([*unusable[:MAX_UNUSABLE], *more])}' if unusable else offered


def compact(number: int) -> str:
    """Return a number in a few characters: 950, 3.4k, 1.2M."""
    for limit, unit in ((1_000_000, 'M'), (1_000, 'k')):
        if number >= limit:
            scaled = number / limit
            return f'{scaled:.0f}{unit}' if scaled >= 100 else f'{scaled:.1f}'.removesuffix('.0') + unit
    return str(number)


def percent(share: float) -> str:
    """Format a share as a percentage that is 0 or 100 only if exact."""
    if 0 < share < 0.01:
        return '<1%'
    return '>99%' if 0.99 < share < 1 else f'{share:.0%}'


def ago(then: float, now: float) -> str:
    """Return how long before `now`: just now, 5 min ago, 3 h ago, 12 days ago, 4 Mar 2026."""
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
    """Return a time to the second, with its time zone."""
    moment = datetime.fromtimestamp(then).astimezone()
    return f'{moment.day} {moment:%B %Y, %H:%M:%S %Z}'


def moment_text(then: float, zone: str = '', *, seconds: bool = True) -> str:
    """Return a moment: 2026-03-04 14:32:05, in this machine's time zone or, with its name, in another."""
    moment = datetime.fromtimestamp(then, ZoneInfo(zone) if zone else None)
    text = f'{moment:%Y-%m-%d %H:%M:%S}' if seconds else f'{moment:%Y-%m-%d %H:%M}'
    return f'{text} {moment:%Z}' if zone else text


TIMES = re.compile(r'(^|_)(time|started|ended|created|since|at)$')
SINCE, UNTIL = 1_000_000_000.0, 4_000_000_000.0
"""Numbers in between may be seconds since 1970: September 2001 to October 2096."""


MAX_ITEMS = 500
"""Maximum number of items shown of one list."""


def with_times(value: Any, name: str = '') -> Any:
    """Return a JSON value with its times written out: seconds since 1970, in fields named like times."""
    if isinstance(value, Mapping):
        return {key: with_times(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [with_times(item) for item in value]
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return exact(value) if is_number and SINCE < value < UNTIL and TIMES.search(name) else value


def with_list_ends(value: Any) -> Any:
    """Return a JSON value with only the ends of long lists, so that a page is not sent 100,000 items.

    Such a list becomes a mapping of indices to items; `earlier` says how many were left out before them.
    """
    if isinstance(value, Mapping):
        return {key: with_list_ends(item) for key, item in value.items()}
    if not isinstance(value, list | tuple):
        return value
    before = max(0, len(value) - MAX_ITEMS)
    items = [with_list_ends(item) for item in value[before:]]
    if not before:
        return items
    ends = {str(place): item for place, item in enumerate(items, before)}
    return ends | {'earlier': f'{before:,} more items, which are not shown'}


def capitalize(text: str) -> str:
    """Return the text with a capital letter, and everything else as it is."""
    return f'{text[:1].upper()}{text[1:]}'


def as_sentence(text: str) -> str:
    """Return the text with a capital letter and a full stop."""
    return capitalize(text) if text.endswith(('!', '?')) or not text else f'{capitalize(text).rstrip(".")}.'


def json_problem(error: Exception) -> str:
    """Return what a person has to fix in a text that is not valid JSON."""
    if not isinstance(error, json.JSONDecodeError):
        return 'Nested too deeply.' if isinstance(error, RecursionError) else 'Invalid JSON.'
    reason = f'{error.msg[:1].lower()}{error.msg[1:]}'
    return f'Invalid JSON: {reason} (line {error.lineno}, column {error.colno}).'


def first_sentence(text: str) -> str:
    """Return the first sentence of a text, on one line; in a name “in quotes”, no sentence ends."""
    paragraph = ' '.join(text.strip().split('\n\n')[0].split())
    match = re.match(r'(?:“[^”]*”|.)+?[.!?](?=\s|$)', paragraph)
    return match.group() if match else paragraph


def parse_tags(text: str) -> tuple[str, ...]:
    """Return the tags in a comma-separated line, without duplicates."""
    return tuple(dict.fromkeys(tag for part in re.split(r'[,\n]', text) if (tag := ' '.join(part.split()))))


def short_duration(seconds: float) -> str:
    """Return a short duration: 12 ms, 3.4 s."""
    return f'{seconds * 1000:.0f} ms' if seconds < 1 else f'{seconds:.1f} s'


def byte_size(number: int) -> str:
    """Return a number of bytes as people read it: 812 B, 3.4 MB."""
    amount, units = float(number), ['B', 'kB', 'MB', 'GB', 'TB']
    while amount >= 1_000 and len(units) > 1:
        amount /= 1_000
        del units[0]
    return f'{amount:.0f} {units[0]}' if number < 1_000 or amount >= 100 else f'{amount:.1f} {units[0]}'


def parse_number(text: str) -> int | None:
    """Return a natural number of up to 15 digits; None if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 15 else None


def parse_day(text: str) -> datetime | None:
    """Return the local start of a day such as 2026-03-04; None if it is not a date."""
    try:
        return datetime.strptime(text, '%Y-%m-%d').astimezone()
    except ValueError:
        return None


def day_range(since: str, until: str) -> tuple[float | None, float | None]:
    """Return the start of one day and the end of another, in seconds since 1970; None is unbounded."""
    first, last = parse_day(since), parse_day(until)
    return (
        first.timestamp() if first else None,
        (last + timedelta(days=1)).timestamp() if last else None,
    )


EMPTY = 'Enter a value.'
"""What an empty field lacks."""
SENTENCES = {
    'missing': EMPTY,
    'string_type': 'Enter a text.',
    'string_too_short': 'Enter at least {min_length} characters.',
    'string_too_long': 'Enter at most {max_length} characters (now {size}).',
    'string_pattern_mismatch': 'Enter a text that matches {pattern}.',
    'greater_than_equal': 'Enter {ge} or more.',
    'less_than_equal': 'Enter {le} or less.',
    'greater_than': 'Enter more than {gt}.',
    'less_than': 'Enter less than {lt}.',
    'int_parsing': 'Enter a whole number.',
    'int_parsing_size': 'Enter a smaller number.',
    'int_from_float': 'Enter a whole number.',
    'int_type': 'Enter a whole number.',
    'float_parsing': 'Enter a number.',
    'float_type': 'Enter a number.',
    'finite_number': 'Enter a number.',
    'date_from_datetime_parsing': 'Enter a date.',
    'time_parsing': 'Enter a time.',
    'list_type': 'Enter a list.',
    'dict_type': 'Enter an object.',
    'too_short': 'Enter at least {min_length} entries.',
    'too_long': 'Enter at most {max_length} entries (now {actual_length}).',
}
"""By pydantic's error type; other errors keep pydantic's own message."""
CHOICES = ('enum', 'literal_error')
MAX_LISTED = 200
"""Maximum length of a message that lists all choices."""


def problems(error: ValidationError) -> dict[str, str]:
    """Return the problems by field; those of the whole model are under ''."""
    by_field: dict[str, str] = {}
    for item in error.errors(include_url=False):
        place = item['loc']
        problem = describe_problem(str(item['type']), item.get('ctx', {}), item.get('input'), item['msg'])
        if inside := ', '.join(map(part_title, place[1:])):
            problem = f'{inside}: {problem}'
        by_field.setdefault(str(place[0]) if place else '', problem)
    return by_field


def part_title(part: str | int) -> str:
    """Return a name for a part of a value: Entry 2, Max rounds."""
    return f'Entry {part + 1}' if isinstance(part, int) else capitalize(part.replace('_', ' '))


def describe_problem(kind: str, bounds: Mapping[str, Any], value: Any, message: str) -> str:
    """Return one problem as a sentence that says what would be valid."""
    size = len(value.strip()) if isinstance(value, str) else 0
    if kind == 'string_too_short' and not size:
        kind = 'string_too_short' if bounds['min_length'] > 1 else 'missing'
    if kind in CHOICES and (value == '' or len(message) > MAX_LISTED):
        return 'Choose one from the list.' if value else 'Choose one.'
    if kind == 'too_short' and bounds['min_length'] == 1:
        return 'Enter at least one.'
    if kind in SENTENCES:
        words = {name: _bound_text(bound) for name, bound in {**bounds, 'size': size}.items()}
        return SENTENCES[kind].format(**words)
    return problem_sentence(message.removeprefix('Value error, '))


def problem_sentence(text: str) -> str:
    """Return a problem as a sentence that says what to enter: “must be a date” as “Enter a date”."""
    return as_sentence(re.sub('^must (be|have) ', 'enter ', text))


def _bound_text(bound: Any) -> str:
    """Return a bound in words; a whole number as one, even if its field takes fractions."""
    if isinstance(bound, float) and bound.is_integer():
        bound = int(bound)
    return f'{bound:,}' if isinstance(bound, int | float) else str(bound)
