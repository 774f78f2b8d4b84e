"""Parses how long a provider asks to wait, in any of the forms that providers use."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from engine.models.http.dialects.dialect import amount, as_mapping

UNITS = {'ms': 0.001, 's': 1.0, 'm': 60.0, 'h': 3600.0, 'd': 86400.0}
DURATION_PART = (
    r'(\d+(?:\.\d+)?)\s*'
    r'(ms|milliseconds?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?|d(?:ays?)?)\b'
)
GLUED = re.compile(r'(?<=[a-z])(?=\d)')
WAIT_PHRASE = re.compile(
    r'(?:(?:try again|retry|available(?: again)?|resets?) (?:in|after)|wait(?: for)?) '
    rf'((?:{DURATION_PART}[\s,]*(?:and )?)+)'
)
RESET = re.compile(r'(?:x-|anthropic-)?ratelimit-(?:reset(?:-(\w+))?|([\w-]+)-reset)')
"""Headers that say when a limit resets: for requests, tokens or both."""
EPOCH, EPOCH_MS = 1e9, 1e12
"""Larger numbers are Unix timestamps, in seconds or milliseconds."""


def retry_delay(headers: Mapping[str, str], error: Mapping[str, Any], message: str) -> float | None:
    """Return the seconds to wait, or None if the provider does not say.

    Args:
        headers: the response's headers.
        error: the error object.
        message: the error message.
    """
    for name, unit in (('retry-after-ms', 1000.0), ('retry-after', 1.0)):
        value = headers.get(name, '').strip()
        if re.fullmatch(r'\d+(\.\d+)?', value) and (seconds := amount(value)) is not None:
            return seconds / unit
        if value and unit == 1.0 and (seconds := _until(value, headers)) is not None:
            return seconds
    requested = error.get('retry_after')
    if not isinstance(requested, str) and (seconds := amount(requested)) is not None:
        return seconds
    details = error.get('details')
    for detail in details if isinstance(details, list) else ():
        delay = as_mapping(detail).get('retryDelay')
        if isinstance(delay, str) and (seconds := _duration(delay)) is not None:
            return seconds
    if match := WAIT_PHRASE.search(GLUED.sub(' ', message.lower())):
        return _duration(match[1])
    return _reset(headers)


def _reset(headers: Mapping[str, str]) -> float | None:
    """Return when limits reset: the last of those exhausted, or the first if none is marked as exhausted."""
    waits = list(_resets(headers))
    used_up = [seconds for seconds, left in waits if left == '0']
    return max(used_up) if used_up else min((seconds for seconds, _ in waits), default=None)


def _resets(headers: Mapping[str, str]) -> Iterator[tuple[float, str]]:
    for name, value in headers.items():
        if RESET.fullmatch(name.lower()) and (seconds := _moment(value.strip(), headers)) is not None:
            yield seconds, headers.get(name.lower().replace('reset', 'remaining'), '').strip()


def _moment(text: str, headers: Mapping[str, str]) -> float | None:
    number = amount(text)
    if number is None:
        return _until(text, headers) if ':' in text else _duration(text)
    if number < EPOCH:
        return number
    seconds = number / 1000 if number >= EPOCH_MS else number
    return max(0.0, seconds - _now(headers).timestamp())


def _duration(text: str) -> float | None:
    """Parse the seconds in a string such as `1h2m3.5s`, `250ms` or `2 minutes`."""
    text = GLUED.sub(' ', text.strip().lower()).rstrip(' ,.')
    parts = re.findall(DURATION_PART, text)
    if not parts:
        return None
    return amount(
        sum(
            float(number) * UNITS['ms' if unit in ('ms', 'milliseconds') else unit[0]]
            for number, unit in parts
        )
    )


def _until(text: str, headers: Mapping[str, str]) -> float | None:
    """Return the seconds until an HTTP or ISO 8601 date."""
    try:
        then = datetime.fromisoformat(text) if text[:1].isdigit() else parsedate_to_datetime(text)
        return max(0.0, (then - _now(headers)).total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _now(headers: Mapping[str, str]) -> datetime:
    """Return the time by the provider's clock if it sends it, otherwise by ours."""
    try:
        return parsedate_to_datetime(headers['date'])
    except (KeyError, ValueError, TypeError, OverflowError):
        return datetime.now(UTC)
