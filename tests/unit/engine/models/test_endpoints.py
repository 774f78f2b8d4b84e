"""Configured endpoints: the file, the environment, keys, errors, and their models."""

from __future__ import annotations

import functools
import json
import re
import ssl
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from engine import LocalConductor
from engine.configuration import Configuration, load_configuration
from engine.configuration.catalog import Catalog
from engine.configuration.editing import write_section
from engine.models.endpoint import Endpoint
from engine.models.registry import ModelRegistry
from tests import tree
from tests.models.speech import OpenAISpeech
from tests.support.harness import FakeModel, Lone, catalog

KEY = 'k-very-secret-1234'
FILE = """
[endpoints.openai]
key = "keyring:hemicycle/openai"
models = ["gpt-5", "gpt-5-mini"]

[endpoints.work]
provider = "ollama"
url = "http://gpu.example:11434/v1"
at_once = 3
requests_per_minute = 60
tokens_per_minute = 90_000

[endpoints.azure]
url = "https://me.example/openai/v1"
key = "env:WORK_KEY"
key_header = "api-key"
query = {api-version = "preview"}
headers = {x-team = "env:TEAM"}
body = {reasoning_effort = "low"}
structure = "schema"

[endpoints.groq]
off = true

[prices."work/qwen3"]
input = 0.5
output = 1.5
"""


def read(tmp_path: Path, text: str, environment: dict[str, str] | None = None, **more: Any) -> Configuration:
    path = tmp_path / 'endpoints.toml'
    path.write_text(text, 'utf-8')
    return load_configuration(path, environment or {}, **{'keyring': lambda service, user: None, **more})


def test_without_a_file_or_key_there_is_no_endpoint(tmp_path: Path) -> None:
    assert load_configuration(tmp_path / 'none.toml', {}).endpoints == {}
    assert load_configuration(None, {}).endpoints == {}


def test_a_file_saved_by_an_editor_of_windows_is_read_and_changed(tmp_path: Path) -> None:
    file = tmp_path / 'endpoints.toml'
    file.write_bytes(b'\xef\xbb\xbf' + FILE.replace('\n', '\r\n').encode())
    assert 'work' in load_configuration(file, {}).endpoints
    write_section(file, 'endpoints', 'house', {'url': 'https://house.example/v1'})
    assert {'work', 'house'} <= load_configuration(file, {}).endpoints.keys()


def test_an_address_in_the_environment_may_end_with_a_line(tmp_path: Path) -> None:
    variables = {'HEMICYCLE_WORK_URL': 'http://other.example/v1\r\n', 'HEMICYCLE_AZURE_URL': ' '}
    settings = read(tmp_path, FILE, variables | {'WORK_KEY': KEY, 'TEAM': 'blue'})
    assert settings.endpoints['work'].url == 'http://other.example/v1'
    assert settings.endpoints['azure'].url == 'https://me.example/openai/v1'


def test_a_key_in_the_environment_is_enough() -> None:
    settings = load_configuration(
        None, {'ANTHROPIC_API_KEY': f' {KEY}\n', 'HEMICYCLE_ANTHROPIC_URL': 'http://proxy/v1'}
    )
    endpoint = settings.endpoints['anthropic']
    assert (endpoint.dialect, endpoint.key, endpoint.url) == ('anthropic', KEY, 'http://proxy/v1')
    assert list(settings.endpoints) == ['anthropic']


def test_the_file_configures_endpoints_in_full(tmp_path: Path) -> None:
    environment = {'WORK_KEY': KEY, 'TEAM': 'secret-team', 'GROQ_API_KEY': KEY}
    settings = read(tmp_path, FILE, environment, keyring=lambda service, user: f'{service}-{user}-key')
    assert set(settings.endpoints) == {'openai', 'work', 'azure'}
    assert settings.endpoints['openai'].key == 'hemicycle-openai-key'
    assert settings.endpoints['openai'].models == ('gpt-5', 'gpt-5-mini')
    assert settings.endpoints['openai'].limit_field == 'max_completion_tokens'
    work = settings.endpoints['work']
    assert (work.name, work.url, work.at_once, work.structure) == (
        'work', 'http://gpu.example:11434/v1', 3, 'schema alone',
    )  # fmt: skip
    assert (work.requests_per_minute, work.tokens_per_minute) == (60, 90_000)
    azure = settings.endpoints['azure']
    assert (azure.key, azure.key_header, azure.headers) == (KEY, 'api-key', {'x-team': 'secret-team'})
    assert (azure.query, azure.body) == ({'api-version': 'preview'}, {'reasoning_effort': 'low'})
    assert settings.prices.own['work/qwen3'].output == 1.5


def test_an_endpoint_without_its_key_is_missing(tmp_path: Path) -> None:
    settings = read(tmp_path, FILE)
    assert set(settings.endpoints) == {'work'}
    assert settings.missing == {
        'openai': "the keyring has no password of 'openai' for 'hemicycle'",
        'azure': 'the environment variable TEAM is not set',
    }


