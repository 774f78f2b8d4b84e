"""Streams that break the rules: failed finishes, whole JSON, odd usage, several choices, huge events."""

import json
import time
from typing import Any

import httpx
import pytest
from httpx_sse import EventSource
from hypothesis import given
from hypothesis import strategies as st

from engine.models.http import sse_reader
from engine.models.http.sse_parser import SseParser
from engine.models.protocol import ReasoningPiece
from tests.models.reading import CallResult, replay
from tests.models.speech import SPEECHES, Speech, anthropic, openai

EACH = pytest.mark.parametrize('speech', SPEECHES, ids=lambda item: item.dialect)
JSON = {'content-type': 'application/json'}
USED = {'prompt_tokens': 3, 'completion_tokens': 2}


def finish(word: str, **more: Any) -> bytes:
    return openai(choices=[{'index': 0, 'delta': {}, 'finish_reason': word}], **more)


def say(text: str) -> bytes:
    return openai(choices=[{'index': 0, 'delta': {'content': text}}])


async def read(*pieces: bytes, dialect: str = 'openai', **more: Any) -> CallResult:
    return await replay(b''.join(pieces), dialect, **more)


WORDS = [
    *('error', 'network_error', 'insufficient_system_resource', 'MALFORMED_FUNCTION_CALL', 'abort'),
    *('OTHER', 'time_limit', 'not_finished', 'engine_overloaded', 'rate_limit_exceeded', 'interrupted'),
]


@pytest.mark.parametrize('word', WORDS)
async def test_a_failed_finish_fails_the_call(word: str) -> None:
    result = await read(say('half'), finish(word), b'data: [DONE]\n\n')
    assert (result.failure.kind, result.failure.retryable, result.failure.code) == ('server', True, word)


@pytest.mark.parametrize('native', ['MALFORMED_FUNCTION_CALL', 'error', 'OTHER'])
async def test_a_failed_finish_disguised_by_a_proxy_fails_the_call(native: str) -> None:
    choice = {'index': 0, 'delta': {}, 'finish_reason': 'stop', 'native_finish_reason': native}
    result = await read(say('half'), openai(choices=[choice]), b'data: [DONE]\n\n')
    assert result.failure.code == native
    full_choice = {**choice, 'native_finish_reason': 'STOP'}
    assert (await read(say('all'), openai(choices=[full_choice]), b'data: [DONE]\n\n')).end.reason == 'stop'


async def test_a_failed_finish_of_anthropic_fails_the_call() -> None:
    start = SPEECHES[1].start + SPEECHES[1].say('half')
    result = await read(
        start,
        anthropic('message_delta', delta={'stop_reason': 'error'}),
        SPEECHES[1].end,
        dialect='anthropic',
    )
    assert result.failure.code == 'error'


async def test_an_error_after_a_failed_finish_explains_it() -> None:
    error = openai(error={'message': 'upstream is gone', 'code': 502}, choices=[], usage=USED)
    result = await read(say('half'), finish('error'), error, b'data: [DONE]\n\n')
    assert str(result.failure) == 'here: upstream is gone (HTTP 502)'
    assert result.failure.usage is not None and result.failure.usage.total == 5


@pytest.mark.parametrize(
    ('word', 'reason'),
    [
        ('SAFETY', 'filter'),
        ('content_filter: RECITATION', 'filter'),
        ('token_limit', 'length'),
        ('pause_turn', 'length'),
    ],
)
async def test_other_finish_reasons_are_understood(word: str, reason: str) -> None:
    assert (await read(say('x'), finish(word), b'data: [DONE]\n\n')).end.reason == reason


async def test_a_second_finish_does_not_hide_that_the_answer_was_cut() -> None:
    cut = (say('half'), finish('length'))
    assert (await read(*cut, finish('stop'), b'data: [DONE]\n\n')).end.reason == 'length'
    result = await read(*cut, finish('error'), b'data: [DONE]\n\n')
    assert result.failure.code == 'error'


