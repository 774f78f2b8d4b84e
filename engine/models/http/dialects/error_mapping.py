"""Maps error responses and errors in streams to `ModelError`: the kind, whether and when to retry."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any

from engine.errors import TRANSIENT_KINDS, Kind, ModelError
from engine.models.http.dialects.dialect import amount, as_mapping, as_word, parse_objects

CODES: dict[str, Kind] = {
    'insufficient_quota': 'quota',
    'billing_error': 'quota',
    'billing_hard_limit_reached': 'quota',
    'billing_not_active': 'quota',
    'insufficient_balance': 'quota',
    'context_length_exceeded': 'context too long',
    'request_too_large': 'context too long',
    'exceed_context_size_error': 'context too long',
    'content_filter': 'content filter',
    'content_policy_violation': 'content filter',
    'responsibleaipolicyviolation': 'content filter',
    'overloaded_error': 'overloaded',
    'engine_overloaded': 'overloaded',
    'rate_limit_error': 'rate limit',
    'rate_limit_exceeded': 'rate limit',
    'rate_limited': 'rate limit',
    'timeout_error': 'timeout',
    'authentication_error': 'auth',
    'permission_error': 'auth',
    'invalid_api_key': 'auth',
    'not_found_error': 'not found',
    'model_not_found': 'not found',
    'api_key_invalid': 'auth',
    'unauthenticated': 'auth',
    'permission_denied': 'auth',
    'not_found': 'not found',
    'unavailable': 'overloaded',
    'deadline_exceeded': 'timeout',
    'api_error': 'server',
    'server_error': 'server',
    'internal_server_error': 'server',
    'tool_use_failed': 'bad request',
    'invalid_request_error': 'bad request',
}
"""Providers' error codes, most specific first: one error may carry two."""

STATUSES: dict[int, Kind] = {
    401: 'auth',
    402: 'quota',
    403: 'auth',
    404: 'not found',
    408: 'timeout',
    409: 'server',
    413: 'context too long',
    425: 'server',
    429: 'rate limit',
    503: 'overloaded',
    504: 'timeout',
    529: 'overloaded',
}

SENTENCES: tuple[tuple[re.Pattern[str], Kind], ...] = (
    (
        re.compile(r'credit balance|insufficient (quota|balance|credit|funds)|exceeded your current quota'),
        'quota',
    ),
    (
        re.compile(
            r'context (length|window|size)|maximum context|prompt is too long|input is too long'
            r'|too many (input )?tokens in|token count .*exceeds the maximum'
        ),
        'context too long',
    ),
    (re.compile(r'content (management|filter|policy)|requires moderation|safety system'), 'content filter'),
)
"""Patterns for providers that report the error only in its message."""

UNREAD = re.compile(r'<!--.*?(?:-->|\Z)|<(style|script|svg|noscript)\b.*?(?:</\1\s*>|\Z)', re.I | re.S)
"""Invisible parts of a web page, even if the page was cut off inside one."""
TAG = re.compile(r'<[a-z/!?][^<>]*>', re.I)

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