def test_a_faulty_file_is_a_fault_of_the_catalog(tmp_path: Path) -> None:
    (tmp_path / 'endpoints.toml').write_text('[x', 'utf-8')
    own_catalog = Catalog.load(endpoints=tmp_path / 'endpoints.toml')
    assert [fault.path for fault in own_catalog.faults] == [str(tmp_path / 'endpoints.toml')]
    assert 'scripted' in own_catalog.registry


speech = OpenAISpeech()
ENDPOINT = Endpoint(name='here', url='http://here.example/v1', key=KEY)


def make_registry(answer: Any, *endpoints: Endpoint, missing: dict[str, str] | None = None) -> ModelRegistry:
    settings = Configuration(endpoints={item.name: item for item in endpoints}, missing=missing or {})
    return ModelRegistry(
        {'scripted': FakeModel()}, settings, transport=lambda endpoint: httpx.MockTransport(answer)
    )


def list_models(request: httpx.Request) -> httpx.Response:
    return httpx.Response(200, json={'data': [{'id': 'b'}, {'id': 'a'}, {}]})


async def test_models_are_found_by_endpoint_and_name() -> None:
    registry = make_registry(list_models, ENDPOINT)
    assert list(registry) == ['scripted']
    assert (await registry.test('here')).models == ('a', 'b')
    assert list(registry) == ['scripted', 'here/a', 'here/b'] and len(registry) == 3
    assert registry['here/org/unlisted'].name == 'here/org/unlisted'  # type: ignore[attr-defined]
    assert not registry['here/a'].simulated
    assert 'here/x' in registry and 'ollama/qwen3' in registry
    assert 'there/x' not in registry and 'here/' not in registry and 'other' not in registry
    await registry.close()


@pytest.mark.parametrize(
    ('response', 'says'),
    [
        (
            httpx.Response(401, json={'error': {'message': f'wrong key {KEY}'}}),
            r'wrong key \[hidden\] \(HTTP 401\)',
        ),
        (httpx.Response(404, text='<h1>nothing here</h1>'), r'nothing here \(HTTP 404\)'),
        (httpx.Response(200, text='<h1>hello</h1>'), 'cannot be read'),
        (httpx.Response(200, json={'models': []}), 'cannot be read'),
        (httpx.ConnectError('refused'), r'here\.example cannot be reached: refused'),
    ],
)
async def test_a_test_says_what_is_wrong(response: Any, says: str) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if isinstance(response, Exception):
            raise response
        return httpx.Response(response.status_code, content=response.content)

    registry = make_registry(answer, ENDPOINT, missing={'there': 'the environment variable X is not set'})
    first, second = await registry.health()
    assert re.search(says, first.problem)
    assert KEY not in first.problem and first.models == ()
    assert (second.endpoint, second.problem) == ('there', 'the environment variable X is not set')
    assert (await registry.test('nowhere')).problem == 'there is no such endpoint'
    await registry.close()


async def test_servers_on_this_machine_are_found() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.port != 11434:
            raise httpx.ConnectError('refused')
        return list_models(request)

    registry = make_registry(answer)
    await registry.discover()
    assert [endpoint.name for endpoint in registry.endpoints] == ['ollama']
    assert list(registry) == ['scripted', 'ollama/a', 'ollama/b']
    await registry.close()


async def test_loading_ca_certificates_does_not_block_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    readers: list[threading.Thread] = []

    @functools.lru_cache
    def read_certificates(file: str, folder: str) -> ssl.SSLContext:
        readers.append(threading.current_thread())
        return httpx.create_ssl_context()

    monkeypatch.setattr('engine.models.http.tls._shared_context', read_certificates)
    registry = make_registry(list_models)
    await registry.discover()
    await registry.close()
    assert len(readers) == 1 and readers[0] is not threading.main_thread()


def test_endpoint_infos_hold_no_secret(tmp_path: Path) -> None:
    text = FILE + '[endpoints.proxy]\nurl = "http://me:hidden-word@localhost:99/v1"\n'
    environment = {'TEAM': 'secret-team', 'MISTRAL_API_KEY': KEY, 'HEMICYCLE_MISTRAL_URL': 'http://eu/v1'}
    registry = ModelRegistry({}, read(tmp_path, text, environment, keyring=lambda service, user: KEY))
    by_endpoint = {offered.endpoint: offered for offered in registry.endpoint_infos()}
    assert {name: (offered.found, offered.key) for name, offered in by_endpoint.items()} == {
        'openai': ('file', 'keyring:hemicycle/openai'),
        'work': ('file', ''),
        'proxy': ('file', ''),
        'mistral': ('environment', 'env:MISTRAL_API_KEY'),
        'azure': ('file', 'env:WORK_KEY'),
    }
    assert by_endpoint['azure'].problem == 'the environment variable WORK_KEY is not set'
    assert (by_endpoint['azure'].url, by_endpoint['mistral'].url) == (
        'https://me.example/openai/v1',
        'http://eu/v1',
    )
    assert (by_endpoint['proxy'].url, by_endpoint['proxy'].is_local, by_endpoint['work'].is_local) == (
        'http://localhost:99/v1',
        True,
        False,
    )
    assert by_endpoint['openai'].models == ('gpt-5', 'gpt-5-mini')
    assert not any(secret in repr(by_endpoint) for secret in (KEY, 'secret-team', 'hidden-word'))
    assert (
        registry.unconfigured()['anthropic'] == 'ANTHROPIC_API_KEY'
        and 'mistral' not in registry.unconfigured()
    )


