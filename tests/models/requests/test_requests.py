"""Requests: messages, tools, choices, limits and the output format, in both dialects."""

from typing import Any

import pytest
from pydantic import BaseModel, Field

from engine.models.http.client import DIALECTS
from engine.models.http.dialects.anthropic import MAX_TOKENS
from engine.models.http.dialects.structured_output import ANSWER, AnswerUnwrapper, strict_schema
from engine.models.http.known_providers import KNOWN_PROVIDERS
from engine.models.protocol import (
    ArgumentPiece,
    CallStarted,
    Completed,
    ModelRequest,
    OpaquePiece,
    TextPiece,
    ToolSpec,
)
from engine.records.message import Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.models.reading import NOTES, endpoint, replay
from tests.models.speech import anthropic, openai

TALK = (
    Message.of('system', 'Be brief.'),
    Message.of('user', 'Go'),
    Message(
        role='assistant',
        parts=(
            Reasoning(text='Hm.'),
            Opaque(provider='here', data={'type': 'thinking', 'signature': 'sig'}),
            Opaque(provider='elsewhere', data={'type': 'thinking', 'signature': 'other'}),
            Text(text='I look.'),
            ToolCall(id='call-1-1', name='notes', arguments='{"a": 1}'),
            ToolCall(id='call-1-2', name='notes', arguments='{"a": '),
        ),
    ),
    Message(
        role='tool',
        parts=(
            ToolResult(id='call-1-1', name='notes', text='one'),
            ToolResult(id='call-1-2', name='notes', text='no JSON', ok=False),
        ),
    ),
    Message.of('user', 'And?'),
)


class Verdict(BaseModel):
    score: int = Field(ge=0, le=100)
    comments: list[str] = []
    kind: str = Field('plain', pattern='^[a-z]+$')


class Loose(BaseModel):
    anything: dict[str, int]


def request(*messages: Message, **more: Any) -> ModelRequest:
    return ModelRequest(model='m', messages=messages or (Message.of('user', 'Go'),), **more)


def to_openai(request: ModelRequest, **more: Any) -> dict[str, Any]:
    return DIALECTS['openai'].body('m', request, endpoint(**more))


def to_anthropic(request: ModelRequest, **more: Any) -> dict[str, Any]:
    return DIALECTS['anthropic'].body('m', request, endpoint('anthropic', **more))


def test_a_conversation_is_written_as_chat_completions() -> None:
    assert to_openai(request(*TALK))['messages'] == [
        {'role': 'system', 'content': 'Be brief.'},
        {'role': 'user', 'content': 'Go'},
        {
            'role': 'assistant',
            'content': 'I look.',
            'tool_calls': [
                {
                    'id': 'call-1-1',
                    'type': 'function',
                    'function': {'name': 'notes', 'arguments': '{"a": 1}'},
                },
                {
                    'id': 'call-1-2',
                    'type': 'function',
                    'function': {'name': 'notes', 'arguments': '{"arguments": "{\\"a\\": "}'},
                },
            ],
        },
        {'role': 'tool', 'tool_call_id': 'call-1-1', 'content': 'one'},
        {'role': 'tool', 'tool_call_id': 'call-1-2', 'content': 'Error: no JSON'},
        {'role': 'user', 'content': 'And?'},
    ]


def test_a_conversation_is_written_as_anthropic_messages() -> None:
    payload = to_anthropic(request(*TALK))
    assert payload['system'] == 'Be brief.'
    assert payload['messages'] == [
        {'role': 'user', 'content': [{'type': 'text', 'text': 'Go'}]},
        {
            'role': 'assistant',
            'content': [
                {'type': 'thinking', 'signature': 'sig', 'thinking': 'Hm.'},
                {'type': 'text', 'text': 'I look.'},
                {'type': 'tool_use', 'id': 'call-1-1', 'name': 'notes', 'input': {'a': 1}},
                {'type': 'tool_use', 'id': 'call-1-2', 'name': 'notes', 'input': {'arguments': '{"a": '}},
            ],
        },
        {
            'role': 'user',
            'content': [
                {'type': 'tool_result', 'tool_use_id': 'call-1-1', 'content': 'one'},
                {'type': 'tool_result', 'tool_use_id': 'call-1-2', 'content': 'no JSON', 'is_error': True},
                {'type': 'text', 'text': 'And?'},
            ],
        },
    ]


