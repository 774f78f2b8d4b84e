"""Answers of a server that means ill: each is refused in words, and none takes long, or much memory."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.errors import ModelError
from engine.models.http.dialects.error_mapping import error_of_response
from tests.models.reading import replayed

pytestmark = pytest.mark.anyio

JSON = {'content-type': 'application/json'}
DIALECTS = ('openai', 'responses', 'anthropic', 'gemini')


def event(value: Any) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'data: {text}\n\n'.encode()


def deep(levels: int) -> str:
    return '{"error": {"message": ' + '[' * levels + ']' * levels + '}}'


def assert_plain(error: ModelError | None) -> None:
    """It can be journaled, and shown."""
    assert error is not None
    json.dumps(error.retry_after, allow_nan=False)
    for text in (error.problem, error.code, error.request_id):
        assert len(text.encode()) < 2_000


ERRORS: tuple[Any, ...] = (
    {'code': '²', 'message': 'x'},
    {'code': '4' * 5_000, 'message': 'x'},
    {'code': 'c' * 100_000, 'type': {'a': 1}, 'status': [1]},
    {'code': '\ud800', 'message': '\udfff'},
    {'message': {'said': '\ud800'}},
    {'message': 'm', 'metadata': {'raw': '\ud800', 'headers': {'Retry-After': {'a': 1}}}},
    {'message': 'm', 'code': 429, 'details': [{'retryDelay': '9' * 400 + 's'}, {'reason': '\ud800'}]},
    {'message': f'try again in {"9" * 400} days', 'code': 429},
    'x' * 100_000,
)


@pytest.mark.parametrize('dialect', DIALECTS)
@pytest.mark.parametrize('error', ERRORS, ids=lambda error: str(error)[:20].encode('ascii', 'replace'))
async def test_an_error_of_any_form_is_told(dialect: str, error: Any) -> None:
    said = {'error': error, 'request_id': 'r' * 100_000}
    assert_plain((await replayed(event(said), dialect)).error)
    assert_plain((await replayed(json.dumps(said).encode(), dialect, headers=JSON)).error)
    assert_plain((await replayed(json.dumps(said).encode(), dialect, status=429, headers=JSON)).error)


@pytest.mark.parametrize('levels', [90, 300, 900, 5_000, 100_000])
async def test_an_error_of_any_depth_is_told(levels: int) -> None:
    assert_plain((await replayed(event(deep(levels)))).error)
    assert_plain((await replayed(deep(levels).encode(), status=500, headers=JSON)).error)


@pytest.mark.parametrize('number', ['NaN', '1e400', '-1e400', '-5', '1e300'])
async def test_a_wait_that_is_no_number_is_not_taken(number: str) -> None:
    told = f'{{"error": {{"message": "m", "code": 429, "retry_after": {number}}}}}'
    assert_plain((await replayed(event(told))).error)


@pytest.mark.parametrize(
    'headers',
    [
        {'retry-after': '9' * 400},
        {'retry-after': 'Mon, 01 Jan 2024 00:00:00 +99999999999999999999'},
        {'retry-after': 'Mon, 01 Jan 2024 00:00:00 GMT', 'date': 'Mon, 01 Jan 2024 00:00:00 +9999999999999'},
        {'retry-after-ms': '9' * 400},
        {'x-ratelimit-reset-tokens': '9' * 500 + 'h'},
    ],
    ids=lambda headers: str(headers)[:20],
)
def test_a_header_that_tells_of_no_wait_is_passed_over(headers: dict[str, str]) -> None:
    error = error_of_response(429, headers, b'{"error": {"message": "slow down"}}')
    assert (error.kind, error.retry_after) in (('rate limit', None), ('rate limit', 0.0))


async def test_a_page_of_tags_without_an_end_takes_no_time() -> None:
    found = await replayed(b'<a' * 1_000_000, status=500, headers={'content-type': 'text/html'})
    assert_plain(found.error)
