"""Answers of a hostile server: each is refused with a message, quickly and within limited memory."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path
from typing import Any

import httpx
import pytest
import zstandard

from engine.errors import ModelError
from engine.models.http.dialects.dialect import MAX_TOOL_CALLS
from engine.models.http.dialects.error_mapping import error_of_response
from engine.models.protocol import OpaquePiece, Timeouts
from engine.models.recording.cassette import Cassette
from engine.models.recording.recorded_call import RecordedCall
from engine.models.secret_filter import SecretFilter
from tests.models.reading import CallResult, endpoint, make_request, read, replay
from tests.models.server import serving

JSON = {'content-type': 'application/json'}
DIALECTS = ('openai', 'responses', 'anthropic', 'gemini')


def event(value: Any) -> bytes:
    text = value if isinstance(value, str) else json.dumps(value)
    return f'data: {text}\n\n'.encode()


def deep(levels: int) -> str:
    return '{"error": {"message": ' + '[' * levels + ']' * levels + '}}'


def assert_plain(error: ModelError | None) -> None:
    """Check that an error can be journaled and shown."""
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
async def test_an_error_of_any_form_is_reported(dialect: str, error: Any) -> None:
    payload = {'error': error, 'request_id': 'r' * 100_000}
    assert_plain((await replay(event(payload), dialect)).error)
    assert_plain((await replay(json.dumps(payload).encode(), dialect, headers=JSON)).error)
    assert_plain((await replay(json.dumps(payload).encode(), dialect, status=429, headers=JSON)).error)


@pytest.mark.parametrize('levels', [90, 300, 900, 5_000, 100_000])
async def test_an_error_of_any_depth_is_reported(levels: int) -> None:
    assert_plain((await replay(event(deep(levels)))).error)
    assert_plain((await replay(deep(levels).encode(), status=500, headers=JSON)).error)


@pytest.mark.parametrize('number', ['NaN', '1e400', '-1e400', '-5', '1e300'])
async def test_an_invalid_wait_is_ignored(number: str) -> None:
    payload = f'{{"error": {{"message": "m", "code": 429, "retry_after": {number}}}}}'
    assert_plain((await replay(event(payload))).error)


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
def test_a_header_without_a_usable_wait_is_ignored(headers: dict[str, str]) -> None:
    error = error_of_response(429, headers, b'{"error": {"message": "slow down"}}')
    assert (error.kind, error.retry_after) in (('rate limit', None), ('rate limit', 0.0))


async def test_a_page_of_unclosed_tags_is_read_quickly() -> None:
    result = await replay(b'<a' * 1_000_000, status=500, headers={'content-type': 'text/html'})
    assert_plain(result.error)


def chunk(**delta: Any) -> bytes:
    return event({'choices': [{'index': 0, 'delta': delta}]})


def fragment(arguments: str, index: int = 0) -> dict[str, Any]:
    return {'index': index, 'id': str(index), 'function': {'name': 'a', 'arguments': arguments}}


END = event({'choices': [{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]}) + event('[DONE]')
MANY = 30_000
SLOW = 4.0
"""Seconds; each of these took 8 seconds to hours while the work was quadratic."""


async def replay_quickly(body: bytes, dialect: str = 'openai') -> CallResult:
    began = time.process_time()
    result = await replay(body, dialect, size=65_536, request=make_request(timeouts=Timeouts()))
    assert time.process_time() - began < SLOW
    return result


async def test_reasoning_details_in_many_fragments_are_read_quickly() -> None:
    details = [{'index': 0, 'type': 'reasoning.text', 'text': 'x' * 80}] * MANY
    result = await replay_quickly(chunk(reasoning_details=details) * 2 + END)
    opaque = next(event for event in result.events if isinstance(event, OpaquePiece))
    assert len(opaque.data['reasoning_details'][0]['text']) == 160 * MANY


@pytest.mark.parametrize('begins', ['1', '{x}', '{"a"'])
async def test_invalid_arguments_in_many_fragments_are_read_quickly(begins: str) -> None:
    result = await replay_quickly(chunk(tool_calls=[fragment(begins), *[fragment('1')] * MANY]) + END)
    assert result.calls == [('a', begins + '1' * MANY)]


async def test_a_signature_in_many_fragments_is_read_quickly() -> None:
    piece = {'type': 'content_block_delta', 'index': 0}
    signed = event({**piece, 'delta': {'type': 'signature_delta', 'signature': 'x' * 400}})
    start = event({'type': 'content_block_start', 'index': 0, 'content_block': {'type': 'thinking'}})
    stop = event({'type': 'message_delta', 'delta': {'stop_reason': 'end_turn'}})
    result = await replay_quickly(
        start + signed * 40_000 + stop + event({'type': 'message_stop'}), 'anthropic'
    )
    opaque = next(event for event in result.events if isinstance(event, OpaquePiece))
    assert len(opaque.data['signature']) == 400 * 40_000


def calls_of(dialect: str, number: int) -> bytes:
    """Return an answer with this many calls."""
    names = [str(at) for at in range(number)]
    call = {'type': 'function_call', 'name': 'a', 'arguments': '{}'}
    responses: dict[str, Any] = {
        'openai': {'choices': [{'message': {'tool_calls': [fragment('{}', int(at)) for at in names]}}]},
        'anthropic': {'content': [{'type': 'tool_use', 'name': 'a', 'id': at, 'input': {}} for at in names]},
        'responses': {'status': 'completed', 'output': [{**call, 'call_id': at} for at in names]},
        'gemini': {'candidates': [{'content': {'parts': [{'functionCall': {'name': 'a'}}] * number}}]},
    }
    responses['openai']['choices'][0]['finish_reason'] = 'tool_calls'
    responses['anthropic']['stop_reason'] = 'tool_use'
    responses['gemini']['candidates'][0]['finishReason'] = 'STOP'
    return json.dumps(responses[dialect]).encode()


@pytest.mark.parametrize('dialect', DIALECTS)
async def test_the_number_of_calls_in_an_answer_is_limited(dialect: str) -> None:
    result = await replay(calls_of(dialect, MAX_TOOL_CALLS), dialect, headers=JSON)
    assert (result.end.reason, len(result.calls)) == ('tools', MAX_TOOL_CALLS)
    many = await replay(calls_of(dialect, MAX_TOOL_CALLS + 1), dialect, headers=JSON)
    assert many.failure.kind == 'bad response'
    assert 'more than 1,000 tools in one answer' in str(many.failure)


@pytest.mark.parametrize('text', ['x', '*', '.', 'sk-a', 'xxxxy', 'sk-axxxx', '-'])
def test_text_that_resembles_keys_is_filtered_quickly(text: str) -> None:
    began = time.process_time()
    hidden = SecretFilter(['sk-abcdefghijklmnop6789']).redact_text(text * 50_000 + ' 6789')
    assert hidden.endswith(' 6789')
    assert time.process_time() - began < SLOW


STREAM = {'content-type': 'text/event-stream'}
ANSWER = chunk(content='all') + END


@pytest.mark.parametrize('record', [False, True])
@pytest.mark.parametrize('coding', ['gzip, gzip', 'zstd', 'gzip,zstd', 'br', 'x' * 1_000])
async def test_answers_that_could_fill_memory_are_not_decompressed(
    coding: str, record: bool, tmp_path: Path
) -> None:
    body = zstandard.compress(ANSWER) if coding == 'zstd' else gzip.compress(gzip.compress(ANSWER))
    carrier = RecordedCall(Cassette(tmp_path / 'tape', 'record'), 'state', 1) if record else None
    headers = {**STREAM, 'content-encoding': coding}
    result = await replay(body, headers=headers, request=make_request(carrier=carrier))
    assert_plain(result.error)
    assert f'its answer is compressed with {coding[:100]}, which was not requested' in str(result.failure)
    result = await replay(body, status=429, headers={**headers, 'retry-after': '7'})
    assert_plain(result.error)
    assert (result.failure.kind, result.failure.retry_after) == ('rate limit', 7)


@pytest.mark.parametrize('coding', ['gzip', 'GZIP', 'identity', ''])
async def test_an_answer_compressed_once_is_read(coding: str) -> None:
    body = gzip.compress(ANSWER) if 'gzip' in coding.lower() else ANSWER
    assert (await replay(body, headers={**STREAM, 'content-encoding': coding})).text == 'all'


async def test_answers_are_requested_uncompressed() -> None:
    async with serving(lambda wire: wire.head('500 No', content_length='0', transfer_encoding='')) as server:
        async with httpx.AsyncClient() as http:
            await read(http, endpoint(url=server.url))
        assert b'accept-encoding: identity\r\n' in server.requests[0].request.lower()


async def test_a_recording_keeps_the_time_to_wait(tmp_path: Path) -> None:
    carrier = RecordedCall(Cassette(tmp_path / 'tape', 'record'), 'state', 1)
    headers = {**JSON, 'x-ratelimit-reset-requests': '7s', 'set-cookie': 'a=b'}
    result = await replay(b'{}', status=429, headers=headers, request=make_request(carrier=carrier))
    assert result.failure.retry_after == 7
    assert 'x-ratelimit-reset-requests' in (tmp_path / 'tape').read_text('utf-8')
