"""Classifying errors in the words of each provider."""

import json
from typing import Any

import pytest

from engine.models.http.dialects.error_mapping import error_of_payload, error_of_response

LONG = 'context too long'


def body(**error: Any) -> bytes:
    return json.dumps({'error': error}).encode()


@pytest.mark.parametrize(
    ('status', 'sent', 'kind'),
    [
        (429, body(message='You exceeded your current quota', type='insufficient_quota'), 'quota'),
        (429, body(message='Rate limit reached', code='rate_limit_exceeded'), 'rate limit'),
        (429, body(message='Provider returned error', code=429), 'rate limit'),
        (400, body(message='Your credit balance is too low', type='invalid_request_error'), 'quota'),
        (402, body(message='Insufficient Balance', type='unknown_error'), 'quota'),
        (400, body(message='maximum context length is 8', code='context_length_exceeded'), LONG),
        (400, body(message='prompt is too long: 9 tokens > 8 maximum', type='invalid_request_error'), LONG),
        (400, body(message='it exceeds the available context size', type='exceed_context_size_error'), LONG),
        (500, body(message='input is longer than the context window'), LONG),
        (400, body(message='content management policy', code='content_filter'), 'content filter'),
        (403, body(message='This input requires moderation', code=403), 'content filter'),
        (403, body(message='Not for your country', code='unsupported_country'), 'auth'),
        (404, b'{"error": "model \'x\' not found, try pulling it first"}', 'not found'),
        (404, body(message='no such model', code='model_not_found', type='x'), 'not found'),
        (422, b'{"detail": [{"msg": "field required"}]}', 'bad request'),
        (400, b'{"object": "error", "message": "no tools here", "code": 400}', 'bad request'),
        (400, b'[{"error": {"code": 400, "message": "bad", "status": "INVALID_ARGUMENT"}}]', 'bad request'),
        (
            400,
            body(
                code=400,
                message='API key not valid. Please pass a valid API key.',
                status='INVALID_ARGUMENT',
                details=[{'@type': 'type.googleapis.com/google.rpc.ErrorInfo', 'reason': 'API_KEY_INVALID'}],
            ),
            'auth',
        ),
        (
            400,
            body(
                code=400,
                message='The input token count (1200000) exceeds the maximum number of tokens allowed.',
                status='INVALID_ARGUMENT',
            ),
            LONG,
        ),
        (529, body(message='Overloaded', type='overloaded_error'), 'overloaded'),
        (503, b'', 'overloaded'),
        (504, b'upstream timed out', 'timeout'),
        (500, b'null', 'server'),
    ],
)  # fmt: skip
def test_an_error_response_has_a_kind(status: int, sent: bytes, kind: str) -> None:
    error = error_of_response(status, {}, sent)
    assert error.kind == kind
    assert error.status == status
    assert str(error)


GEMINI = 'You exceeded your current quota, please check your plan and billing details.'


@pytest.mark.parametrize(
    ('message', 'details', 'kind', 'wait'),
    [
        (f'{GEMINI} Please retry in 34.07s.', [], 'rate limit', 34.07),
        (
            GEMINI,
            [{'@type': 'type.googleapis.com/google.rpc.RetryInfo', 'retryDelay': '34s'}],
            'rate limit',
            34,
        ),
        (
            f'{GEMINI} Please retry in 34.07s.',
            [{'violations': [{'quotaId': 'GenerateRequestsPerDayPerProjectPerModel-FreeTier'}]}],
            'quota',
            34.07,
        ),
        (GEMINI, [], 'quota', None),
    ],
)
def test_a_quota_per_minute_is_a_rate_limit(
    message: str, details: list[Any], kind: str, wait: float | None
) -> None:
    sent = json.dumps([{'error': {'code': 429, 'message': message, 'details': details}}]).encode()
    error = error_of_response(429, {}, sent)
    assert (error.kind, error.retry_after) == (kind, wait)
    assert error.retryable is (kind == 'rate limit')