def test_options_are_sent_where_they_are_set() -> None:
    plain = to_openai(request())
    assert set(plain) == {'model', 'messages', 'stream', 'stream_options'}
    full = request(tools=(NOTES,), choice='required', most_tokens=9, temperature=0.0, seed=7, stop=('END',))
    payload = to_openai(
        full, limit_field='max_completion_tokens', usage_option=False, body={'top_k': 3, 'seed': 8}
    )
    assert 'stream_options' not in payload
    assert (payload['max_completion_tokens'], payload['temperature'], payload['stop']) == (9, 0.0, ['END'])
    assert (payload['tool_choice'], payload['top_k'], payload['seed']) == ('required', 3, 8)
    payload = to_anthropic(full)
    assert (payload['max_tokens'], payload['temperature'], payload['stop_sequences']) == (9, 0.0, ['END'])
    assert payload['tool_choice'] == {'type': 'any'}
    assert to_anthropic(request())['max_tokens'] == MAX_TOKENS
    assert to_anthropic(request(), most_tokens=77)['max_tokens'] == 77


@pytest.mark.parametrize(
    ('choice', 'openai_choice', 'anthropic_choice'),
    [
        ('auto', 'auto', {'type': 'auto'}),
        ('none', 'none', {'type': 'none'}),
        ('notes', {'type': 'function', 'function': {'name': 'notes'}}, {'type': 'tool', 'name': 'notes'}),
    ],
)
def test_tool_choice_is_translated(choice: str, openai_choice: Any, anthropic_choice: Any) -> None:
    model_request = request(tools=(NOTES,), choice=choice)
    assert to_openai(model_request)['tool_choice'] == openai_choice
    assert to_anthropic(model_request)['tool_choice'] == anthropic_choice


def test_short_ids_are_nine_letters_and_digits_and_the_same_each_time() -> None:
    messages = to_openai(request(*TALK), short_ids=True)['messages']
    ids = [call['id'] for call in messages[2]['tool_calls']]
    assert all(len(item) == 9 and item.isalnum() for item in ids) and len(set(ids)) == 2
    assert [messages[3]['tool_call_id'], messages[4]['tool_call_id']] == ids


def test_tools_are_strict_where_the_endpoint_supports_that() -> None:
    schema = {
        'type': 'object',
        'properties': {
            'path': {'type': 'string', 'minLength': 1, 'description': 'Which'},
            'most': {'type': 'integer', 'default': 5, 'description': 'How many'},
        },
        'required': ['path'],
        'additionalProperties': False,
    }
    own = ToolSpec(name='read', description='Read', schema=schema, nullable=True)
    remote = ToolSpec(name='other', description='Read', schema=schema)
    loose = ToolSpec(
        name='loose',
        description='Read',
        schema={'type': 'object', 'properties': {'data': {'type': 'object'}}},
        nullable=True,
    )
    sent = DIALECTS['openai'].body(
        'm', request(tools=(own, remote, loose)), endpoint('openai', strict_tools=True)
    )['tools']
    assert [item['function'].get('strict', False) for item in sent] == [True, False, False]
    assert sent[0]['function']['parameters'] == {
        'type': 'object',
        'properties': {
            'path': {'type': 'string', 'description': 'Which'},
            'most': {'anyOf': [{'type': 'integer'}, {'type': 'null'}], 'description': 'How many'},
        },
        'required': ['path', 'most'],
        'additionalProperties': False,
    }
    assert sent[1]['function']['parameters'] == schema
    plain = DIALECTS['openai'].body('m', request(tools=(own,)), endpoint('openai'))['tools']
    assert 'strict' not in plain[0]['function']


def test_a_schema_is_made_strict() -> None:
    schema = strict_schema(Verdict.model_json_schema())
    assert schema == {
        'type': 'object',
        'properties': {
            'score': {'type': 'integer'},
            'comments': {'type': 'array', 'items': {'type': 'string'}},
            'kind': {'type': 'string'},
        },
        'required': ['score', 'comments', 'kind'],
        'additionalProperties': False,
    }
    assert strict_schema(Loose.model_json_schema()) is None
    sent = to_openai(request(schema=Verdict.model_json_schema()))['response_format']['json_schema']
    assert (sent['schema'], sent['strict'], sent['name']) == (schema, True, ANSWER)
    assert not to_openai(request(schema=Loose.model_json_schema()))['response_format']['json_schema'][
        'strict'
    ]
    sent = to_anthropic(request(schema=Verdict.model_json_schema()))['output_config']['format']
    assert sent == {'type': 'json_schema', 'schema': schema}


