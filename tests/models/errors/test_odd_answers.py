"""Answers in odd places or forms: nothing of them is lost, and no call is made that was not asked for."""

import json
from typing import Any

import pytest

from tests.models.reading import CallResult, replay
from tests.models.speech import AnthropicSpeech, anthropic, openai


def delta(**fields: Any) -> bytes:
    return openai(choices=[{'index': 0, 'delta': fields}])


def finish(word: str) -> bytes:
    return openai(choices=[{'index': 0, 'delta': {}, 'finish_reason': word}])


def block(start: Any, **piece: Any) -> bytes:
    return (
        AnthropicSpeech.start.partition(b'event: content_block_start')[0]
        + anthropic('content_block_start', index=0, content_block=start)
        + anthropic('content_block_delta', index=0, delta=piece)
        + AnthropicSpeech.stop
        + AnthropicSpeech.end
    )


def response(*events: dict[str, Any], output: Any = ()) -> bytes:
    begun = openai(type='response.created', response={'id': '1'})
    sent = b''.join(openai(**{**event, 'type': f'response.{event["type"]}'}) for event in events)
    end = {'status': 'completed', 'output': list(output)}
    return begun + sent + openai(type='response.completed', response=end)


def parts(*items: dict[str, Any], finish: str = 'STOP') -> bytes:
    return b''.join(openai(candidates=[{'content': {'parts': [item]}}]) for item in items) + openai(
        candidates=[{'finishReason': finish}]
    )


async def read(body: bytes, dialect: str) -> CallResult:
    return await replay(body, dialect)


MESSAGE = {'type': 'message', 'id': 'm', 'content': [{'type': 'output_text', 'text': 'Yes'}]}
ADDED = {'type': 'output_item.added', 'output_index': 0, 'item': {'type': 'message', 'id': 'm'}}
TEXTS = {
    'done only': (
        'responses',
        response(ADDED, {'type': 'output_text.done', 'output_index': 0, 'text': 'Yes'}),
    ),
    'done in two parts': (
        'responses',
        response(
            *({'type': 'output_text.done', 'output_index': 0, 'content_index': at, 'text': text}
              for at, text in enumerate(('Y', 'es'))),
        ),
    ),
    'the last event only': ('responses', response(ADDED, output=[MESSAGE])),
    'pieces and done': (
        'responses',
        response(
            {'type': 'output_text.delta', 'output_index': 0, 'content_index': 0, 'delta': 'Yes'},
            {'type': 'output_text.done', 'output_index': 0, 'content_index': 0, 'text': 'Yes'},
            {'type': 'output_item.done', 'output_index': 0, 'item': MESSAGE},
            output=[MESSAGE],
        ),
    ),
    'no block': ('anthropic', block(None, type='text_delta', text='Yes')),
    'an empty block': ('anthropic', block({}, type='text_delta', text='Yes')),
    'a number': ('openai', delta(content=42) + finish('stop')),
    'an object': ('openai', delta(content={'approved': True}) + finish('stop')),
    'one part': ('openai', delta(content={'type': 'text', 'text': 'Yes'}) + finish('stop')),
    'plain parts': ('openai', delta(content=['Y', {'type': 'text', 'text': 'es'}]) + finish('stop')),
}  # fmt: skip


@pytest.mark.parametrize('case', TEXTS)
async def test_text_in_an_odd_place_is_the_answer(case: str) -> None:
    dialect, body = TEXTS[case]
    expected = {'a number': '42', 'an object': '{"approved": true}'}.get(case, 'Yes')
    assert (await read(body, dialect)).text == expected


def partial(path: str, more: bool = True, **value: Any) -> dict[str, Any]:
    return {'functionCall': {'partialArgs': [{'jsonPath': path, **value}], 'willContinue': more}}


