"""Parallel tool calls in both dialects, whatever their indexes and ids, in pieces of any size."""

from itertools import product
from typing import Any

import pytest

from engine.models.protocol import CallStarted
from tests.models.reading import replay
from tests.models.speech import OpenAISpeech, anthropic, openai

ASKED = [('notes', '{"text": "Grüß dich"}'), ('notes', '{"text": "b"}'), ('look', '')]
INDEXES = {'by the book': [0, 1, 2], 'zero': [0, 0, 0], 'missing': [None] * 3, 'from seven on': [7, 8, 9]}


def fragments(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


def chat(indexes: list[Any], ids: list[str]) -> bytes:
    def piece(index: Any, **call: Any) -> bytes:
        fragment = call if index is None else {'index': index, **call}
        return openai(choices=[{'index': 0, 'delta': {'tool_calls': [fragment]}}])

    body = b''
    for (name, text), index, ident in zip(ASKED, indexes, ids, strict=True):
        identity = {'id': ident} if ident else {}
        body += piece(index, **identity, type='function', function={'name': name, 'arguments': ''})
        body += b''.join(piece(index, function={'arguments': part}) for part in fragments(text))
    return body + openai(choices=[{'index': 0, 'delta': {}, 'finish_reason': 'tool_calls'}])


def messages(indexes: list[Any], ids: list[str]) -> bytes:
    body = b''
    for (name, text), index, ident in zip(ASKED, indexes, ids, strict=True):
        place = {} if index is None else {'index': index}
        block = {'type': 'tool_use', 'id': ident, 'name': name, 'input': {}}
        body += anthropic('content_block_start', **place, content_block=block)
        for part in fragments(text):
            delta = {'type': 'input_json_delta', 'partial_json': part}
            body += anthropic('content_block_delta', **place, delta=delta)
        body += anthropic('content_block_stop', **place)
    return body + anthropic('message_delta', delta={'stop_reason': 'tool_use'}) + anthropic('message_stop')


@pytest.mark.parametrize('indexes', INDEXES.values(), ids=INDEXES)
@pytest.mark.parametrize('dialect', ['openai', 'anthropic'])
async def test_parallel_calls_are_kept_apart(dialect: str, indexes: list[Any]) -> None:
    start = OpenAISpeech.start if dialect == 'openai' else anthropic('message_start', message={'id': '1'})
    for ids, size in product((['a', 'b', 'c'], ['0', '0', '0'], ['', '', '']), (1, 1_000)):
        body = chat(indexes, ids) if dialect == 'openai' else messages(indexes, ids)
        result = await replay(start + body, dialect, size=size)
        assert result.calls == [(name, text or '{}') for name, text in ASKED], (ids, size)
        assert result.end.reason == 'tools', (ids, size)
        begun = [event.index for event in result.events if isinstance(event, CallStarted)]
        assert begun == [0, 1, 2], f'our own numbers, not those of {ids}'
        assert len({call.id for call in result.message.calls}) == 3, f'our own ids, not {ids}'
