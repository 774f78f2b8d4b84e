"""Traces as their users have them: messages and counts that other tools keep elsewhere, and their exports."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from engine import Conductor, Status
from engine.errors import BundleError
from engine.records import RunInfo
from tests.unit.engine.history.traces.test_traces import (
    chat,
    import_recording,
    memory_conductor,
    parts,
    request_of,
    span,
)

__all__ = ['memory_conductor']  # a fixture
ASKED, ANSWERED = 'When is high water in Brest?', 'High water in Brest is at six.'
CALLED = [('assistant', 'call', 'tide'), ('tool', 'result', 'tide')]
TURN = [('user', 'text', ASKED), *CALLED, ('assistant', 'text', ANSWERED)]


async def import_text(conductor: Conductor, text: str) -> RunInfo:
    [imported] = await conductor.import_bundle(io.BytesIO(text.encode()))
    return await conductor.info(imported.id)


async def said(conductor: Conductor, info: RunInfo) -> list[tuple[str, str, str]]:
    [agent] = (await conductor.view(info.id)).agents.values()
    return parts(agent)


@pytest.mark.parametrize(
    ('name', 'tokens'),
    [
        ('openlit', (40, 14, 8)),
        ('langfuse', (40, 14, 8)),
        ('semantic_kernel', (40, 14, 0)),
        ('openinference', (20, 7, 4)),
    ],
)
async def test_messages_and_tokens_of_a_recording_are_held(
    memory_conductor: Conductor, name: str, tokens: tuple[int, int, int]
) -> None:
    info = await import_recording(memory_conductor, name)
    assert (info.title, (info.usage.input, info.usage.output, info.usage.cached)) == (ASKED, tokens)
    [agent] = (await memory_conductor.view(info.id)).agents.values()
    assert agent['instructions'] == 'You know the tides.' and agent['model'].startswith('gpt-4o-mini')
    heard = [(role, kind, text.replace('Tides-', '')) for role, kind, text in parts(agent)]
    assert heard == (TURN[:1] + TURN[3:] if name == 'openinference' else TURN)


def observe(id: str, kind: str, second: int, **more: Any) -> dict[str, Any]:
    times = {
        'startTime': f'2026-11-20T10:00:{second:02}.000Z',
        'endTime': f'2026-11-20T10:00:{second + 1:02}.5Z',
    }
    return {'id': id, 'traceId': 'f' * 32, 'type': kind, 'name': id, 'level': 'DEFAULT', **times, **more}


OBSERVATIONS = [
    observe('clerk', 'AGENT', 0, endTime='2026-11-20T10:00:09Z', input={'args': [ASKED], 'kwargs': {}}),
    observe(
        'first',
        'GENERATION',
        1,
        parentObservationId='clerk',
        model='m',
        input=[{'role': 'user', 'content': ASKED}],
        output={'role': 'assistant', 'tool_calls': [{'id': 'k', 'function': {'name': 'tide'}}]},
        usageDetails={'input': 16, 'input_cached_tokens': 4, 'output': 7, 'total': 27},
        costDetails={'total': 0.5},
    ),
    observe('tide', 'TOOL', 3, parentObservationId='clerk', output='no such place', level='ERROR'),
    observe('note', 'EVENT', 4, parentObservationId='clerk', endTime=None),
]


@pytest.mark.parametrize('form', ['a trace', 'a page', 'rows', 'lines'])
async def test_an_export_of_langfuse_is_read(memory_conductor: Conductor, form: str) -> None:
    trace = {'id': 'f' * 32, 'name': 'clerk', 'projectId': 'p'}
    documents: dict[str, Any] = {
        'a trace': {'trace': trace, 'observations': OBSERVATIONS},
        'a page': {'data': OBSERVATIONS, 'meta': {'cursor': None}},
        'rows': OBSERVATIONS,
    }
    lines = '\n'.join(map(json.dumps, OBSERVATIONS))
    info = await import_text(memory_conductor, json.dumps(documents[form]) if form in documents else lines)
    assert (info.pattern, info.title, info.status) == ('trace:clerk', ASKED, Status.DONE)
    assert (info.usage.input, info.usage.cached, info.usage.output, info.usage.dollars) == (20, 4, 7, 0.5)
    assert await said(memory_conductor, info) == TURN[:3]
    [result] = (await memory_conductor.view(info.id)).agents['clerk']['messages'][2]['parts']
    assert (result['text'], result['ok']) == ('no such place', False)


def kernel(content: str, name: str, key: str = 'gen_ai.event.content') -> dict[str, Any]:
    return {'name': name, 'attributes': [{'key': key, 'value': {'stringValue': content}}]}


TIDE = '[{"id": "k", "function": {"arguments": {"place": "Brest"}, "name": "tide"}, "type": "function"}]'
CALL = f'{{"role": "assistant", "content": null, "tool_calls": {TIDE}}}'
TOLD = '{"role": "tool", "content": "at six", "tool_call_id": "k"}'
EVENTS = [
    kernel(f'{{"role": "user", "content": "{ASKED}"}}', 'gen_ai.user.message'),
    kernel(CALL, 'gen_ai.assistant.message'),
    kernel(f'{{"index": 0, "message": {{"role": "assistant", "content": "{ANSWERED}"}}}}', 'gen_ai.choice'),
]
WHOLE = [
    kernel(json.dumps([{'role': 'User', 'content': ASKED}]), 'gen_ai.content.prompt', 'gen_ai.prompt'),
    kernel(ANSWERED, 'gen_ai.content.completion', 'gen_ai.completion'),
]


@pytest.mark.parametrize(('events', 'heard'), [(EVENTS, TURN), (WHOLE, TURN)])
async def test_messages_in_events_are_read(
    memory_conductor: Conductor, events: list[dict[str, Any]], heard: list[tuple[str, str, str]]
) -> None:
    """Semantic Kernel in .NET names a call `chat.completions`, and counts no tokens of a streamed one."""
    about = span('chat.completions m', '', (0, 1), **{'gen_ai.operation.name': 'chat.completions'})
    info = await import_text(memory_conductor, json.dumps(request_of({**about, 'events': events})))
    expected = [part for part in heard if part[1] == 'text' or (events is EVENTS and part[1] == 'call')]
    assert await said(memory_conductor, info) == expected


def printed(number: int, **more: Any) -> dict[str, Any]:
    context = {'trace_id': '0x' + 'a' * 32, 'span_id': f'0x{number:016}', 'trace_state': '[]'}
    times = {'start_time': f'2026-11-20T10:00:0{number}.5Z', 'end_time': f'2026-11-20T10:00:0{number + 2}.5Z'}
    return {'name': 'ask', 'context': context, 'parent_id': None, **times, **more}


async def test_spans_that_are_printed_or_exported_from_phoenix_are_read(memory_conductor: Conductor) -> None:
    call = {'gen_ai.operation.name': 'chat', 'gen_ai.usage.input_tokens': 3}
    failed = {'status_code': 'ERROR', 'description': 'no answer'}
    events = [{'name': 'gen_ai.user.message', 'attributes': {'content': ASKED}}]
    spans = [printed(1, attributes=call, status=failed), printed(3, attributes=call, events=events)]
    info = await import_text(memory_conductor, '\n'.join(json.dumps(item, indent=4) for item in spans))
    first, second = (await memory_conductor.transitions(info.id))[1:3]
    assert (first.event.data['error'], info.usage.input) == ('no answer', 6) and second.event.name == 'done'
    nested = {
        'input_messages': [{'message': {'role': 'user', 'content': ASKED}}],
        'token_count': {'prompt': 5},
    }
    other = printed(
        1, span_kind='LLM', status_code='OK', attributes={'llm': nested, 'output.value': ANSWERED}
    )
    other['context'] = {'trace_id': 'b' * 32, 'span_id': 'b' * 16}
    info = await import_text(memory_conductor, json.dumps({'data': [other], 'next_cursor': None}))
    assert await said(memory_conductor, info) == TURN[:1] + TURN[3:] and info.usage.input == 5


@pytest.mark.parametrize(
    ('document', 'problem'),
    [
        ({'data': [{'traceID': 'a', 'spans': [{'traceID': 'a'}], 'processes': {}}]}, "it is Jaeger's JSON"),
        ([{'traceId': 'a', 'id': 'b', 'localEndpoint': {}}], "it is Zipkin's JSON"),
        (
            {'id': 'a', 'run_type': 'llm', 'trace_id': 'b'},
            'it is a run of LangSmith; what is read is OTLP/JSON',
        ),
        ([{'id': 'a', 'name': 'x', 'bookmarked': False}], 'it is an export of Langfuse without observations'),
        (
            request_of(span('GET', '', (0, 1))),
            r'no spans of generative AI: .*; its spans \(1\) were recorded by http',
        ),
        (
            {'data': [printed(1) | {'start_time': 'noon'}]},
            r'spans\.0\.startTimeUnixNano: Input should be a valid',
        ),
    ],
)
async def test_a_trace_that_cannot_be_read_is_refused_by_what_it_is(
    memory_conductor: Conductor, document: Any, problem: str
) -> None:
    if isinstance(document, dict) and 'resourceSpans' in document:
        document['resourceSpans'][0]['scopeSpans'][0]['scope'] = {'name': 'http'}
    with pytest.raises(BundleError, match=problem):
        await import_text(memory_conductor, json.dumps(document))


@pytest.mark.parametrize('place', ['input.value', 'llm.input_messages.0.message'])
async def test_a_function_recorded_as_a_model_call_keeps_what_it_was_given(
    memory_conductor: Conductor, place: str
) -> None:
    about = {'openinference.span.kind': 'LLM', place: ASKED, 'output.value': ANSWERED}
    info = await import_text(memory_conductor, json.dumps(request_of(chat('ask', '', (0, 1), **about))))
    assert await said(memory_conductor, info) == TURN[:1] + TURN[3:]
