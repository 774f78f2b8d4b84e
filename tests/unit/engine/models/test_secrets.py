"""Keys, in whatever form a server repeats them, never reach a journal."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from engine import Catalog, LocalConductor
from engine.models.endpoint import Endpoint
from engine.models.http.endpoint_settings import EndpointSettings
from engine.models.registry import ModelRegistry
from engine.models.secret_filter import SecretFilter
from tests.models.speech import openai
from tests.support.harness import HastyClock, Lone, complete_run

KEY = 'sk-live+a/b=1234567890-tail'
ECHOES = {
    'plain': KEY,
    'URL-encoded': quote(KEY, safe=''),
    'URL-encoded, in small letters': 'sk-live%2ba%2fb%3d1234567890-tail',
    'slash escaped': KEY.replace('/', r'\/'),
    'JSON of .NET': KEY.replace('+', r'\u002B'),
    'of a page': KEY.replace('+', '&#43;'),
    'hexadecimal': KEY.encode().hex(),
    'in capitals': KEY.encode().hex().upper(),
    'all of it escaped': ''.join(f'\\u{ord(char):04x}' for char in KEY),
    'all of it escaped, in JSON': ''.join(f'\\\\u{ord(char):04x}' for char in KEY),
    'all of it as of a page': ''.join(f'&#{ord(char)};' for char in KEY),
    'all of it as of a URL': ''.join(f'%{ord(char):02X}' for char in KEY),
    'base64, cut': base64.b64encode(KEY.encode()).decode()[:26],
    'hexadecimal, cut': KEY.encode().hex()[:40],
    'base64': base64.b64encode(KEY.encode()).decode(),
    'Basic': base64.b64encode(f'me:{KEY}'.encode()).decode(),
    'Basic of another name': base64.b64encode(f'some:{KEY}@x'.encode()).decode(),
    'cut at its end': KEY[:15],
    'cut at its beginning': KEY[-12:],
    'masked': f'{KEY[:6]}****{KEY[-4:]}',
    'dots': f'...{KEY[-4:]}',
    'brackets': f'{KEY[:6]}[...]{KEY[-4:]}',
    'crosses': f'{KEY[:6]}xxxxxx{KEY[-4:]}',
}


@pytest.mark.parametrize('form', ECHOES)
def test_a_key_is_hidden_in_every_form(form: str) -> None:
    hidden = SecretFilter([KEY]).redact_text(f'You sent "{ECHOES[form]}", it seems.')
    assert '[hidden]' in hidden and ECHOES[form] not in hidden
    assert KEY[-8:] not in hidden and KEY[:8] not in hidden
    assert hidden.startswith('You sent "') and hidden.endswith('it seems.')


@pytest.mark.parametrize('text', ['sk-live is a prefix', 'the tail', '... and tailored', '10 ** 5 tail', ''])
def test_other_texts_are_unchanged(text: str) -> None:
    assert SecretFilter([KEY, 'short', '']).redact_text(text) == text


def test_only_whole_values_are_hidden() -> None:
    secret_filter = SecretFilter((), ['application/json', 'abc'])
    assert secret_filter.redact_value({'application/json': ['abc', 'application/js', 1]}) == {
        '[hidden]': ['abc', 'application/js', 1]
    }


@pytest.mark.parametrize('word', ['Basic', 'basic'])
def test_the_password_of_a_basic_header_is_hidden_too(word: str) -> None:
    sent = base64.b64encode(b'ada:pass:word-of-ada').decode()
    secret_filter = SecretFilter((), [f'{word} {sent}', sent, 'Basic nonsense', 'Basic '])
    assert (
        secret_filter.redact_text(f'{sent}, and pass:word-of-ada of ada') == '[hidden], and [hidden] of ada'
    )


def chunk(**delta: Any) -> bytes:
    return openai(choices=[{'index': 0, 'delta': delta}])


@pytest.mark.parametrize('fails', [False, True])
async def test_echoed_keys_are_not_journaled(fails: bool) -> None:
    message = json.dumps(ECHOES)

    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers['authorization'] == f'Bearer {KEY}'
        headers = {'content-type': 'text/event-stream', 'x-request-id': KEY}
        if fails:
            return httpx.Response(400, headers=headers, json={'error': {'message': message, 'code': KEY}})
        call = {'index': 0, 'id': 'a', 'function': {'name': 'notes', 'arguments': message}}
        first = [item for item in json.loads(request.content)['messages'] if item['role'] == 'tool']
        parts = [chunk(content=message)] if first else [chunk(content=message[:9], tool_calls=[call])]
        parts.append(openai(choices=[{'index': 0, 'delta': {}, 'finish_reason': 'stop'}]))
        return httpx.Response(200, headers=headers, content=b''.join([*parts, b'data: [DONE]\n\n']))

    catalog = Catalog()
    catalog.add(Lone)
    catalog.registry = ModelRegistry(
        {},
        EndpointSettings(endpoints={'here': Endpoint(name='here', url='http://x.example', key=KEY)}),
        transport=lambda endpoint: httpx.MockTransport(answer),
    )
    async with LocalConductor(catalog=catalog, clock=HastyClock()) as conductor:
        run = await complete_run(conductor, 'lone', models={'': 'here/m'})
        journal = repr([*await conductor.transitions(run)])
    assert '[hidden]' in journal
    assert [form for form, echo in ECHOES.items() if echo in journal] == []
