"""Schedules in a fleet: Temporal wakes workers without any server, and each tick has exactly one run."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import httpx
import pytest
from temporalio.client import Client, ScheduleListDescription

from engine.journal import EntryQuery, Journal
from engine.records import RunQuery
from tests.crash.fleet.processes import Fleet, Process, until
from ui.fleet.schedules.placer import PREFIX

pytestmark = [pytest.mark.slow, pytest.mark.long]
SQLITE = True


@pytest.fixture
async def temporal(fleet: Fleet) -> Client:
    return await Client.connect(f'127.0.0.1:{fleet.port}')


async def list_schedules(temporal: Client) -> list[ScheduleListDescription]:
    """List our schedules as Temporal stores them."""
    return [schedule async for schedule in await temporal.list_schedules() if schedule.id.startswith(PREFIX)]


def is_paused(one: ScheduleListDescription) -> bool:
    assert one.schedule
    return one.schedule.state.paused


async def add(web: httpx.AsyncClient, fleet: Fleet, **fields: Any) -> str:
    action = {'pattern': 'counting', 'parameters': {'calls': str(fleet.calls), 'steps': 1, 'pause': 0.0}}
    body = {'name': 'often', 'action': action, 'policy': {'overlap': 'allow_all'}, **fields}
    answer = await web.post('schedules', json=body)
    assert answer.status_code == 201, answer.text
    return str(answer.json()['id'])


async def count_started(reader: Journal) -> int:
    return len(await reader.documents.find(EntryQuery(kind='tick', state='started')))


async def test_each_second_has_one_run_despite_killed_servers_and_workers(
    fleet: Fleet, server: Process, web: httpx.AsyncClient, reader: Journal
) -> None:
    first = await fleet.worker()
    schedule = await add(web, fleet, spec={'intervals': [{'every': 1}]})

    async def has(number: int) -> bool:
        return await count_started(reader) >= number

    await until(lambda: has(2), 'the worker starts runs')
    server.kill()
    alone = await count_started(reader)
    await until(lambda: has(alone + 3), 'the worker starts runs without a server')
    first.kill()
    killed = await count_started(reader)
    second = await fleet.worker()
    await until(lambda: has(killed + 3), 'another worker starts runs', second)
    last = await fleet.web()
    async with httpx.AsyncClient(base_url=f'{last.url}/api/v1/', timeout=30) as other:
        answer = await other.patch(f'schedules/{schedule}', json={'paused': True})
        assert answer.is_success, answer.text

    async def all_started() -> bool:
        ticks = await reader.documents.find(EntryQuery(kind='tick'))
        return all(tick.state == 'started' for tick in ticks)

    await until(all_started, 'all times have their run')
    ticks = sorted(await reader.documents.find(EntryQuery(kind='tick')), key=lambda tick: tick.rank)
    assert {after.rank - before.rank for before, after in pairwise(ticks)} == {1.0}
    runs = (await reader.runs(RunQuery(limit=1_000))).runs
    assert sorted(info.id for info in runs) == sorted(tick.body['run'] for tick in ticks)
    assert {info.author for info in runs} == {'schedule:often'}
    await fleet.wait_for_end([str(info.id) for info in runs], reader)


async def test_temporal_follows_changes_of_schedules(
    fleet: Fleet, web: httpx.AsyncClient, temporal: Client
) -> None:
    spec = {'cron': ['30 2 * * MON-FRI', '0 9 13 * FRI'], 'time_zone': 'Europe/Berlin'}
    schedule = await add(web, fleet, spec=spec)
    schedules: list[ScheduleListDescription] = []

    async def has(number: int, paused: bool) -> bool:
        schedules[:] = await list_schedules(temporal)
        return len(schedules) == number and all(is_paused(item) == paused for item in schedules)

    await until(lambda: has(1, False), 'Temporal has the schedule')
    ours = (await web.get(f'schedules/{schedule}')).json()['next_times']
    assert schedules[0].info
    theirs = {moment.isoformat()[:19] for moment in schedules[0].info.next_action_times}
    assert {moment[:19] for moment in ours[:3]} <= theirs
    await web.patch(f'schedules/{schedule}', json={'paused': True, 'note': 'holidays'})
    await until(lambda: has(1, True), 'Temporal has it paused')
    assert schedules[0].schedule
    assert schedules[0].schedule.state.note == 'holidays'
    await web.delete(f'schedules/{schedule}')
    await until(lambda: has(0, False), 'Temporal has no schedule any more')


class Alone(Fleet):
    """The same database, served without Temporal."""

    def _placement_options(self) -> list[str]:
        return []


async def test_a_schedule_moves_into_a_fleet_and_out_of_it(
    fleet: Fleet, temporal: Client, reader: Journal
) -> None:
    alone = Alone(fleet.home, fleet.database, processes=fleet.processes)
    before = await alone.web()
    async with httpx.AsyncClient(base_url=f'{before.url}/api/v1/', timeout=30) as web:
        await add(web, fleet, spec={'intervals': [{'every': 1}]})

    async def has(number: int) -> bool:
        return await count_started(reader) >= number

    await until(lambda: has(2), 'the server starts runs')
    before.kill()
    server = await fleet.web()
    await fleet.worker()

    async def is_placed() -> bool:
        return bool(await list_schedules(temporal))

    await until(is_placed, 'Temporal has the schedule')
    server.kill()
    moved = await count_started(reader)
    await until(lambda: has(moved + 2), 'the worker starts runs')
    for process in fleet.processes:
        process.kill()
    back = await count_started(reader)
    after = await alone.web()
    begun = time.time()
    await until(lambda: has(back + 2), 'a server without a fleet starts runs', after)
    assert time.time() - begun < 15
    ticks = sorted(await reader.documents.find(EntryQuery(kind='tick')), key=lambda tick: tick.rank)
    assert {after.rank - before.rank for before, after in pairwise(ticks)} == {1.0}