def error_of_response(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """Return the error described by an unsuccessful response."""
    text = body.decode('utf-8', 'replace')
    try:
        payload, *_ = parse_objects(text) or [{}]
    except ModelError:
        payload = {}
    return error_of_payload(payload or {'message': page_text(text)}, status=status, headers=headers)


def page_text(page: str) -> str:
    """Return the visible text of an answer that may be a web page, on one line."""
    return ' '.join(unescape(TAG.sub(' ', UNREAD.sub(' ', page))).split())


def error_of_payload(
    payload: Mapping[str, Any], *, status: int = 0, headers: Mapping[str, str] | None = None
) -> ModelError:
    """Return the error in an object such as `{'error': {'message': ..., 'type': ...}}`."""
    inner = payload.get('error')
    error = inner if isinstance(inner, dict) else payload
    headers = {**_inner_headers(error), **(headers or {})}
    status = status or _status(error) or _status(payload)
    message = _message(inner, error, payload)
    words = (error.get('code'), error.get('type'), *_google_error_names(error))
    codes = [code for word in words if (code := as_word(word)[:MAX_WORD]) and code != 'error']
    wait = retry_delay(headers, error, message)
    kind = _kind(status, [code.lower() for code in codes], message.lower())
    if kind == 'quota' and wait is not None and not _is_lasting(codes, error):
        kind = 'rate limit'  # A per-minute quota, restored after the wait.
    named = message or 'it gave no reason'
    if status and str(status) not in message:
        named += f' (HTTP {status})'
    return ModelError(
        named,
        kind=kind,
        retryable=kind in TRANSIENT_KINDS and headers.get('x-should-retry') != 'false',
        retry_after=wait,
        status=status,
        code=codes[0] if codes else '',
        request_id=as_word(
            headers.get('x-request-id') or headers.get('request-id') or payload.get('request_id')
        )[:MAX_WORD],
    )


def _google_error_names(error: Mapping[str, Any]) -> list[str]:
    """Return Google's names for an error: the reasons in its details, and its status."""
    details = error.get('details')
    reasons = [as_mapping(detail).get('reason') for detail in details] if isinstance(details, list) else []
    names = [*reasons, error.get('status')]
    return [word for word in names if isinstance(word, str) and not word.isdigit()]


def _inner_headers(error: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that a proxy (OpenRouter) repeats inside the error."""
    headers = as_mapping(as_mapping(error.get('metadata')).get('headers'))
    return {name.lower(): str(value) for name, value in headers.items()}


def _is_lasting(codes: list[str], error: Mapping[str, Any]) -> bool:
    """Return whether an exhausted quota stays exhausted: the provider says so, or it is a daily quota."""
    by_code = any(CODES.get(code.lower()) == 'quota' for code in codes)
    return by_code or PER_DAY.search(str(error.get('details') or '').lower()) is not None


PER_DAY = re.compile(r'per_?-?day')


def _kind(status: int, codes: list[str], message: str) -> Kind:
    telling = [kind for code, kind in CODES.items() if code in codes]
    if telling and telling[0] not in ('bad request', 'server'):
        return telling[0]
    for sentence, kind in SENTENCES:
        if sentence.search(message) and (kind == 'quota' or status not in (429, 529)):
            return kind
    if status in STATUSES:
        return STATUSES[status]
    if telling:
        return telling[0]
    return 'bad request' if 400 <= status < 500 else 'server'


STATUS = re.compile('[45][0-9][0-9]')


def _status(error: Mapping[str, Any]) -> int:
    for name in ('status_code', 'status', 'code'):
        value = error.get(name)
        if isinstance(value, str) and STATUS.fullmatch(value):
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return 0


def _message(inner: Any, error: Mapping[str, Any], payload: Mapping[str, Any]) -> str:
    reason = error.get('message') or payload.get('message') or payload.get('detail') or ''
    reason = inner if isinstance(inner, str) else reason
    message = (
        reason if isinstance(reason, str) else json.dumps(reason, separators=(',', ':'), ensure_ascii=False)
    )
    raw = as_mapping(error.get('metadata')).get('raw')  # Set by a proxy: the upstream provider's message.
    return as_word(f'{message}: {raw}' if isinstance(raw, str) and raw else message)[:MAX_MESSAGE]


MAX_MESSAGE = 1_000
"""Maximum characters kept of a provider's message."""
MAX_WORD = 200
"""Maximum characters kept of an error's code, or of a request's id."""


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
        if RESET.fullmatch(name.lower()) and (seconds := _seconds_until(value.strip(), headers)) is not None:
            yield seconds, headers.get(name.lower().replace('reset', 'remaining'), '').strip()


def _seconds_until(text: str, headers: Mapping[str, str]) -> float | None:
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
