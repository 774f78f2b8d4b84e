"""Maps an agent's errors to `ModelError`: the kind, and when to try again."""

from __future__ import annotations

import json
import re
import time
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from acp import RequestError

from engine.errors import Kind, ModelError

AUTH = -32_000
KIND = 'errorKind'
"""The field in which Claude names the kind of an error; `KIND_PATTERNS` are searched in it as well."""
KIND_PATTERNS: tuple[tuple[str, Kind], ...] = (
    (r'usage limit|limit reached|(?:hit|reached) your (?:\w+ )?limit', 'quota'),
    (r'out of credits|insufficient_quota|quota|billing', 'quota'),
    (r'rate.?limit|too many requests|\b429\b', 'rate limit'),
    (r'overloaded|\b529\b|\b503\b', 'overloaded'),
    (r'log ?in|sign ?in|authenticat|api key|unauthori[sz]ed|\b401\b|\b403\b', 'auth'),
    (r'context (?:window|length)|too long|maximum context', 'context too long'),
    (r'timed? ?out|timeout', 'timeout'),
    (r'connect|network|econnrefused|enotfound|fetch failed', 'connection'),
)
TRANSIENT_KINDS = ('rate limit', 'overloaded', 'timeout', 'connection')
RESET_EPOCH = re.compile(r'\|(\d{10})\b')
"""How Claude reports when a limit ends: seconds since 1970."""
RESET_DELAY = re.compile(
    r'(?:retry|try again|resets?|available)\D{0,20}?in '
    r'(?:(\d+) ?d(?:ays?)?)?,? ?(?:(\d+) ?h(?:ours?)?)?,? ?(?:(\d+) ?m(?:in(?:ute)?s?)?)?'
    r',? ?(?:(\d+) ?s(?:ec(?:ond)?s?)?)?',
    re.I,
)
RESET_CLOCK = re.compile(
    r'(?:resets?|again)(?: at)? (?:([a-z]{3}) (\d{1,2})(?:st|nd|rd|th)?,?(?: (\d{4}),?)?(?: at)? )?'
    r'(\d{1,2})(?::(\d{2}))? ?(am|pm)\b(?: \(([\w/+-]+)\))?',
    re.I,
)
"""How Claude and Codex put it to people: `resets 3pm (Europe/Berlin)`, `try again at Nov 28th, 2026 4:02 AM`.
A time without a day is the next such time."""
MONTHS = ('jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec')
DAY = 86_400.0


def turn_error(error: BaseException) -> ModelError:
    """Return the error of a turn that an agent refused or aborted."""
    if isinstance(error, ModelError):
        return error
    if not isinstance(error, RequestError):
        return ModelError(f'the agent broke off: {error}', kind='connection', retryable=True)
    message = _message_of(error)
    kind: Kind = 'auth' if error.code == AUTH else 'server'
    if kind == 'server':
        words = (
            f'{message} {error.data[KIND]}'
            if isinstance(error.data, dict) and KIND in error.data
            else message
        )
        kind = next((name for pattern, name in KIND_PATTERNS if re.search(pattern, words, re.I)), 'server')
    wait = _wait(message)
    hint = '; sign in with the agent itself, or give it a key' if kind == 'auth' else ''
    until = f' (until {_clock(time.time() + wait)})' if wait else ''
    return ModelError(
        f'{message}{until}{hint}',
        kind=kind,
        retryable=kind in TRANSIENT_KINDS or (kind == 'quota' and wait is not None),
        retry_after=wait,
        code=str(error.code),
    )


def _message_of(error: RequestError) -> str:
    """Return the message, with the details that the agent has added."""
    data: Any = error.data
    detail = ''
    if isinstance(data, dict):
        message = data.get('details') or data.get('message') or data.get('error')
        only_kind = not message and data.keys() <= {KIND}
        detail = message if isinstance(message, str) else '' if only_kind else json.dumps(message or data)
    elif isinstance(data, str):
        detail = data
    text = str(error)
    return text if not detail or detail in text else f'{text}: {detail[:1_000]}'


def _wait(text: str) -> float | None:
    """Return the seconds until a limit ends, if reported."""
    if match := RESET_EPOCH.search(text):
        return max(1.0, float(match[1]) - time.time())
    if (match := RESET_DELAY.search(text)) and any(match.groups()):
        days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
        return days * DAY + hours * 3600 + minutes * 60 + seconds
    return _until_clock(match) if (match := RESET_CLOCK.search(text)) else None


def _until_clock(match: re.Match[str]) -> float | None:
    """Return the seconds until a time of day, with or without a date."""
    month, day, year, hour, minute, half, zone = match.groups()
    try:
        now = datetime.now(ZoneInfo(zone)) if zone else datetime.now().astimezone()
        end = now.replace(
            hour=int(hour) % 12 + 12 * (half.lower() == 'pm'),
            minute=int(minute or 0),
            second=0,
            microsecond=0,
        )
        if not month:
            return (end - now).total_seconds() % DAY
        end = end.replace(year=int(year or now.year), month=MONTHS.index(month.lower()) + 1, day=int(day))
        if not year and end < now:
            end = end.replace(year=now.year + 1)
    except (ValueError, ZoneInfoNotFoundError):
        return None
    return max(1.0, (end - now).total_seconds())


def _clock(when: float) -> str:
    """Format a time, with its date unless it is less than 12 hours away."""
    then = time.localtime(when)
    return time.strftime('%H:%M' if when - time.time() < DAY / 2 else '%d %b %H:%M', then)