class Bounded(BaseModel):
    score: int = Field(ge=1, le=10)
    tags: list[str] = Field(min_length=1)
    name: str = Field(min_length=2, pattern='^a')


@pytest.mark.parametrize(
    ('bounds', 'keywords'),
    [
        ('none', set()),
        ('numbers', {'minimum', 'maximum', 'minItems'}),
        ('all', {'minimum', 'maximum', 'minItems', 'minLength'}),
    ],
)
def test_bounds_are_sent_where_the_endpoint_enforces_them(bounds: str, keywords: set[str]) -> None:
    payload = to_openai(request(schema=Bounded.model_json_schema()), bounds=bounds)
    fields = payload['response_format']['json_schema']['schema']['properties'].values()
    assert {name for field in fields for name in field} - {'type', 'items'} == keywords


@pytest.mark.parametrize(
    ('model', 'method'),
    [
        ('claude-3-5-haiku-latest', 'tool'),
        ('claude-sonnet-4-20250514', 'tool'),
        ('claude-opus-4-20250514', 'tool'),
        ('claude-opus-4-1-20250805', 'schema'),
        ('claude-sonnet-4-5', 'schema'),
        ('claude-haiku-4-5-20251001', 'schema'),
        ('claude-opus-5', 'schema'),
    ],
)
def test_anthropic_uses_its_own_structured_answers_where_the_model_has_them(model: str, method: str) -> None:
    to = KNOWN_PROVIDERS['anthropic'].endpoint
    payload = DIALECTS['anthropic'].body(model, request(schema=Verdict.model_json_schema()), to)
    assert ('output_config' in payload) == (method == 'schema')
    assert (payload.get('tool_choice') == {'type': 'tool', 'name': ANSWER}) == (method == 'tool')


@pytest.mark.parametrize('tools', [(), (NOTES,)])
@pytest.mark.parametrize('kind', ['enabled', 'adaptive', 'disabled'])
def test_no_tool_is_forced_while_thinking(tools: Any, kind: str) -> None:
    payload = to_anthropic(
        request(schema=Verdict.model_json_schema(), tools=tools),
        structure='tool',
        body={'thinking': {'type': kind, 'budget_tokens': 2_000}},
    )
    assert ANSWER in [tool['name'] for tool in payload['tools']]
    assert (payload['tool_choice'] == {'type': 'auto'}) == (kind != 'disabled')


@pytest.mark.parametrize('choice', ['required', 'notes'])
def test_a_requested_tool_is_not_forced_while_thinking(choice: str) -> None:
    model_request = request(tools=(NOTES,), choice=choice)
    assert to_anthropic(model_request)['tool_choice']['type'] in ('any', 'tool')
    assert to_anthropic(model_request, body={'thinking': {'type': 'enabled'}})['tool_choice'] == {
        'type': 'auto'
    }


@pytest.mark.parametrize(
    ('structure', 'tools', 'method', 'choice'),
    [
        ('schema', (NOTES,), 'schema', 'auto'),
        ('schema alone', (), 'schema', None),
        ('schema alone', (NOTES,), 'tool', 'required'),
        ('tool', (NOTES,), 'tool', 'required'),
        ('tool', (), 'tool', {'type': 'function', 'function': {'name': ANSWER}}),
        ('text', (NOTES,), 'text', 'auto'),
    ],
)
def test_structured_answers_are_requested_in_each_mode(
    structure: str, tools: Any, method: str, choice: Any
) -> None:
    payload = to_openai(request(tools=tools, schema=Verdict.model_json_schema()), structure=structure)
    names = [item['function']['name'] for item in payload.get('tools', ())]
    assert ('response_format' in payload) == (method == 'schema')
    assert (ANSWER in names) == (method == 'tool')
    assert ('JSON schema' in str(payload['messages'][0]['content'])) == (method == 'text')
    assert payload.get('tool_choice') == choice


