"""The Responses dialect: requests, stored or stateless, and what is carried over between turns."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from engine.models.http.client import DIALECTS, call
from engine.models.http.dialects.structured_output import ANSWER
from engine.models.protocol import ModelRequest
from engine.models.recording.exchange import number_ids
from engine.records.message import Message, Opaque, Text, ToolCall, ToolResult
from tests.models.reading import CASSETTES, NOTES, OPENING, endpoint, load_conversation, make_request, replay


def body(request: ModelRequest, model: str = 'gpt-5.2', **more: Any) -> dict[str, Any]:
    return DIALECTS['responses'].body(model, request, endpoint('responses', **more))


def test_a_request_is_translated_from_chat_completions() -> None:
    request = ModelRequest(
        model='m', messages=OPENING, tools=(NOTES,), choice='notes', most_tokens=50, effort='low',
        schema={'type': 'object', 'properties': {'x': {'type': 'string'}}},
    )  # fmt: skip
    payload = body(request, body={'reasoning': {'summary': 'auto'}})
    schema = payload['text']['format'].pop('schema')
    assert schema['required'] == ['x']
    assert payload == {
        'model': 'gpt-5.2',
        'input': [{'role': 'user', 'content': [{'type': 'input_text', 'text': 'Go'}]}],
        'instructions': 'Be brief.',
        'stream': True,
        'store': False,
        'include': ['reasoning.encrypted_content'],
        'tools': [
            {
                'type': 'function',
                'name': 'notes',
                'description': 'Keep notes',
                'parameters': {'type': 'object', 'properties': {}},
                'strict': False,
            }
        ],
        'tool_choice': {'type': 'function', 'name': 'notes'},
        'text': {'format': {'type': 'json_schema', 'name': ANSWER, 'strict': True}},
        'max_output_tokens': 50,
        'reasoning': {'effort': 'low', 'summary': 'auto'},
    }


def test_a_model_that_does_not_reason_is_not_asked_for_its_reasoning() -> None:
    assert 'include' not in body(make_request(), 'gpt-4.1-mini')


async def test_reasoning_is_carried_over_between_turns_without_ids() -> None:
    sent = body(ModelRequest(model='m', messages=await load_conversation('responses-calls.sse')))['input']
    assert [item.get('type', item.get('role')) for item in sent] == [
        'user', 'reasoning', 'function_call', 'function_call', 'function_call_output', 'function_call_output',
    ]  # fmt: skip
    assert sent[1]['encrypted_content'] == 'gAAA', 'the one of the finished item'
    assert 'id' not in sent[1] and [part['text'] for part in sent[1]['summary']] == [
        'I look.',
        'Then I answer.',
    ]
    assert [item['call_id'] for item in sent[2:]] == ['call-1', 'call-2', 'call-1', 'call-2']


async def test_reasoning_that_cannot_be_sent_back_is_left_out() -> None:
    bare = Opaque(provider='here', data={'item': {'type': 'reasoning', 'summary': []}})
    other = Opaque(provider='elsewhere', data={'item': {'type': 'reasoning', 'encrypted_content': 'x'}})
    message = Message(role='assistant', parts=(bare, other, Text(text='Hm.')))
    sent = body(ModelRequest(model='m', messages=(*OPENING, message)))['input']
    assert [item['type'] for item in sent[1:]] == ['message']


async def test_the_phase_of_a_message_goes_back() -> None:
    sent = body(ModelRequest(model='m', messages=await load_conversation('responses-text.sse')))['input']
    assert sent[-1] == {
        'type': 'message',
        'role': 'assistant',
        'content': [{'type': 'output_text', 'text': 'Grüß dich 🐝 !'}],
        'phase': 'final_answer',
    }


async def test_a_stored_response_is_continued_by_its_id() -> None:
    messages = await load_conversation('responses-calls.sse', store=True)
    payload = body(ModelRequest(model='m', messages=messages), store=True)
    assert (payload['store'], payload['previous_response_id'], payload['instructions']) == (
        True,
        'resp_1',
        'Be brief.',
    )
    assert [item['type'] for item in payload['input']] == ['function_call_output'] * 2
    assert 'include' not in payload
    other = (*messages, Message.of('assistant', 'By another model.'), Message.of('user', 'And?'))
    payload_body = body(ModelRequest(model='m', messages=other), store=True)
    assert 'previous_response_id' not in payload_body and len(payload_body['input']) == 7


async def test_a_conversation_is_resent_when_the_stored_response_is_gone() -> None:
    asked_for: list[dict[str, Any]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked_for.append(json.loads(request.content))
        if 'previous_response_id' in asked_for[-1]:
            error = {
                'message': "Previous response with id 'resp_1' not found.",
                'type': 'invalid_request_error',
            }
            return httpx.Response(400, json={'error': {**error, 'code': 'previous_response_not_found'}})
        text = (CASSETTES / 'responses-text.sse').read_bytes()
        return httpx.Response(200, headers={'content-type': 'text/event-stream'}, content=text)

    request = ModelRequest(model='m', messages=await load_conversation('responses-calls.sse', store=True))
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        events = [event async for event in call(http, endpoint('responses', store=True), 'm', request)]
    assert events and [len(item['input']) for item in asked_for] == [2, 5]


async def test_a_refusal_is_not_an_answer() -> None:
    item = {'type': 'message', 'content': [{'type': 'refusal', 'refusal': 'I cannot.'}]}
    body = json.dumps({'id': 'r', 'status': 'completed', 'output': [item]}).encode()
    result = await replay(body, 'responses', headers={'content-type': 'application/json'})
    assert (result.end.reason, result.text) == ('filter', 'I cannot.')


def event(name: str, **more: Any) -> bytes:
    return f'data: {json.dumps({"type": f"response.{name}", **more})}\n\n'.encode()


def begin_call(name: str, ident: str, **more: Any) -> bytes:
    item = {'type': 'function_call', 'id': ident, 'call_id': f'call-{ident}', 'name': name}
    return event('output_item.added', item=item, **more)


def pass_arguments(kind: str, text: str, **more: Any) -> bytes:
    return event(
        f'function_call_arguments.{kind}', **{'delta' if kind == 'delta' else 'arguments': text}, **more
    )


CALL = {'type': 'function_call', 'call_id': 'c', 'name': 'notes', 'arguments': '{"a": 1}'}
SAID = {'type': 'message', 'content': [{'type': 'output_text', 'text': 'hello'}]}
ODD: dict[str, tuple[bytes, str, list[tuple[str, str]]]] = {
    'output only at the end': (
        event('completed', response={'output': [SAID, CALL]}), 'hello', [('notes', '{"a": 1}')],
    ),
    'arguments only when they are done': (
        begin_call('notes', 'f', output_index=0)
        + pass_arguments('done', '{"a": 1}', output_index=0)
        + event('completed', response={}),
        '',
        [('notes', '{"a": 1}')],
    ),
    'ids in place of indexes': (
        begin_call('notes', 'f')
        + begin_call('write', 'g')
        + pass_arguments('delta', '{"a": ', item_id='f')
        + pass_arguments('delta', '{}', item_id='g')
        + pass_arguments('delta', '1}', item_id='f')
        + pass_arguments('done', '{"a": 1}', item_id='f')
        + event('completed', response={'output': [CALL]}),
        '',
        [('notes', '{"a": 1}'), ('write', '{}')],
    ),
}  # fmt: skip


@pytest.mark.parametrize('odd', ODD)
async def test_an_unusual_stream_is_understood(odd: str) -> None:
    stream, text, calls = ODD[odd]
    for first in (event('created', response={'id': 'r'}), b''):
        result = await replay(first + stream, 'responses')
        assert (result.text, result.calls) == (text, calls)
        assert result.end.reason == 'tools'


async def test_a_stream_that_ends_early_is_incomplete() -> None:
    text = (CASSETTES / 'responses-text.sse').read_bytes()
    result = await replay(text[: text.index(b'event: response.completed')], 'responses')
    assert result.failure.kind == 'truncated' and result.failure.retryable


def test_recordings_match_requests_regardless_of_call_ids() -> None:
    def one(step: int) -> Any:
        talk = (
            *OPENING,
            Message(role='assistant', parts=(ToolCall(id=f'call-{step}-1', name='notes', arguments='{}'),)),
            Message(role='tool', parts=(ToolResult(id=f'call-{step}-1', name='notes', text='ok'),)),
        )
        return number_ids(body(ModelRequest(model='m', messages=talk)))

    assert one(3) == one(8)