@pytest.mark.parametrize(
    ('payload', 'kind', 'status'),
    [
        ({'error': {'message': 'x', 'code': 502}}, 'server', 502),
        ({'error': {'message': 'x', 'code': '429'}}, 'rate limit', 429),
        (
            {'error': {'message': 'x', 'type': 'invalid_request_error', 'status_code': 400}},
            'bad request',
            400,
        ),
        ({'error': {'message': 'x', 'type': 'rate_limit_error'}}, 'rate limit', 0),
        ({'error': 'the runner has crashed'}, 'server', 0),
        ({'object': 'error', 'message': 'x', 'code': 503}, 'overloaded', 503),
        ({'error': True}, 'server', 0),
        ({'error': {'message': 'x', 'status': 'UNAVAILABLE'}}, 'overloaded', 0),
        ({'error': {'message': 'x', 'details': [None, {'reason': 5}], 'status': 7}}, 'server', 0),
    ],
)
def test_errors_in_a_stream(payload: dict[str, Any], kind: str, status: int) -> None:
    error = error_of_payload(payload)
    assert (error.kind, error.status) == (kind, status)


@pytest.mark.parametrize(
    ('headers', 'message', 'seconds'),
    [
        ({'retry-after': '20'}, '', 20),
        ({'retry-after': '0.5', 'retry-after-ms': '1500'}, '', 1.5),
        ({'retry-after': 'Wed, 21 Oct 2026 07:28:30 GMT', 'date': 'Wed, 21 Oct 2026 07:28:00 GMT'}, '', 30),
        ({'retry-after': 'Wed, 21 Oct 2015 07:28:30 GMT'}, '', 0),
        ({'retry-after': 'soon'}, '', None),
        ({}, 'Please try again in 7.66s.', 7.66),
        ({}, 'Please try again in 1m26.4s.', 86.4),
        ({}, 'Please try again in 250ms', 0.25),
        ({}, 'Please try again in 1h2m3s', 3723),
        ({}, 'Please retry after 2 hours', 7200),
        ({}, 'Please try again in 6m0s.', 360),
        ({}, 'try again in 5 minutes and then some', 300),
        ({}, 'Please try again later', None),
        ({}, 'Please wait 20 seconds before the next request', 20),
        ({}, 'Your limit resets in 1 hour and 5 minutes', 3900),
        (
            {
                'x-ratelimit-remaining-requests': '0',
                'x-ratelimit-reset-requests': '1m6.779s',
                'x-ratelimit-remaining-tokens': '199961',
                'x-ratelimit-reset-tokens': '11ms',
            },
            '',
            66.779,
        ),
        ({'x-ratelimit-reset-requests': '1m6s', 'x-ratelimit-reset-tokens': '11ms'}, '', 0.011),
        (
            {
                'anthropic-ratelimit-tokens-remaining': '0',
                'anthropic-ratelimit-tokens-reset': '2026-10-21T07:28:30Z',
                'date': 'Wed, 21 Oct 2026 07:28:00 GMT',
            },
            '',
            30,
        ),
        ({'x-ratelimit-reset': '1792567710000', 'date': 'Wed, 21 Oct 2026 07:28:00 GMT'}, '', 30),
        ({'x-ratelimit-reset': '1792567710', 'date': 'Wed, 21 Oct 2026 07:28:00 GMT'}, '', 30),
        ({'x-ratelimit-reset': '12'}, '', 12),
    ],
)
def test_retry_delay_is_parsed(headers: dict[str, str], message: str, seconds: float | None) -> None:
    error = error_of_response(429, headers, body(message=message))
    assert error.retry_after == (None if seconds is None else pytest.approx(seconds))


def test_headers_repeated_by_a_proxy_are_read() -> None:
    headers = {'X-RateLimit-Limit': 20, 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': '1792567710000'}
    sent = body(message='Rate limit exceeded', code=429, metadata={'headers': headers})
    error = error_of_response(429, {'date': 'Wed, 21 Oct 2026 07:28:00 GMT'}, sent)
    assert (error.kind, error.retry_after) == ('rate limit', pytest.approx(30))


def test_the_error_behind_a_proxy_is_shown() -> None:
    sent = body(
        message='Provider returned error', code=429, metadata={'raw': 'the model is rate-limited upstream'}
    )
    assert str(error_of_response(429, {}, sent)) == (
        'Provider returned error: the model is rate-limited upstream (HTTP 429)'
    )