def test_an_answer_given_by_a_tool_is_plain_text() -> None:
    unwrapped = AnswerUnwrapper()
    events = [
        CallStarted(index=0, name=ANSWER),
        ArgumentPiece(index=0, text='{"a": 1}'),
        Completed(reason='tools'),
    ]
    assert [unwrapped.turn(event) for event in events] == [None, TextPiece(text='{"a": 1}'), Completed()]
    unwrapped = AnswerUnwrapper()
    others = [
        CallStarted(index=0, name='notes'),
        ArgumentPiece(index=0, text='{}'),
        Completed(reason='tools'),
    ]
    assert [unwrapped.turn(event) for event in others] == others


CALL = {'index': 0, 'id': 'a', 'function': {'name': 'notes', 'arguments': '{}'}}


@pytest.mark.parametrize(
    ('deltas', 'back'),
    [
        (
            [{'reasoning_content': 'H'}, {'reasoning_content': 'm'}, {'tool_calls': [CALL]}],
            {'reasoning_content': 'Hm'},
        ),
        (
            [
                {
                    'reasoning': 'H',
                    'reasoning_details': [{'type': 'reasoning.text', 'index': 0, 'text': 'H'}],
                },
                {
                    'reasoning': 'm',
                    'reasoning_details': [{'type': 'reasoning.text', 'index': 0, 'text': 'm'}],
                },
                {'reasoning_details': [{'type': 'reasoning.text', 'index': 0, 'signature': 's'}]},
                {
                    'reasoning_details': [{'type': 'reasoning.encrypted', 'index': 1, 'data': 'x'}],
                    'content': 'Y',
                },
            ],
            {
                'reasoning_details': [
                    {'type': 'reasoning.text', 'index': 0, 'text': 'Hm', 'signature': 's'},
                    {'type': 'reasoning.encrypted', 'index': 1, 'data': 'x'},
                ]
            },
        ),
        ([{'reasoning_content': 'Hm'}, {'content': 'Y'}], {}),
    ],
)
async def test_opaque_data_is_sent_back_to_chat_completions(deltas: list[Any], back: dict[str, Any]) -> None:
    body = b''.join(openai(choices=[{'index': 0, 'delta': delta}]) for delta in deltas)
    result = await replay(body + openai(choices=[{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]))
    sent = to_openai(request(result.message))['messages'][0]
    assert {name: value for name, value in sent.items() if name.startswith('reasoning')} == back
    other = DIALECTS['openai'].body('m', request(result.message), endpoint(url='http://x.example'))
    assert other['messages'][0] == sent


async def test_a_signature_of_a_call_goes_back_with_it() -> None:
    signed = {**CALL, 'extra_content': {'google': {'thought_signature': 's'}}}
    body = openai(choices=[{'index': 0, 'delta': {'tool_calls': [signed]}, 'finish_reason': 'tool_calls'}])
    result = await replay(body)
    assert any(isinstance(event, OpaquePiece) for event in result.events)
    call = to_openai(request(result.message))['messages'][0]['tool_calls'][0]
    assert call['extra_content'] == {'google': {'thought_signature': 's'}}


async def test_blocks_are_sent_back_unchanged() -> None:
    blocks: list[dict[str, Any]] = [
        {'type': 'thinking', 'thinking': 'Hm.', 'signature': 'one'},
        {'type': 'redacted_thinking', 'data': 'x'},
        {'type': 'text', 'text': 'I look.'},
        {'type': 'thinking', 'thinking': '', 'signature': 'two'},
        {'type': 'tool_use', 'id': 'call-1', 'name': 'notes', 'input': {'a': 1}},
    ]
    body = b''
    for index, block in enumerate(blocks):
        body += anthropic('content_block_start', index=index, content_block=block)
        body += anthropic('content_block_stop', index=index)
    body += anthropic('message_delta', delta={'stop_reason': 'tool_use'}) + anthropic('message_stop')
    result = await replay(body, 'anthropic')
    assert to_anthropic(request(result.message))['messages'][0]['content'] == blocks


@pytest.mark.parametrize(
    'arguments', ['[' * 400 + ']' * 400, '{"x": 99999999999999999999}', '{"x": "\\ud800"}']
)
async def test_arguments_that_orjson_refuses_are_sent(arguments: str) -> None:
    call = Message(role='assistant', parts=(ToolCall(id='call-1-1', name='notes', arguments=arguments),))
    result = Message(role='tool', parts=(ToolResult(id='call-1-1', name='notes', text='no'),))
    call_result = await replay(
        b'{"content": [{"type": "text", "text": "x"}]}', 'anthropic', request=request(call, result)
    )
    assert call_result.text == 'x'
