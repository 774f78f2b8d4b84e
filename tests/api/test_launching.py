"""Launching over HTTP: every option of the form, and idempotency keys that also hold after a crash."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from engine import Conductor, LocalConductor
from engine.records import RunId
from engine.tools.builtin.project.read_file import read_file
from engine.workspace import read_given_files
from storage import open_journal
from tests.api.conftest import BASE
from tests.support.api import serve_api
from tests.support.harness import FakeModel, Lone, catalog, complete_run
from ui.api.client import HttpConductor
from ui.api.idempotency import REPLAYED
from ui.app.backend import Backend

TEA = {'parameters': {'task': 'Compare tea and coffee'}}
LAUNCH = {'pattern': 'lone', 'title': 'One', 'tags': ['a', 'b'], 'seed': 7}


def api(conductor: Conductor) -> httpx.AsyncClient:
    backend = Backend()
    backend.open(conductor)
    return httpx.AsyncClient(transport=httpx.ASGITransport(serve_api(backend)), base_url=BASE)


async def test_a_run_is_launched_with_every_option_of_the_form(conductor: Conductor, http: httpx.AsyncClient):
    body = {
        'pattern': 'pipeline',
        'parameters': {'task': 'Compare tea and coffee', 'max_iterations': 2},
        'title': 'Tea',
        'tags': ['x'],
        'models': {'': 'scripted'},
        'seed': 3,
        'budget': {'tokens': 9_000, 'warn': 0.5},
        'approvals': 'all',
        'paused': True,
        'private': True,
        'breakpoints': [{'enter': 'analyzing', 'once': True}],
        'instructions': {'researcher': 'Be brief.'},
        'tools': {'researcher': ['notes']},
    }
    answer = await http.post('/runs', json=body)
    assert answer.status_code == 201, answer.text
    info = await conductor.info(RunId(answer.json()['id']))
    assert answer.headers['Location'] == f'/api/v1/runs/{info.id}'
    assert answer.headers['ETag'].startswith('"')
    assert (info.title, info.tags, info.seed, info.models) == ('Tea', ('x',), 3, {'': 'scripted'})
    assert info.budget is not None
    assert (info.budget.tokens, info.budget.warn) == (9_000, 0.5)
    assert info.options['approvals'] == 'all'
    assert info.private
    assert info.options['tools'] == {'researcher': ['notes']}
    view = await conductor.view(info.id)
    assert [item.enter for item in view.breakpoints] == ['analyzing']
    assert view.agents['researching']['instructions'] == 'Be brief.'
    assert await conductor.audit(info.id) == view.seq


async def test_a_run_is_launched_with_files_here_and_from_python_elsewhere(tmp_path: Path):
    files = {'a.txt': 'text', 'b.bin': {'base64': 'AP8='}}
    patterns = catalog(FakeModel('over'), Lone, tools=(read_file,))
    body = {'pattern': 'lone', 'files': files, 'tools': {'working': ['read_file']}}
    async with LocalConductor(catalog=patterns, workspaces=tmp_path) as conductor:
        backend = Backend()
        backend.open(conductor)
        mounted = Starlette(routes=[Mount('/api/v1', serve_api(backend))])
        transport = httpx.ASGITransport(mounted)
        async with api(conductor) as http:
            answer = await http.post('/runs', json=body)
        assert answer.status_code == 201, answer.text
        assert answer.json()['options']['files']['sizes'] == {'a.txt': 4, 'b.bin': 2}
        async with HttpConductor(BASE, transport=transport, catalog=patterns) as client:
            tools = {'working': ['read_file']}
            run = await client.start('lone', files={'a.txt': 'text', 'b.bin': b'\0\xff'}, tools=tools)
            assert await read_given_files(client.workspaces, await run.info()) == files


@pytest.mark.parametrize(
    ('body', 'status', 'field'),
    [
        ({'pattern': 'nothing'}, 404, None),
        ({}, 422, 'pattern'),
        ({'pattern': 'lone', 'colour': 'red'}, 422, 'colour'),
        ({'pattern': 'pipeline', 'parameters': {'task': 'x'}}, 422, 'task'),
        ({'pattern': 'lone', 'budget': {'tokens': 0}}, 422, 'budget.tokens'),
        ({'pattern': 'lone', 'replay': 'nothing'}, 404, None),
        ({'pattern': 'lone', 'instructions': {'nobody': 'x'}}, 422, 'instructions.nobody'),
        ({'pattern': 'lone', 'effort': {'nobody': 'low'}}, 422, 'effort.nobody'),
        ({'pattern': 'lone', 'tools': {'nobody': []}}, 422, 'tools.nobody'),
        ({'pattern': 'pipeline', **TEA, 'tools': {'researcher': ['dig']}}, 422, 'tools.researcher'),
        ({'pattern': 'lone', 'breakpoints': [{'enter': 'nowhere'}]}, 422, 'breakpoints.0.enter'),
        ({'pattern': 'lone', 'files': {'../a': ''}}, 422, 'files.../a'),
        ({'pattern': 'lone', 'files': {'a': {'base64': '%'}}}, 422, 'files.a'),
        ({'pattern': 'lone', 'files': {'a': ''}}, 422, 'files'),
    ],
)
async def test_launch_errors_name_the_field(
    conductor: Conductor, http: httpx.AsyncClient, body: dict[str, Any], status: int, field: str | None
):
    answer = await http.post('/runs', json=body, headers={'Idempotency-Key': 'k'})
    assert answer.status_code == status, answer.text
    assert field is None or [error['field'] for error in answer.json()['errors']] == [field]
    assert (await conductor.runs()).total == 0
    response = await http.post('/runs', json=LAUNCH, headers={'Idempotency-Key': 'k'})
    assert response.status_code == 201  # A request that created nothing does not use up its key.


async def test_bodies_must_be_json_of_limited_size(http: httpx.AsyncClient):
    text = await http.post('/runs', content='{}', headers={'Content-Type': 'text/plain'})
    assert (text.status_code, text.json()['type']) == (415, 'urn:hemicycle:media-type')
    broken = await http.post('/runs', content='{', headers={'Content-Type': 'application/json'})
    assert (broken.status_code, broken.headers['Content-Type']) == (422, 'application/problem+json')
    huge = await http.post('/runs', json={'pattern': 'lone', 'title': 'x' * (9 << 20)})
    assert (huge.status_code, huge.headers['Content-Type']) == (413, 'application/problem+json')


HALF = r'{"pattern": "lone", "paused": true, %s, "parameters": {"task": "Compare tea and coffee"}}'


@pytest.mark.parametrize(
    'field',
    [
        r'"instructions": {"working": "\ud83d"}',
        r'"models": {"\ud83d": "scripted"}',
        r'"tags": ["\ud83d"]',
        r'"\ud83d": 1',
    ],
)
async def test_half_a_character_is_refused_and_leaves_every_run_listed(http: httpx.AsyncClient, field: str):
    json = {'Content-Type': 'application/json'}
    answer = await http.post('/runs', content=HALF % field, headers=json)
    assert answer.status_code == 422, answer.text
    assert 'half of a surrogate pair' in answer.json()['detail']
    assert (await http.get('/runs')).json()['items'] == []


async def test_a_repeated_launch_starts_one_run(conductor: Conductor, http: httpx.AsyncClient):
    key = {'Idempotency-Key': 'launch-1'}
    first, second = await asyncio.gather(*(http.post('/runs', json=LAUNCH, headers=key) for _ in range(2)))
    third = await http.post('/runs', json=LAUNCH, headers=key)
    assert first.json() == second.json() == third.json()
    assert (third.status_code, third.headers[REPLAYED]) == (201, 'true')
    assert third.headers['Location'] == first.headers['Location']
    assert (await conductor.runs()).total == 1
    other = await http.post('/runs', json={**LAUNCH, 'title': 'Two'}, headers=key)
    assert other.status_code == 422
    assert other.json()['errors'][0]['field'] == 'Idempotency-Key'
    await http.post('/runs', json=LAUNCH)
    assert (await conductor.runs()).total == 2


async def die(key: str, reply: str | None) -> None:
    """The process dies right before it stores the reply to a request."""
    raise asyncio.CancelledError


@pytest.mark.parametrize('action', ['start', 'fork', 'variants'])
async def test_a_launch_repeated_after_a_crash_starts_no_second_run(tmp_path: Path, action: str):
    at, body = '/runs', LAUNCH
    journal = await open_journal(tmp_path / 'runs.db')
    journal.documents.finish_reservation = die  # type: ignore[method-assign]
    async with LocalConductor(journal, catalog=catalog(FakeModel(), Lone)) as conductor:
        before = 0
        if action != 'start':
            parent = await complete_run(conductor, 'lone')
            before = 1
            at = f'/runs/{parent}/{"forks" if action == "fork" else "variants"}'
            body = {'at': 0} if action == 'fork' else {
                'at': 0, 'variants': [{'name': 'a', 'overrides': {}}, {'name': 'b', 'overrides': {}}],
            }  # fmt: skip
        async with api(conductor) as http:
            with pytest.raises(asyncio.CancelledError):
                await http.post(at, json=body, headers={'Idempotency-Key': 'k'})
        new_runs = (await conductor.runs()).total - before
        assert new_runs == (2 if action == 'variants' else 1)
    journal = await open_journal(tmp_path / 'runs.db')
    async with LocalConductor(journal, catalog=catalog(FakeModel(), Lone)) as conductor:
        async with api(conductor) as http:
            response = await http.post(at, json=body, headers={'Idempotency-Key': 'k'})
            assert response.status_code == 201, response.text
        assert (await conductor.runs()).total == before + new_runs
