"""Says what an error response, or an error in a stream, means: its kind, and whether to try again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html import unescape
from typing import Any

import orjson

from engine.errors import PASSING, Kind, ModelError
from engine.wire.dialect import mapping

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
    'api_error': 'server',
    'server_error': 'server',
    'internal_server_error': 'server',
    'tool_use_failed': 'bad request',
    'invalid_request_error': 'bad request',
}
"""Providers' own words, the most telling first: one error may carry two."""

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
            r'|too many (input )?tokens in'
        ),
        'context too long',
    ),
    (re.compile(r'content (management|filter|policy)|requires moderation|safety system'), 'content filter'),
)
"""What some say in words only."""

WAIT = re.compile(r'(?:try again|retry) (?:in|after) (?:(\d+)m(?!s))?(\d+(?:\.\d+)?)(ms|s| seconds)')

UNREAD = re.compile(r'<!--.*?(?:-->|\Z)|<(style|script|svg|noscript)\b.*?(?:</\1\s*>|\Z)', re.I | re.S)
"""What nobody reads of a web page, even where the page was cut off in the middle of it."""
TAG = re.compile(r'<[a-z/!?][^>]*>', re.I)


def refused(status: int, headers: Mapping[str, str], body: bytes) -> ModelError:
    """The error that a response other than a success tells of."""
    try:
        told = orjson.loads(body)
    except ValueError:
        told = None
    payload = told if isinstance(told, dict) else {}
    if isinstance(told, list) and told and isinstance(told[0], dict):
        payload = told[0]
    if not payload:
        payload = {'message': words(body.decode('utf-8', 'replace'))[:MOST_SAID]}
    return told_of(payload, status=status, headers=headers)


def words(page: str) -> str:
    """What there is to read of an answer that may be a web page, in one line."""
    return ' '.join(unescape(TAG.sub(' ', UNREAD.sub(' ', page))).split())


def told_of(
    payload: Mapping[str, Any], *, status: int = 0, headers: Mapping[str, str] | None = None
) -> ModelError:
    """The error in an object, for instance `{'error': {'message': ..., 'type': ...}}`."""
    headers = headers or {}
    inner = payload.get('error')
    error = inner if isinstance(inner, dict) else payload
    status = status or _status(error) or _status(payload)
    message = _message(inner, error, payload)
    codes = [str(word) for word in (error.get('code'), error.get('type')) if word and word != 'error']
    kind = _kind(status, [code.lower() for code in codes], message.lower())
    named = message or 'it gave no reason'
    if status and str(status) not in message:
        named += f' (HTTP {status})'
    return ModelError(
        named,
        kind=kind,
        retryable=kind in PASSING and headers.get('x-should-retry') != 'false',
        retry_after=_wait(headers, error, message),
        status=status,
        code=codes[0] if codes else '',
        request_id=str(
            headers.get('x-request-id') or headers.get('request-id') or payload.get('request_id') or ''
        ),
    )


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


def _status(error: Mapping[str, Any]) -> int:
    for name in ('status_code', 'status', 'code'):
        value = error.get(name)
        if isinstance(value, str) and value.isdigit():
            value = int(value)
        if isinstance(value, int) and 400 <= value < 600:
            return value
    return 0


def _message(inner: Any, error: Mapping[str, Any], payload: Mapping[str, Any]) -> str:
    if isinstance(inner, str):
        return inner
    said = error.get('message') or payload.get('message') or payload.get('detail') or ''
    message = said if isinstance(said, str) else orjson.dumps(said).decode()
    raw = mapping(error.get('metadata')).get('raw')  # A go-between's: what the provider behind it said.
    return f'{message}: {raw}'[:MOST_SAID] if isinstance(raw, str) and raw else message[:MOST_SAID]


def _wait(headers: Mapping[str, str], error: Mapping[str, Any], message: str) -> float | None:
    """Seconds to wait as the provider asks, in one of the many ways of saying so."""
    for name, unit in (('retry-after-ms', 1000.0), ('retry-after', 1.0)):
        said = headers.get(name, '').strip()
        if re.fullmatch(r'\d+(\.\d+)?', said):
            return float(said) / unit
        if said and unit == 1.0 and (seconds := _until(said, headers.get('date', ''))) is not None:
            return seconds
    asked = error.get('retry_after')
    if isinstance(asked, int | float) and not isinstance(asked, bool) and asked >= 0:
        return float(asked)
    if found := WAIT.search(message.lower()):
        minutes, amount, unit_said = found.groups()
        return int(minutes or 0) * 60 + float(amount) / (1000 if unit_said == 'ms' else 1)
    return None


def _until(date: str, now: str) -> float | None:
    try:
        start = parsedate_to_datetime(now) if now else datetime.now(UTC)
        return max(0.0, (parsedate_to_datetime(date) - start).total_seconds())
    except (ValueError, TypeError):
        return None


MOST_SAID = 1_000
"""Characters of a provider's own words that are kept."""
