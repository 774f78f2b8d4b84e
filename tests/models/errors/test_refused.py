"""Refusals and non-answers from a real server on loopback, in each dialect."""

from typing import Any

import pytest

from tests.models.exchange import client, serve_and_read, serve_stream
from tests.models.reading import endpoint, read
from tests.models.server import Wire, answering, serving
from tests.models.speech import SPEECHES, Speech

pytestmark = pytest.mark.parametrize('speech', SPEECHES, ids=lambda item: item.dialect)


@pytest.mark.parametrize(
    ('status', 'type', 'headers', 'kind', 'retryable', 'after'),
    [
        ('429 Too Many Requests', 'rate_limit_error', {'retry_after': '1'}, 'rate limit', True, 1),
        ('429 Too Many Requests', 'rate_limit_error', {'retry_after_ms': '250'}, 'rate limit', True, 0.25),
        ('429 Too Many Requests', 'insufficient_quota', {}, 'quota', False, None),
        ('500 Oh no', 'api_error', {'x_should_retry': 'false'}, 'server', False, None),
        ('503 Busy', 'api_error', {'retry_after': '2'}, 'overloaded', True, 2),
        ('400 No', 'invalid_request_error', {}, 'bad request', False, None),
    ],
)
async def test_an_error_response_is_mapped(
    speech: Speech, status: str, type: str, headers: dict[str, str], kind: str, retryable: bool, after: Any
) -> None:
    body = speech.refusal('No, because of that.', type)

    async def script(wire: Wire) -> None:
        all_headers = {'content_type': 'application/json', 'x_request_id': 'req_7', **headers}
        await wire.head(status, transfer_encoding='', content_length=str(len(body)), **all_headers)
        await wire.raw(body)

    result = await serve_and_read(speech, script)
    error = result.failure
    assert (error.kind, error.retryable, error.retry_after) == (kind, retryable, after)
    assert (error.status, error.request_id, error.code) == (int(status[:3]), 'req_7', type)
    assert str(error) == f'here: No, because of that. (HTTP {error.status})'


@pytest.mark.parametrize('body', [b'{"choices": [', b'nonsense', b'[1, 2]', b'"text"', b'null', b'{' * 5000])
async def test_malformed_json_is_a_bad_response(speech: Speech, body: bytes) -> None:
    result = await serve_stream(
        speech, speech.start, b'data: ' + body + b'\n\n', speech.say('x'), speech.stop
    )
    assert (result.failure.kind, result.failure.retryable) == ('bad response', True)
    assert len(str(result.failure)) < 500


@pytest.mark.parametrize('kind', ['text/html; charset=utf-8', 'application/json'])
async def test_an_html_page_instead_of_a_stream_is_reported(speech: Speech, kind: str) -> None:
    page = b'<html><style>body { color: red }</style><body>Please log in</body></html>'
    result = await serve_and_read(speech, answering(page, content_type=kind))
    assert (result.failure.kind, result.failure.retryable, result.failure.status) == (
        'bad response',
        False,
        200,
    )
    assert 'is the address right' in str(result.failure) and 'Please log in' in str(result.failure)
    assert 'color' not in str(result.failure)


async def test_an_error_page_is_shortened_to_its_text(speech: Speech) -> None:
    page = (
        b'<html><head><!-- a comment --><title>Bad gateway</title><style type="text/css">a > b {color: red}'
        b'</style><script>if (1 < 2) { say("no") }</script></head><h1>nginx &amp; co</h1></html>'
    )
    result = await serve_and_read(speech, answering(page, status='502 Bad Gateway', content_type='text/html'))
    assert str(result.failure) == 'here: Bad gateway nginx & co (HTTP 502)'


async def test_an_error_inside_a_successful_answer_is_found(speech: Speech) -> None:
    result = await serve_stream(speech, speech.start, speech.say('half'), speech.error)
    assert (result.failure.kind, result.failure.retryable) == ('overloaded', True)
    assert str(result.failure) == 'here: Overloaded, sorry'


async def test_a_shortened_error_holds_no_part_of_a_key(speech: Speech) -> None:
    key = 'k-1234567890-and-so-on'
    body = speech.refusal(f'{"x" * 985}{key}', 'authentication_error')
    refusing = answering(body, status='401 No', content_type='application/json')
    async with serving(refusing) as server, client() as http:
        result = await read(http, endpoint(speech.dialect, server.url, key=key))
    assert 'xxx[hidden]' in str(result.failure) and key[:10] not in str(result.failure)


async def test_a_key_never_gets_into_an_error(speech: Speech) -> None:
    key = 'k-1234567890'
    body = speech.refusal(f'Incorrect API key provided: {key}', 'authentication_error')
    refusing = answering(body, status='401 No', content_type='application/json')
    async with serving(refusing) as server, client() as http:
        to = endpoint(speech.dialect, server.url, key=key)
        result = await read(http, to)
        assert key.encode() in server.requests[0].request
    assert str(result.failure) == 'here: Incorrect API key provided: [hidden] (HTTP 401)'
    assert key not in repr(to) + repr(result)
