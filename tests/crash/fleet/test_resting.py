"""Runs that wait for a person or a timer hold no worker, and no event for them is lost."""

from __future__ import annotations

import httpx
import pytest

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from tests.crash.fleet.processes import Fleet, Process, check_journal, launch, until

pytestmark = [pytest.mark.slow, pytest.mark.long]


async def list_driven(fleet: Fleet, worker: Process) -> set[str]:
    """The runs that a worker reports."""
    async with httpx.AsyncClient(base_url=worker.url, headers=fleet.token()) as client:
        report = (await client.get('/api/v1/worker')).json()
    return {str(run['run']) for run in report['runs']}


async def wait_until_released(fleet: Fleet, worker: Process, reader: Journal, run: str) -> None:
    """Wait until a run waits and its worker has released it."""

    async def rests() -> bool:
        waits = (await reader.info(RunId(run))).status is Status.WAITING
        return waits and run not in await list_driven(fleet, worker)

    await until(rests, 'it rests')


async def say(web: httpx.AsyncClient, run: str) -> None:
    answer = await web.post(f'runs/{run}/events', json={'name': 'said'})
    assert answer.is_success, answer.text


async def test_an_event_wakes_a_resting_run(fleet: Fleet, web: httpx.AsyncClient, reader: Journal) -> None:
    worker = await fleet.worker()
    woken, resting = [await launch(web, 'waiting', calls=str(fleet.calls)) for _ in range(2)]
    for run in (woken, resting):
        await wait_until_released(fleet, worker, reader, run)
    await say(web, woken)
    await fleet.wait_for_end([woken], reader)
    worker.kill()
    await say(web, resting)  # Without a worker, the web server journals it.
    names = [step.event.name for step in await reader.transitions(RunId(resting))]
    assert names[-1] == 'said'
    assert resting not in {call.run for call in fleet.lines()}
    await fleet.worker()
    await fleet.wait_for_end([resting], reader)
    await check_journal(fleet.database, [woken, resting])
    assert fleet.count_repeats() == {}


async def test_a_resting_run_continues_when_its_timer_is_due(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    first = await fleet.worker()
    run = await launch(web, 'timed')
    await wait_until_released(fleet, first, reader, run)
    first.kill()
    await fleet.worker()
    await fleet.wait_for_end([run], reader)
    steps = (await check_journal(fleet.database, [run]))[run]
    assert steps[-1].event.name == 'expired'
    assert steps[-1].time - steps[0].time >= 8