FUNCTION = {'type': 'function_call', 'call_id': 'a', 'name': 'f'}
CALLS = {
    'one object': (
        'openai',
        delta(tool_calls={'id': 'a', 'function': {'name': 'f', 'arguments': '{"x": 1}'}}) + finish('stop'),
    ),
    'no name': ('openai', delta(tool_calls=[{'function': {'arguments': '{"x": 1}'}}]) + finish('tool_calls')),
    'arguments that are none': (
        'openai',
        delta(tool_calls=[{'function': {'name': 'f', 'arguments': 42}}]) + finish('tool_calls'),
    ),
    'an object in the item': (
        'responses',
        response(
            {'type': 'output_item.added', 'output_index': 0, 'item': FUNCTION},
            {'type': 'output_item.done', 'output_index': 0, 'item': FUNCTION | {'arguments': {'x': 1}}},
        ),
    ),
    'an object in the end': ('responses', response(output=[FUNCTION | {'arguments': {'x': 1}}])),
    'a name at the end': (
        'responses',
        response(
            {'type': 'output_item.added', 'output_index': 0, 'item': {'type': 'function_call'}},
            {'type': 'function_call_arguments.delta', 'output_index': 0, 'delta': '{"x": 1}'},
            {'type': 'output_item.done', 'output_index': 0, 'item': FUNCTION | {'arguments': '{"x": 1}'}},
        ),
    ),
    'no item': (
        'responses',
        response({'type': 'function_call_arguments.delta', 'output_index': 0, 'delta': '{"x": 1}'}),
    ),
    'no block': ('anthropic', block(None, type='input_json_delta', partial_json='{"x": 1}')),
    'streamed': (
        'gemini',
        parts(
            {'functionCall': {'name': 'f', 'willContinue': True}},
            partial('$.to.name', stringValue='A', willContinue=True),
            partial('$.to.name', stringValue='da'),
            partial("$['at'][0]", numberValue=5),
            partial('$.on', boolValue=True),
            {'functionCall': {}},
        ),
    ),
    'streamed to nowhere': (
        'gemini',
        parts({'functionCall': {'name': 'f', 'willContinue': True}}, partial('$.x[7]', False, numberValue=1)),
    ),
}
MADE = {
    'no name': ('unnamed', '{"x": 1}'),
    'no item': ('unnamed', '{"x": 1}'),
    'no block': ('unnamed', '{"x": 1}'),
    'arguments that are none': ('f', '42'),
    'streamed': ('f', '{"to": {"name": "Ada"}, "at": [5], "on": true}'),
    'streamed to nowhere': ('f', '[{"x": []}, {"path": ["x", 7], "value": 1}]'),
}


@pytest.mark.parametrize('case', CALLS)
async def test_a_call_in_an_odd_form_keeps_its_arguments(case: str) -> None:
    dialect, body = CALLS[case]
    result = await read(body, dialect)
    assert (result.calls, result.end.reason) == ([MADE.get(case, ('f', '{"x": 1}'))], 'tools')


@pytest.mark.parametrize(
    ('dialect', 'body'),
    [
        ('openai', delta(content='I will look it up.') + finish('tool_calls')),
        ('openai', delta(content='I will look it up.') + finish('function_call')),
        ('anthropic', AnthropicSpeech.start + anthropic('message_delta', delta={'stop_reason': 'tool_use'})),
        ('gemini', parts({'functionCall': {'name': 'f', 'willContinue': True}})),
    ],
)
async def test_a_call_that_is_announced_but_missing_is_an_error(dialect: str, body: bytes) -> None:
    failure = (await read(body + AnthropicSpeech.end * (dialect == 'anthropic'), dialect)).failure
    assert failure.retryable and str(failure).startswith('here: ')


async def test_an_empty_shell_of_a_call_is_ignored() -> None:
    result = await read(
        delta(tool_calls=[{'id': 'a', 'function': {'arguments': ''}}], content='all') + finish('stop'),
        'openai',
    )
    assert (result.text, result.calls, result.end.reason) == ('all', [], 'stop')


@pytest.mark.parametrize('dialect', ['openai', 'responses', 'anthropic', 'gemini'])
@pytest.mark.parametrize('size', [0, 1, 4])
async def test_an_error_line_is_read(dialect: str, size: int) -> None:
    first = {
        'openai': delta(content='half'),
        'responses': response().partition(b'\n\n')[0] + b'\n\n',
        'anthropic': AnthropicSpeech.start,
        'gemini': b': hello\n\n',
    }
    error = json.dumps({'code': 500, 'message': 'out of memory', 'type': 'server_error'}).encode()
    for body in (first[dialect], b''):
        failure = (await replay(body + b'error: ' + error + b'\n\n', dialect, size=size)).failure
        assert str(failure) == 'here: out of memory (HTTP 500)'


async def test_an_error_line_inside_text_is_text() -> None:
    body = delta(content='x\nerror: {}') + b'data: {"choices": [],\ndata: "error: ": 1}\n\n' + finish('stop')
    assert (await replay(body, size=3)).text == 'x\nerror: {}'