async def test_an_error_inside_a_choice_is_reported() -> None:
    choice = {'index': 0, 'delta': {}, 'finish_reason': 'error'}
    error = {'code': 502, 'message': 'upstream is gone'}
    result = await read(say('half'), openai(choices=[choice | {'error': error}]), b'data: [DONE]\n\n')
    assert str(result.failure) == 'here: upstream is gone (HTTP 502)'


@pytest.mark.parametrize('payload', [{'detail': 'It broke'}, {'message': 'It broke', 'type': 'server_error'}])
async def test_an_unlabelled_error_is_reported(payload: dict[str, str]) -> None:
    result = await read(openai(**payload), b'data: [DONE]\n\n')
    assert str(result.failure) == 'here: It broke'


async def test_an_error_in_a_list_is_reported() -> None:
    error = {'code': 429, 'message': 'You exceeded your current quota. Please retry in 34s'}
    result = await read(b'data: ' + json.dumps([{'error': error}]).encode() + b'\n\n')
    assert (result.failure.kind, result.failure.retry_after) == ('rate limit', 34)


@pytest.mark.parametrize('dialect', ['openai', 'responses', 'anthropic', 'gemini'])
@pytest.mark.parametrize('answered', ['openai', 'responses', 'anthropic', 'gemini'])
async def test_an_answer_in_another_dialect_is_named(dialect: str, answered: str) -> None:
    first = {
        'openai': SPEECHES[0].start,
        'responses': openai(type='response.created', response={'id': '1'}),
        'anthropic': SPEECHES[1].start,
        'gemini': SPEECHES[2].start,
    }
    result = await read(first[answered], dialect=dialect)
    assert ('is `dialect` right?' in str(result.failure)) == (dialect != answered)
    assert result.failure.retryable == (dialect == answered)


@pytest.mark.parametrize('status', ['failed', 'incomplete', 'cancelled'])
async def test_a_response_that_did_not_complete_fails_without_a_reason(status: str) -> None:
    def event(name: str, **more: Any) -> bytes:
        return openai(type=f'response.{name}', **more)

    half = event('output_text.delta', output_index=0, delta='half')
    for response in ({}, {'status': status, 'error': None, 'incomplete_details': None}):
        result = await read(
            event('created', response={'id': '1'}),
            half,
            event(status, response=response),
            dialect='responses',
        )
        assert (result.failure.retryable, result.failure.code) == (True, status)


async def test_usage_that_follows_an_error_counts() -> None:
    error = openai(error={'message': 'no', 'code': 500})
    result = await read(say('half'), error, openai(choices=[], usage=USED), b'data: [DONE]\n\n')
    assert result.failure.usage is not None and result.failure.usage.total == 5


async def test_a_stream_of_only_an_end_mark_is_an_error() -> None:
    result = await read(b'data: [DONE]\n\n')
    assert (result.failure.kind, result.failure.retryable) == ('truncated', True)


WHOLE = {
    'openai': {
        'id': '1',
        'model': 'm',
        'object': 'chat.completion',
        'choices': [
            {
                'index': 0,
                'finish_reason': 'tool_calls',
                'message': {
                    'role': 'assistant',
                    'content': 'Look.',
                    'tool_calls': [
                        {'id': 'a', 'type': 'function', 'function': {'name': 'f', 'arguments': '{"x": 1}'}},
                        {'id': 'b', 'type': 'function', 'function': {'name': 'f', 'arguments': '{"x": 2}'}},
                    ],
                },
            }
        ],
        'usage': USED,
    },
    'anthropic': {
        'id': '1',
        'type': 'message',
        'model': 'm',
        'role': 'assistant',
        'content': [
            {'type': 'text', 'text': 'Look.'},
            {'type': 'tool_use', 'id': 'a', 'name': 'f', 'input': {'x': 1}},
            {'type': 'tool_use', 'id': 'b', 'name': 'f', 'input': {'x': 2}},
        ],
        'stop_reason': 'tool_use',
        'usage': {'input_tokens': 3, 'output_tokens': 2},
    },
    'gemini': {
        'candidates': [
            {
                'content': {
                    'role': 'model',
                    'parts': [
                        {'text': 'Look.'},
                        {'functionCall': {'name': 'f', 'args': {'x': 1}}},
                        {'functionCall': {'name': 'f', 'args': {'x': 2}}},
                    ],
                },
                'finishReason': 'STOP',
            }
        ],
        'usageMetadata': {'promptTokenCount': 3, 'candidatesTokenCount': 2},
    },
}