async def test_a_server_used_before_discovery_is_still_found() -> None:
    registry = make_registry(list_models)
    assert registry['ollama/a'].name == 'ollama/a' and registry.endpoint_infos() == []
    await registry.discover()
    assert 'ollama' in [offered.endpoint for offered in registry.endpoint_infos()]
    assert {offered.found for offered in registry.endpoint_infos()} == {'this machine'}
    await registry.close()


async def test_endpoints_are_queried_only_once_in_a_while() -> None:
    urls: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        urls.append(str(request.url))
        if request.url.host != 'here.example':
            raise httpx.ConnectError('refused')
        return list_models(request)

    named = Endpoint(name='named', url='http://named.example/v1', models=('one',))
    registry = make_registry(answer, ENDPOINT, named)
    await registry.refresh()
    assert {item.endpoint: item.models for item in registry.endpoint_infos()} == {
        'here': ('a', 'b'),
        'named': ('one',),
    }
    assert len(urls) == 5 and not any('named' in url for url in urls)  # ours and four local servers
    await registry.refresh()
    assert len(urls) == 5
    await registry.close()


async def test_a_run_calls_a_model_behind_an_endpoint() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers['authorization'] == f'Bearer {KEY}'
        body = speech.start + speech.say('from afar') + speech.stop + speech.report_usage(5) + speech.end
        return httpx.Response(200, headers={'content-type': 'text/event-stream'}, content=body)

    own_catalog = catalog(FakeModel(), Lone)
    own_catalog.registry = make_registry(answer, ENDPOINT)
    async with LocalConductor(catalog=own_catalog) as conductor:
        run = (await conductor.start('lone', models={'': 'here/m'})).id
        outcome = await conductor.result(run)
        info, steps = await conductor.info(run), await conductor.transitions(run)
    assert (outcome.status, info.simulated, info.usage.output) == ('done', False, 5)
    done = next(step.event.data for step in steps if step.event.name == 'done' and step.event.data)
    assert (done['model'], done['text'], done['usage']['unpriced']) == ('here/m', 'from afar', 1)
    assert KEY not in repr(steps) + repr(info) + repr(outcome)


def test_the_examples_of_the_guides_are_valid(tmp_path: Path) -> None:
    guides = sorted((tree.ROOT / 'assets' / 'guide').glob('*.md'))
    blocks = [
        block
        for guide in guides
        for block in re.findall(r'```toml\n(.*?)```', guide.read_text('utf-8'), re.DOTALL)
    ]
    assert len(blocks) > 2
    for block in blocks:
        read(tmp_path, block, {'WORK_KEY': KEY, 'GITHUB_TOKEN': KEY})


@pytest.mark.parametrize('status', [404, 405, 200, 401, 403, 500])
async def test_an_endpoint_without_a_list_of_models_is_tested_with_a_call(status: int) -> None:
    urls: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        urls.append(request.url.path)
        if request.url.path.endswith('/models'):
            return httpx.Response(status, content=b'<html>nothing here</html>')
        assert json.loads(request.content)['model'] == 'one'
        body = OpenAISpeech.say('OK') + OpenAISpeech.stop + OpenAISpeech.end
        return httpx.Response(200, headers={'content-type': 'text/event-stream'}, content=body)

    registry = make_registry(answer, replace(ENDPOINT, models=('one', 'two')))
    health = await registry.test(ENDPOINT.name)
    assert (health.problem, health.called, health.models) == ('', 'one', ('one', 'two'))
    urls.clear()
    await registry.refresh()
    assert not any(path.endswith('completions') for path in urls), 'only a test calls'
    unnamed = await make_registry(answer, ENDPOINT).test(ENDPOINT.name)
    assert unnamed.problem and not unnamed.called
    assert ('name some in `models`' in unnamed.problem) == (status not in (401, 403, 500))


async def test_a_failed_call_is_reported() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith('/models'):
            return httpx.Response(200, json={'data': [{'id': 'one'}]})
        return httpx.Response(401, json={'error': {'message': 'no such key'}})

    health = await make_registry(answer, replace(ENDPOINT, models=('one',))).test(ENDPOINT.name)
    assert health.kind == 'auth' and 'one: ' in health.problem and 'no such key' in health.problem
