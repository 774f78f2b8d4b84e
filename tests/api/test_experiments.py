"""Experiments over HTTP: started and read by a client, seen by those alone who may see their runs."""

from __future__ import annotations

import io
from dataclasses import replace

import httpx
import pytest
from fastapi import FastAPI
from starlette.applications import Starlette
from starlette.routing import Mount

from engine import Conductor, InvalidInput, LocalConductor
from engine.errors import NotAllowed
from engine.operations import Role
from engine.operations.experiments import Case, Experiment, ScorerSpec, UnknownExperiment, Variant
from engine.records import Launch
from tests.api.conftest import BASE
from tests.support.charts.echo import Echo
from tests.support.identity import FixedIdentity
from ui.api.client import HttpConductor
from ui.app.access.access import Access
from ui.app.access.caller import Caller

CASES = [Case(id=str(n), parameters={'answer': str(n)}, expectation=str(n)) for n in range(3)]
EXPERIMENT = Experiment(
    name='Echoes',
    dataset='echoes',
    base=Launch(pattern='echo'),
    variants=(Variant(name='a'), Variant(name='b', change={'parameters': {'answer': 'x'}})),
    scorers=(ScorerSpec(name='right', kind='equal'), ScorerSpec(name='liked', kind='people')),
)


@pytest.fixture(autouse=True)
def with_echo(conductor: LocalConductor) -> None:
    conductor.catalog.add(Echo)


async def test_a_client_runs_an_experiment_on_a_server(conductor: LocalConductor, app: FastAPI) -> None:
    mounted = Starlette(routes=[Mount('/api/v1', app)])
    async with HttpConductor(BASE, transport=httpx.ASGITransport(mounted)) as client:
        read = await client.datasets.read_table('id,answer,expectation\n1,x,x\n', pattern='echo')
        assert read.require()[0].parameters == {'answer': 'x'}
        await client.datasets.save('echoes', CASES)
        assert (await client.experiments.plan(EXPERIMENT)).runs == 6
        result = await client.experiment(EXPERIMENT)
        assert [row['right'] for row in result.records()] == [1, 0] * 3
        key = result.experiment.id
        marked = await client.experiments.mark(key, result.cells[0].id, value=1, comment='good')
        assert marked.comment == 'good' and len(await client.experiments.to_mark(key)) == 5
        assert await client.experiments.paths(key) == await conductor.experiments.paths(key)
        assert await client.experiments.trend(key) == list(await conductor.experiments.trend(key))
        page = await client.experiments.cells(key, (await conductor.experiments.cells(key)).cells[-2].changed)
        assert [cell.scores['liked'].value for cell in page.cells] == [1]
        with pytest.raises(UnknownExperiment):
            await client.experiments.get('nobody')
        with pytest.raises(UnknownExperiment):
            await anext(client.experiments.export('nobody'))
        bundle = b''.join([piece async for piece in client.experiments.export(key)])
        answer = await client.experiments.answer(key)
        await client.experiments.remove(key)
        imported = await client.import_bundle(io.BytesIO(bundle))
        assert [(item.kind, item.outcome) for item in imported[:3]] == [
            ('dataset', 'known'), ('experiment', 'new'), ('run', 'known'),
        ]  # fmt: skip
        assert await client.experiments.marks(key) == [marked]
        assert await client.experiments.answer(key) == answer
        for door in (client, conductor):
            with pytest.raises(InvalidInput, match='slash'):
                await door.datasets.save('half/half', CASES)
    assert (await conductor.experiments.get(key)).name == 'Echoes'


async def test_a_private_experiment_is_seen_by_its_author_and_administrators_alone(
    conductor: Conductor, access: Access
) -> None:
    def as_caller(name: str, role: Role) -> Conductor:
        return access.guard(conductor, FixedIdentity(Caller(name, role)))

    ada, bob = as_caller('ada', Role.OPERATOR), as_caller('bob', Role.OPERATOR)
    await ada.datasets.save('echoes', CASES)
    secret = await ada.experiment(replace(EXPERIMENT, base=Launch(pattern='echo', private=True)))
    key = secret.experiment.id
    assert await bob.experiments.list() == []
    with pytest.raises(UnknownExperiment):
        await bob.experiments.cells(key)
    with pytest.raises(UnknownExperiment):
        await bob.experiments.paths(key)
    with pytest.raises(UnknownExperiment):
        await anext(bob.experiments.export(key))
    assert [piece async for piece in as_caller('eve', Role.ADMIN).experiments.export(key)]
    assert len((await as_caller('eve', Role.ADMIN).experiments.cells(key)).cells) == 6
    assert {info.author for info in (await ada.runs()).runs} == {'ada'} and (await bob.runs()).total == 0
    with pytest.raises(NotAllowed):
        await as_caller('vic', Role.VIEWER).experiments.add(EXPERIMENT)


async def test_a_large_dataset_is_sent_as_a_file_and_a_too_large_one_is_refused(
    conductor: LocalConductor, app: FastAPI
) -> None:
    text = 'flour and water ' * 640  # 10 KB
    cases = [Case(id=f'{n}', parameters={'answer': f'{n} {text}'}, expectation=n) for n in range(2_000)]
    mounted = Starlette(routes=[Mount('/api/v1', app)])
    async with HttpConductor(BASE, transport=httpx.ASGITransport(mounted)) as client:
        saved = await client.datasets.save('large', cases, note='20 MB')
        assert (saved.versions[0].cases, saved.versions[0].note) == (2_000, '20 MB')
        assert await client.datasets.cases('large') == await conductor.datasets.cases('large') == cases
        huge = [Case(id=f'{n}', parameters={'answer': text * 100}) for n in range(66)]
        with pytest.raises(InvalidInput, match='larger than 64 MB: make several'):
            await client.datasets.save('huge', huge)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(mounted), base_url=f'{BASE}/api/v1') as http:
        kind = {'Content-Type': 'application/octet-stream'}
        for lines, fields in (
            (
                b'{"id": "one"}\n\n{"id": 2}\n{"parameters": []}\nno\n',
                ['cases.1.id', 'cases.2.id', 'cases.2.parameters', 'cases.3'],
            ),
            (b'{"id": "one"}\n{"id": "one"}', ['cases.1.id']),
            (b'', ['cases']),
        ):
            wrong = await http.post('datasets/wrong/uploads', content=lines, headers=kind)
            assert [item['field'] for item in wrong.json()['errors']] == fields and wrong.status_code == 422
        more = await http.post('datasets/wrong/uploads', content=b' ' * ((64 << 20) + 1), headers=kind)
        assert (more.status_code, more.json()['type']) == (413, 'urn:hemicycle:too-large')
    assert [item.name for item in await conductor.datasets.list()] == ['large']