@pytest.mark.parametrize('kind', ['application/json', 'text/event-stream', ''])
@pytest.mark.parametrize('dialect', WHOLE)
@pytest.mark.parametrize('size', [0, 7])
async def test_an_answer_in_one_json_document_is_accepted(dialect: str, kind: str, size: int) -> None:
    body = b'\n ' + json.dumps(WHOLE[dialect]).encode()
    result = await read(
        body, dialect=dialect, headers={'content-type': kind} if kind else {'x': 'y'}, size=size
    )
    assert result.text == 'Look.'
    assert result.calls == [('f', '{"x": 1}'), ('f', '{"x": 2}')]
    assert (result.end.reason, result.end.usage.total) == ('tools', 5)


@EACH
async def test_a_stream_with_the_content_type_of_json_is_read(speech: Speech) -> None:
    body = speech.start + speech.say('x') + speech.stop + speech.end
    assert (await read(body, dialect=speech.dialect, headers=JSON)).text == 'x'


@EACH
@pytest.mark.parametrize('kind', ['application/json', 'text/event-stream'])
async def test_an_error_in_one_json_document_is_reported(speech: Speech, kind: str) -> None:
    body = speech.refusal('No, because of that.', 'overloaded_error')
    result = await read(body, dialect=speech.dialect, headers={'content-type': kind})
    assert (result.failure.kind, str(result.failure)) == ('overloaded', 'here: No, because of that.')


@pytest.mark.parametrize(
    ('body', 'message'),
    [
        (b'{"model": "m", "done": false}\n{"model": "m", "done": true}\n', 'JSON'),
        (b'{"answer": "yes"}', 'JSON'),
        (b'Please log in', 'Please log in'),
    ],
)
async def test_a_body_that_is_not_a_stream_is_named(body: bytes, message: str) -> None:
    result = await read(body)
    assert result.failure.kind == 'bad response'
    assert message in str(result.failure) and 'is the address right' in str(result.failure)


@pytest.mark.parametrize('size', [0, 1, 2])
@EACH
async def test_a_byte_order_mark_is_skipped(speech: Speech, size: int) -> None:
    body = b'\xef\xbb\xbf' + speech.start + speech.say('x') + speech.stop + speech.end
    assert (await read(body, dialect=speech.dialect, size=size)).text == 'x'


async def test_an_endless_event_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_reader, 'MAX_EVENT', 10_000)
    result = await read(say('x'), b'data: ' + b'x' * 50_000, size=1_000)
    assert (result.failure.kind, result.failure.retryable) == ('bad response', False)
    assert 'longer than 10,000 bytes' in str(result.failure)


async def test_an_endless_answer_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sse_reader, 'MAX_ANSWER', 10_000)
    result = await read(*[say('x')] * 1_000, size=1_000)
    assert (result.failure.kind, result.failure.retryable) == ('bad response', False)
    assert 'more than 10,000 bytes' in str(result.failure)


async def test_choices_are_separated_by_index() -> None:
    def choice(index: int, text: str, finish: str | None = None) -> dict[str, Any]:
        return {'index': index, 'delta': {'content': text}, 'finish_reason': finish}

    result = await read(
        openai(choices=[choice(1, 'Nein'), choice(0, 'Y')]),
        openai(choices=[choice(1, ' danke', 'length')]),
        openai(choices=[choice(0, 'es', 'stop')]),
        b'data: [DONE]\n\n',
    )
    assert (result.text, result.end.reason) == ('Yes', 'stop')


