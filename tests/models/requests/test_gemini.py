"""Google's own dialect: requests, what is carried over between turns, and how answers end."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine.configuration import load_configuration
from engine.models.http.client import DIALECTS, call, list_models
from engine.models.http.dialects.gemini import UNSIGNED
from engine.models.http.dialects.structured_output import ANSWER
from engine.models.http.endpoint_client import EndpointClient
from engine.models.http.known_providers import KNOWN_PROVIDERS
from engine.models.protocol import ModelRequest
from engine.models.recording.exchange import number_ids
from engine.records import Usage
from engine.records.message import Image, Message, Opaque, Reasoning, Text, ToolCall, ToolResult
from tests.models.reading import NOTES, OPENING, CallResult, endpoint, load_conversation, make_request, replay
from tests.models.speech import GeminiSpeech, openai

SCHEMA = {'type': 'object', 'properties': {'x': {'type': 'integer', 'minimum': 1, 'title': 'X'}}}


def body(request: ModelRequest, model: str = 'gemini-3-pro-preview', **more: Any) -> dict[str, Any]:
    return DIALECTS['gemini'].body(model, request, endpoint('gemini', **more))


async def read(*pieces: bytes) -> CallResult:
    return await replay(b''.join(pieces), 'gemini')


def part(**content: Any) -> bytes:
    sent = {'candidates': [{'content': {'role': 'model', 'parts': [content]}}]}
    return f'data: {json.dumps(sent)}\n\n'.encode()


def finish(word: str, **more: Any) -> bytes:
    return openai(candidates=[{'finishReason': word, 'index': 0, **more}])


def test_a_request_is_translated_from_chat_completions() -> None:
    request = ModelRequest(
        model='m', messages=OPENING, tools=(NOTES,), choice='notes', most_tokens=50, temperature=0.5, seed=3,
        stop=('END',), schema=SCHEMA,
    )  # fmt: skip
    more = {'safetySettings': [], 'generationConfig': {'topK': 4}}
    payload = body(request, 'gemini-2.5-flash', bounds='numbers', body=more)
    assert payload == {
        'contents': [{'role': 'user', 'parts': [{'text': 'Go'}]}],
        'systemInstruction': {'parts': [{'text': 'Be brief.'}]},
        'tools': [
            {
                'functionDeclarations': [
                    {
                        'name': 'notes',
                        'description': 'Keep notes',
                        'parametersJsonSchema': {'type': 'object', 'properties': {}},
                    }
                ]
            }
        ],
        'toolConfig': {'functionCallingConfig': {'mode': 'ANY', 'allowedFunctionNames': ['notes']}},
        'generationConfig': {
            'maxOutputTokens': 50,
            'temperature': 0.5,
            'seed': 3,
            'stopSequences': ['END'],
            'responseMimeType': 'application/json',
            'responseJsonSchema': {
                'type': 'object',
                'properties': {'x': {'type': 'integer', 'minimum': 1}},
                'required': ['x'],
                'additionalProperties': False,
            },
            'topK': 4,
        },
        'safetySettings': [],
    }


@pytest.mark.parametrize(('choice', 'mode'), [('auto', 'AUTO'), ('none', 'NONE'), ('required', 'ANY')])
def test_tool_choice_is_translated(choice: str, mode: str) -> None:
    payload = body(make_request(tools=(NOTES,), choice=choice))
    assert payload['toolConfig'] == {'functionCallingConfig': {'mode': mode}}
    assert 'generationConfig' not in payload


def test_structured_answers_use_a_tool_when_there_are_tools() -> None:
    google = KNOWN_PROVIDERS['gemini'].endpoint
    payload = DIALECTS['gemini'].body('gemini-2.5-flash', make_request(tools=(NOTES,), schema=SCHEMA), google)
    assert [tool['name'] for tool in payload['tools'][0]['functionDeclarations']] == ['notes', ANSWER]
    assert payload['toolConfig'] == {'functionCallingConfig': {'mode': 'ANY'}}
    payload = DIALECTS['gemini'].body('gemini-2.5-flash', make_request(schema=SCHEMA), google)
    assert payload['generationConfig']['responseJsonSchema']['properties']['x']['minimum'] == 1


async def test_signatures_and_ids_go_back_with_their_calls() -> None:
    *_, contents, results = body(
        ModelRequest(model='m', messages=await load_conversation('gemini-calls.sse'))
    )['contents']
    assert contents == {
        'role': 'model',
        'parts': [
            {
                'functionCall': {'name': 'notes', 'args': {'text': 'Grüß dich'}, 'id': 'fc_1'},
                'thoughtSignature': 'EsQKsig',
            },
            {'functionCall': {'name': 'look', 'args': {}, 'id': 'fc_2'}},
        ],
    }
    assert results == {
        'role': 'user',
        'parts': [
            {'functionResponse': {'name': 'notes', 'id': 'fc_1', 'response': {'output': 'ok'}}},
            {'functionResponse': {'name': 'look', 'id': 'fc_2', 'response': {'output': 'ok'}}},
        ],
    }


async def test_a_signature_in_an_empty_part_goes_back_in_one() -> None:
    content = body(ModelRequest(model='m', messages=await load_conversation('gemini-text.sse')))['contents'][
        -1
    ]
    assert content['parts'] == [{'text': 'Grüß dich 🐝 !'}, {'text': '', 'thoughtSignature': 'EjQKMgEM'}]


async def test_signatures_of_text_and_of_thoughts_go_back_with_them() -> None:
    result = await read(
        part(text='Hm.', thought=True, thoughtSignature='a'),
        part(text='Yes'),
        part(text='!', thoughtSignature='b'),
        part(text=' More.'),
        part(executableCode={'language': 'PYTHON', 'code': '1'}),
        finish('STOP'),
    )
    content = body(ModelRequest(model='m', messages=(*OPENING, result.message)))['contents'][-1]
    assert content['parts'] == [
        {'text': 'Hm.', 'thought': True, 'thoughtSignature': 'a'},
        {'text': 'Yes!', 'thoughtSignature': 'b'},
        {'text': ' More.'},
        {'executableCode': {'language': 'PYTHON', 'code': '1'}},
    ]
    elsewhere = body(ModelRequest(model='m', messages=(*OPENING, result.message)), 'gemini-3-pro-preview')
    assert elsewhere['contents'][-1] == content


def test_replies_of_other_models_are_sent_without_their_signatures() -> None:
    parts = (
        Reasoning(text='Hm.'),
        Opaque(provider='elsewhere', data={'of': 'thought', 'signature': 'x'}),
        Opaque(provider='here', data={'call': 0, 'extra_content': {}}),
        ToolCall(id='one', name='notes', arguments='{'),
        ToolCall(id='two', name='notes', arguments='{}'),
        Opaque(provider='here', data={'of': 'text', 'signature': 'y'}),
        Opaque(provider='here', data={'of': 'call', 'signature': 'z'}),
    )
    request = ModelRequest(model='m', messages=(*OPENING, Message(role='assistant', parts=parts)))
    first = {'functionCall': {'name': 'notes', 'args': {'arguments': '{'}}}
    second = {'functionCall': {'name': 'notes', 'args': {}}}
    assert body(request)['contents'][-1]['parts'] == [first | {'thoughtSignature': UNSIGNED}, second]
    assert body(request, 'gemini-2.5-pro')['contents'][-1]['parts'] == [first, second]


def test_results_are_a_separate_turn_with_failures_and_images() -> None:
    results = (
        ToolResult(id='1', name='look', text='a picture'),
        ToolResult(id='2', name='notes', text='no disk', ok=False),
        Image(media_type='image/png', digest='d', call='1'),
        Image(media_type='image/gif', digest='g', call='1'),
    )
    talk = (
        *OPENING,
        Message(role='tool', parts=results),
        Message.of('user', 'Well?'),
        Message.of('user', 'So?'),
    )
    data = base64.b64encode(b'png').decode()
    request = ModelRequest(model='m', messages=talk, images={'d': data, 'g': data})
    image = {'inlineData': {'mimeType': 'image/png', 'data': data}}
    look = {'name': 'look', 'response': {'output': 'a picture'}}
    failed = {'functionResponse': {'name': 'notes', 'response': {'error': 'no disk'}}}
    _, turn, more = body(request)['contents']
    assert turn == {'role': 'user', 'parts': [{'functionResponse': look | {'parts': [image]}}, failed]}
    assert more == {'role': 'user', 'parts': [{'text': 'Well?'}, {'text': 'So?'}]}
    older = body(request, 'gemini-2.5-flash')['contents'][1]
    assert older['parts'] == [{'functionResponse': look}, failed, image]
    assert [set(turn) for turn in body(request, 'gemma-2')['contents'][1]['parts']] == [
        {'functionResponse'}
    ] * 2


@pytest.mark.parametrize(
    ('word', 'reason'),
    [
        ('MAX_TOKENS', 'length'),
        ('SAFETY', 'filter'),
        ('RECITATION', 'filter'),
        ('IMAGE_PROHIBITED_CONTENT', 'filter'),
        ('MODEL_ARMOR', 'filter'),
        ('STOP', 'stop'),
    ],
)
async def test_how_an_answer_ends(word: str, reason: str) -> None:
    end = (await read(part(text='x'), finish(word))).end
    assert (end.reason, end.finish) == (reason, word)


@pytest.mark.parametrize('word', ['MALFORMED_FUNCTION_CALL', 'UNEXPECTED_TOOL_CALL', 'OTHER', 'NO_IMAGE'])
async def test_a_failed_finish_is_reported_with_its_message(word: str) -> None:
    result = await read(part(text='half'), finish(word, finishMessage='Malformed: print()'))
    assert (result.failure.kind, result.failure.retryable, result.failure.code) == ('server', True, word)
    assert str(result.failure) == f'here: it broke off: {word}: Malformed: print()'


async def test_a_blocked_prompt_is_reported_and_not_retried() -> None:
    blocked = {'blockReason': 'OTHER', 'blockReasonMessage': 'Not in this country.'}
    result = await read(openai(promptFeedback=blocked, usageMetadata={'promptTokenCount': 3}))
    assert (result.end.reason, result.end.usage.input, result.text) == ('filter', 3, 'Not in this country.')


async def test_an_unspecified_finish_is_ignored() -> None:
    result = await read(part(text='half'), finish('FINISH_REASON_UNSPECIFIED'))
    assert result.failure.kind == 'truncated'


async def test_a_finish_in_every_event_ends_nothing() -> None:
    def chunk(text: str) -> bytes:
        content = {'content': {'parts': [{'text': text}]}}
        return openai(candidates=[content | {'finishReason': 'STOP'}])

    assert (await read(chunk('a'), chunk('b'), chunk('c'))).text == 'abc'


@pytest.mark.parametrize(
    ('used', 'usage'),
    [
        (
            {'promptTokenCount': 9, 'toolUsePromptTokenCount': 2, 'candidatesTokenCount': 3},
            Usage(input=11, output=3, calls=1),
        ),
        (
            {'promptTokenCount': '9', 'cachedContentTokenCount': 4.0, 'thoughtsTokenCount': 5},
            Usage(input=9, output=5, calls=1, cached=4, reasoning=5),
        ),
        ({'promptTokenCount': 10**30, 'candidatesTokenCount': -1, 'thoughtsTokenCount': []}, Usage(calls=1)),
    ],
)
async def test_usage_is_read(used: dict[str, Any], usage: Usage) -> None:
    assert (await read(part(text='x'), openai(usageMetadata=used), finish('STOP'))).end.usage == usage


@pytest.mark.parametrize('arguments', [None, {}, [1], 'text', {'a': '\ud800'}, 5])
async def test_arguments_are_converted_to_text(arguments: Any) -> None:
    result = await read(part(functionCall={'name': 'f', 'args': arguments}), finish('STOP'))
    assert result.end.reason == 'tools'
    assert [name for name, text in result.calls if text.encode()] == ['f']


async def test_a_list_of_events_is_read_like_a_stream() -> None:
    events = [
        json.loads(line[6:]) for line in (GeminiSpeech.start, GeminiSpeech.say('half'), GeminiSpeech.error)
    ]
    result = await replay(json.dumps(events).encode(), 'gemini', headers={'content-type': 'application/json'})
    assert (result.failure.kind, str(result.failure)) == ('overloaded', 'here: Overloaded, sorry')


async def test_a_call_goes_to_the_model_with_the_key_in_a_header() -> None:
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(200, content=GeminiSpeech.say('x') + GeminiSpeech.stop)

    to = endpoint('gemini', 'http://a.example/v1beta/', key='k-1', query={'project': 'p'})
    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        for name in ('gemini-2.5-flash', 'tunedModels/my one'):
            assert [event async for event in call(http, to, name, make_request())]
    assert [str(request.url) for request in requests] == [
        'http://a.example/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse&project=p',
        'http://a.example/v1beta/tunedModels/my%20one:streamGenerateContent?alt=sse&project=p',
    ]
    assert requests[0].headers['x-goog-api-key'] == 'k-1' and 'authorization' not in requests[0].headers


async def test_models_that_generate_text_are_listed() -> None:
    models = [
        {'name': 'models/gemini-2.5-flash', 'supportedGenerationMethods': ['generateContent', 'countTokens']},
        {'name': 'models/embedding-001', 'supportedGenerationMethods': ['embedContent']},
        {'name': 'tunedModels/mine'},
        None,
    ]

    def answer(request: httpx.Request) -> httpx.Response:
        assert str(request.url) == 'http://provider.example/v1/models?pageSize=1000'
        return httpx.Response(200, json={'models': models, 'nextPageToken': ''})

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
        assert await list_models(http, endpoint('gemini'), 5) == ('gemini-2.5-flash', 'tunedModels/mine')


def test_its_prices_are_known() -> None:
    model = EndpointClient(KNOWN_PROVIDERS['gemini'].endpoint).model('gemini-2.5-flash')
    assert model.price(Usage(input=1_000, output=1_000)) == pytest.approx(0.0028)


def test_googles_openai_compatible_address_uses_that_dialect(tmp_path: Path) -> None:
    file = tmp_path / 'endpoints.toml'
    file.write_text('[endpoints.gemini]\nurl = "https://generativelanguage.googleapis.com/v1beta/openai/"')
    environment = {'GEMINI_API_KEY': 'k'}
    endpoint_settings = load_configuration(file, environment).endpoints['gemini']
    assert (endpoint_settings.dialect, endpoint_settings.reasoning) == ('openai', 'google')
    assert load_configuration(None, environment).endpoints['gemini'].dialect == 'gemini'


def test_recordings_match_requests_regardless_of_ids() -> None:
    def one(ident: str, argument: str) -> Any:
        opaque = Opaque(provider='here', data={'of': 'call', 'id': ident})
        parts = (ToolCall(id=ident, name='notes', arguments=json.dumps({'id': argument})), opaque)
        result = ToolResult(id=ident, name='notes', text='ok')
        talk = (Message(role='assistant', parts=parts), Message(role='tool', parts=(result,)))
        return number_ids(body(ModelRequest(model='m', messages=(*OPENING, *talk))))

    assert one('a', 'x') == one('b', 'x')
    assert one('a', 'x') != one('a', 'y'), 'an argument that happens to be called id'


def test_an_empty_reply_is_left_out() -> None:
    talk = (*OPENING, Message(role='assistant', parts=(Text(text=''),)), Message.of('user', 'And?'))
    assert [turn['role'] for turn in body(ModelRequest(model='m', messages=talk))['contents']] == ['user']
