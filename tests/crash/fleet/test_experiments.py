"""An experiment in a fleet: spread over workers, moved between servers, steered and marked from anywhere."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from engine.journal import Journal
from engine.operations.experiments import SAMPLE, ScorerSpec, read_experiment
from engine.records import RunQuery
from tests.crash.fleet.processes import Fleet, Process, check_journal, until
from tests.support.servers.http_server import Answer, local
from ui.api.wire import dump
from ui.fleet.owners import name_of

pytestmark = [pytest.mark.slow, pytest.mark.long]
RUNS = 8 * 3 * 2


class Api:
    """The API of one server, as far as experiments need it."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http

    async def read(self, path: str) -> Any:
        answer = await self._http.get(path)
        assert answer.is_success, answer.text
        return answer.json()

    async def post(self, path: str, body: Any = None) -> Any:
        answer = await self._http.post(path, json=body or {})
        assert answer.is_success, answer.text
        return answer.json()

    async def states(self, experiment: str) -> Counter[str]:
        cells = (await self.read(f'experiments/{experiment}/cells'))['cells']
        return Counter(cell['state'] for cell in cells)

    async def wait_scored(self, experiment: str, number: int, server: Process) -> None:
        async def has() -> bool:
            return (await self.states(experiment))['scored'] >= number

        await until(has, f'{number} runs are scored', server)

    async def wait_over(self, experiment: str) -> Any:
        stored: Any = {}

        async def is_over() -> bool:
            stored.update(await self.read(f'experiments/{experiment}'))
            return stored['state'] in ('done', 'cancelled', 'failed')

        await until(is_over, f'{experiment} is over')
        return stored


@contextmanager
def told() -> Iterator[tuple[str, list[Any]]]:
    """Receive webhooks; yields the address, and the list that what is said of experiments is added to."""
    said: list[Any] = []

    def receive(method: str, path: str, body: Any) -> Answer:
        if str(body['type']).startswith('experiment.'):
            said.append(body)
        return 204, {}, b''

    with local(receive) as receiver:
        yield f'{receiver.url}/hook', said


@pytest.fixture
async def second(fleet: Fleet) -> AsyncIterator[tuple[Process, Api]]:
    process = await fleet.web()
    async with httpx.AsyncClient(base_url=f'{process.url}/api/v1/', timeout=30) as http:
        yield process, Api(http)


async def test_an_experiment_of_a_fleet_survives_its_workers_and_servers(
    fleet: Fleet, server: Process, web: httpx.AsyncClient, second: tuple[Process, Api], reader: Journal
) -> None:
    sample, first, (other_process, other) = read_experiment(SAMPLE), Api(web), second
    people = ScorerSpec(name='liked', kind='people')
    experiment = replace(sample.experiment, scorers=(*sample.experiment.scorers, people))
    workers = [await fleet.worker(HEMICYCLE_PACE='20') for _ in range(2)]
    with told() as (address, said):
        await first.post('destinations', {'name': 'Team', 'channel': 'webhook', 'address': address})
        await first.post(
            f'datasets/{experiment.dataset}/versions', {'cases': [dump(case) for case in sample.cases]}
        )
        key = (await first.post('experiments', dump(experiment)))['id']
        await first.wait_scored(key, 8, server)
        runs = (await reader.runs(RunQuery(tag=f'experiment:{key}', limit=200))).runs
        drivers = {name_of(info.owner) for info in runs if info.owner}
        print('drivers', drivers)
        workers[0].kill()
        await first.wait_scored(key, 14, server)
        server.kill()
        before = await other.states(key)
        await other.wait_scored(key, before['scored'] + 6, other_process)
        third = await fleet.web()
        async with httpx.AsyncClient(base_url=f'{third.url}/api/v1/', timeout=30) as http:
            elsewhere = Api(http)
            await elsewhere.post(f'experiments/{key}/pause')
            cells = (await elsewhere.read(f'experiments/{key}/cells'))['cells']
            marked = next(cell['id'] for cell in cells if cell['state'] == 'scored')
            await elsewhere.post(f'experiments/{key}/marks', {'cell': marked, 'value': 1.0})
            await elsewhere.post(f'experiments/{key}/resume')
            assert (await elsewhere.wait_over(key))['state'] == 'done'
            cells = (await elsewhere.read(f'experiments/{key}/cells'))['cells']
            answer = (await elsewhere.read(f'experiments/{key}/answer'))['text']
            print(answer)
            assert 'stricter reviewer is better' in answer
            assert {cell['id'] for cell in cells if cell['scores']['liked']['value'] == 1.0} == {marked}
    assert Counter(cell['state'] for cell in cells) == {'scored': RUNS}
    runs = (await reader.runs(RunQuery(tag=f'experiment:{key}', limit=200))).runs
    assert sorted(info.id for info in runs) == sorted(cell['run'] for cell in cells)
    assert len(drivers) == 2
    await check_journal(fleet.database, [str(info.id) for info in runs])