async def test_a_legacy_function_call_is_a_call() -> None:
    def delta(**call: str) -> bytes:
        return openai(choices=[{'index': 0, 'delta': {'function_call': call}}])

    result = await read(
        delta(name='f', arguments=''),
        delta(arguments='{"x"'),
        delta(arguments=': 1}'),
        finish('function_call'),
    )
    assert result.calls == [('f', '{"x": 1}')] and result.end.reason == 'tools'


async def test_reasoning_found_only_in_details_is_shown() -> None:
    def delta(**detail: Any) -> bytes:
        return openai(choices=[{'index': 0, 'delta': {'reasoning_details': [{'index': 0, **detail}]}}])

    result = await read(
        delta(type='reasoning.text', text='Let me '),
        delta(type='reasoning.text', text='think'),
        delta(type='reasoning.encrypted', data='abc'),
        say('Yes'),
        finish('stop'),
    )
    pieces = [event.text for event in result.events if isinstance(event, ReasoningPiece)]
    assert pieces == ['Let me ', 'think']


@pytest.mark.parametrize('named', [False, True])
async def test_many_fragments_of_one_call_are_joined_quickly(named: bool) -> None:
    def fragment(text: str, name: str | None) -> bytes:
        call = {'index': 0, 'function': {'arguments': text} | ({'name': name} if name else {})}
        return openai(choices=[{'index': 0, 'delta': {'tool_calls': [call]}}])

    pieces = [fragment('{"text": "', 'f'), *(fragment('{}x', 'f' if named else None) for _ in range(20_000))]
    began = time.process_time()
    result = await read(*pieces, fragment('"}', None), finish('tool_calls'))
    assert [(name, len(text)) for name, text in result.calls] == [('f', 60_012)]
    assert time.process_time() - began < 5


@pytest.mark.parametrize(
    ('usage', 'numbers'),
    [
        ({'prompt_tokens': 3.0, 'completion_tokens': '2'}, (3, 2)),
        ({'prompt_tokens': 'many', 'completion_tokens': None}, (0, 0)),
        ({'prompt_tokens': True, 'completion_tokens': float('inf')}, (0, 0)),
        ({'prompt_tokens': -3, 'completion_tokens': 2.9}, (0, 2)),
        ({'prompt_tokens': 10**30, 'completion_tokens': 1e300}, (0, 0)),
    ],
)
async def test_token_counts_of_any_type_are_read(usage: dict[str, Any], numbers: tuple[int, int]) -> None:
    result = await read(say('x'), finish('stop', usage=usage))
    assert (result.end.usage.input, result.end.usage.output) == numbers


COUNTED_APART = {
    'openai': finish('stop', usage={**USED, 'prompt_tokens_details': {'cached_tokens': 50}}),
    'responses': openai(
        type='response.completed',
        response={'usage': {'input_tokens': 3, 'input_tokens_details': {'cached_tokens': 50}}},
    ),
    'gemini': openai(
        candidates=[{'finishReason': 'STOP'}],
        usageMetadata={'promptTokenCount': 3, 'cachedContentTokenCount': 50},
    ),
}


@pytest.mark.parametrize('dialect', COUNTED_APART)
async def test_more_cached_tokens_than_tokens_do_not_lower_the_cost(dialect: str) -> None:
    first = openai(type='response.created', response={}) if dialect == 'responses' else b''
    usage = (await read(first, COUNTED_APART[dialect], dialect=dialect)).end.usage
    assert (usage.input, usage.cached) == (53, 50)


@pytest.mark.parametrize(
    ('usage', 'numbers'),
    [
        ({'total_tokens': 99, 'completion_tokens_details': {'reasoning_tokens': 94}}, (96, 94)),  # xAI
        ({'total_tokens': 99}, (96, 94)),  # Google
        ({'completion_tokens_details': {'reasoning_tokens': 1}, 'total_tokens': 5}, (2, 1)),  # OpenAI
        ({'prompt_tokens_details': {'cached_tokens': 94}, 'total_tokens': 99}, (2, 0)),
        ({'total_tokens': 4}, (2, 0)),
    ],
)
async def test_reasoning_that_is_only_in_the_total_counts(
    usage: dict[str, Any], numbers: tuple[int, int]
) -> None:
    result = await read(say('x'), finish('stop', usage=USED | usage))
    assert (result.end.usage.output, result.end.usage.reasoning) == numbers


