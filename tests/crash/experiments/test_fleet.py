"""An experiment in a fleet: spread over workers, moved between servers, steered and marked from anywhere."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from engine.journal import EntryQuery, Journal
from engine.operations.experiments import SAMPLE, Experiment, ScorerSpec, read_experiment
from engine.records import RunInfo, RunQuery
from storage import open_journal
from tests.crash.experiments.api import Api, api_of
from tests.crash.fleet.processes import Fleet, check_journal, until
from tests.support.servers.http_server import Answer, local
from ui.api.wire import dump
from ui.fleet.owners import address_of, name_of

pytestmark = [pytest.mark.slow, pytest.mark.long]
RUNS = 8 * 3 * 2


@contextmanager
def told() -> Iterator[tuple[str, list[Any]]]:
    """Receive webhooks; yields the address, and the list that what is said of experiments is added to."""
    posts: list[Any] = []

    def receive(method: str, path: str, body: Any) -> Answer:
        if str(body['type']).startswith('experiment.'):
            posts.append(body)
        return 204, {}, b''

    with local(receive) as receiver:
        yield f'{receiver.url}/hook', posts


@pytest.fixture
async def fleet(tmp_path: Path, postgres_url: str) -> AsyncIterator[Fleet]:
    fleet = Fleet(tmp_path, postgres_url)
    try:
        await fleet.temporal()
        yield fleet
    finally:
        fleet.close()


@pytest.fixture
async def reader(fleet: Fleet) -> AsyncIterator[Journal]:
    journal = await open_journal(fleet.database)
    yield journal
    await journal.close()


async def test_an_experiment_of_a_fleet_survives_its_workers_and_servers(
    fleet: Fleet, reader: Journal
) -> None:
    sample, people = read_experiment(SAMPLE), ScorerSpec(name='liked', kind='people')
    experiment = replace(sample.experiment, scorers=(*sample.experiment.scorers, people))
    servers = [await fleet.web() for _ in range(3)]
    workers = [await fleet.worker(HEMICYCLE_PACE='20') for _ in range(2)]
    async with AsyncExitStack() as stack:
        first, other, elsewhere = [await stack.enter_async_context(api_of(server)) for server in servers]
        address, posts = stack.enter_context(told())
        await first.post('destinations', {'name': 'Team', 'channel': 'webhook', 'address': address})
        key = await first.begin(replace(sample, experiment=experiment))
        await first.wait_scored(key, 8, servers[0])
        drivers = await drivers_of(reader, key)
        assert len(drivers) == 2, drivers
        workers[0].kill()
        await first.wait_scored(key, 14, servers[0])
        servers[0].kill()
        await other.wait_scored(key, (await other.scored(key)) + 6, servers[1])
        await elsewhere.post(f'experiments/{key}/pause')
        marked = next(cell['id'] for cell in await elsewhere.cells(key) if cell['state'] == 'scored')
        await elsewhere.post(f'experiments/{key}/marks', {'cell': marked, 'value': 1.0})
        await elsewhere.post(f'experiments/{key}/resume')
        assert (await elsewhere.wait_over(key))['state'] == 'done'
        cells = await elsewhere.cells(key)
        assert '“stricter reviewer” is better' in (await elsewhere.read(f'experiments/{key}/answer'))['text']
        assert {cell['id'] for cell in cells if cell['scores']['liked']['value'] == 1.0} == {marked}
        assert Counter(cell['state'] for cell in cells) == {'scored': RUNS}
        runs = await runs_of(reader, key)
        assert sorted(info.id for info in runs) == sorted(cell['run'] for cell in cells)
        await check_journal(fleet.database, [str(info.id) for info in runs])
        nightly, cancelled = await fires_once(elsewhere, other, reader, experiment)
        await until(lambda: len(posts) >= 3, 'all ends are told')
        await asyncio.sleep(6)  # Each server looks every five seconds for what is over.
    told_of = Counter((body['type'], body['data']['experiment']) for body in posts)
    assert told_of == {('experiment.done', ended): 1 for ended in (key, nightly, cancelled)}


async def fires_once(one: Api, two: Api, reader: Journal, experiment: Experiment) -> tuple[str, str]:
    """Have a schedule start the experiment twice, and cancel the second one elsewhere; return both."""
    cases = (await one.read('datasets'))[0]['id']
    action = dump(replace(experiment, dataset=cases, name='Each night', repeats=1))
    spec = {'intervals': [{'every': 5}]}
    policy = {'overlap': 'skip'}
    body = {'name': 'nightly', 'experiment': action, 'spec': spec, 'policy': policy}
    schedule = (await one.post('schedules', body))['id']

    async def started() -> list[str]:
        ticks = await reader.documents.find(EntryQuery(kind='tick', state='started'))
        return [str(tick.body['run']) for tick in sorted(ticks, key=lambda tick: tick.rank)]

    async def has(number: int) -> bool:
        return len(await started()) >= number

    await until(lambda: has(1), 'the schedule starts an experiment')
    assert (await one.wait_over((await started())[0]))['state'] == 'done'
    await until(lambda: has(2), 'the schedule starts another')
    await one.change(f'schedules/{schedule}', {'paused': True})
    nightly, cancelled = await started()
    await two.post(f'experiments/{cancelled}/cancel', {'reason': 'enough'})
    assert (await two.read(f'experiments/{cancelled}'))['author'] == 'schedule:nightly'

    async def is_settled() -> bool:
        states = {cell['state'] for cell in await two.cells(cancelled)}
        return 'running' not in states and all(info.status.ended for info in await runs_of(reader, cancelled))

    await until(is_settled, 'all runs of what was cancelled have ended')
    assert len(await runs_of(reader, nightly)) == RUNS // 2 > len(await runs_of(reader, cancelled))
    assert sorted(
        item['id'] for item in await one.read('experiments') if item['name'] == 'Each night'
    ) == sorted((nightly, cancelled))
    return nightly, cancelled


async def runs_of(reader: Journal, experiment: str) -> Sequence[RunInfo]:
    return (await reader.runs(RunQuery(tag=f'experiment:{experiment}', limit=200))).runs


async def drivers_of(reader: Journal, experiment: str) -> set[str]:
    """The workers that have driven runs of an experiment last."""
    return {name_of(info.owner) for info in await runs_of(reader, experiment) if address_of(info.owner)}