@pytest.mark.parametrize(
    ('reported', 'cost'),
    [
        ({'cost': 0.25}, 0.25),
        ({'cost': 0}, 0.0),
        ({'cost': {'total_cost': 0.5}}, 0.5),
        ({'cost': 0.01, 'is_byok': True, 'cost_details': {'upstream_inference_cost': 0.2}}, 0.21),
        ({'cost': 'free'}, None),
        ({'cost': 1e308}, None),
        ({}, None),
    ],
)
async def test_the_cost_reported_by_a_provider_is_used(reported: dict[str, Any], cost: float | None) -> None:
    result = await read(say('x'), finish('stop', usage=USED | reported))
    assert result.end.cost == (None if cost is None else pytest.approx(cost))


async def test_all_iterations_of_a_message_count() -> None:
    usage = {
        'input_tokens': 10,
        'output_tokens': 5,
        'iterations': [
            {'type': 'compaction', 'input_tokens': 100, 'output_tokens': 20, 'cache_read_input_tokens': 7},
            {'type': 'message', 'input_tokens': 10, 'output_tokens': 5},
        ],
    }
    result = await read(
        SPEECHES[1].start,
        SPEECHES[1].say('x'),
        anthropic('message_delta', delta={'stop_reason': 'end_turn'}, usage=usage),
        SPEECHES[1].end,
        dialect='anthropic',
    )
    assert (result.end.usage.input, result.end.usage.output, result.end.usage.cached) == (117, 25, 7)


async def test_hourly_cache_writes_are_counted_separately() -> None:
    usage = {
        'input_tokens': 1,
        'output_tokens': 1,
        'cache_creation_input_tokens': 30,
        'cache_creation': {'ephemeral_5m_input_tokens': 10, 'ephemeral_1h_input_tokens': 20},
    }
    start = anthropic('message_start', message={'id': '1', 'model': 'm', 'usage': usage})
    result = await read(start, SPEECHES[1].say('x'), SPEECHES[1].stop, SPEECHES[1].end, dialect='anthropic')
    assert (result.end.usage.written, result.end.written_hour) == (30, 20)


@pytest.mark.parametrize(
    ('status', 'headers'),
    [(307, {'location': f'http://x/{"x" * 60_000}'}), (200, {'content-type': 'x' * 60_000})],
)
async def test_an_error_that_quotes_a_header_is_short(status: int, headers: dict[str, str]) -> None:
    result = await replay(b'<html>', status=status, headers=headers)
    assert len(str(result.failure)) < 2_100


FIELDS = st.sampled_from(
    [b'data', b'data:', b'data: ', b'event: ', b'id: 1', b'retry: 9', b': ping', b'x', b'']
)
LINES = st.tuples(FIELDS, st.sampled_from([b'', b'{}', b' a: b', 'ü—🙂'.encode(), b'\xff', b'\x0b\x85'])).map(
    b''.join
)
STREAMS = st.lists(st.tuples(LINES, st.sampled_from([b'\n', b'\r\n', b'\r'])).map(b''.join)).map(b''.join)


@given(STREAMS, st.integers(1, 7))
def test_events_are_those_of_the_standard_whatever_the_pieces(stream: bytes, size: int) -> None:
    parser = SseParser()
    events = [event for at in range(0, len(stream), size) for event in parser.feed(stream[at : at + size])]
    response = httpx.Response(200, headers={'content-type': 'text/event-stream'}, content=stream)
    expected = [(sent.event, sent.data) for sent in EventSource(response).iter_sse() if sent.data]
    assert events == expected
