"""Runs that move between workers that are killed, drained or frozen, and the calls they repeat."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from typing import Any

import httpx
import pytest

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from tests.crash.fleet.processes import Fleet, check_calls, check_journal, max_concurrency, until

pytestmark = pytest.mark.slow


async def test_the_runs_of_a_killed_worker_continue(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    first, second = await fleet.worker(), await fleet.worker()
    runs = await fleet.launch(web, 4, steps=60)
    await fleet.wait_driven(4)
    victim = first if any(call.pid == first.pid for call in fleet.lines()) else second
    orphans = {call.run for call in fleet.lines() if call.pid == victim.pid}
    victim.kill()
    died = time.time()
    await fleet.wait_for_end(runs, reader)
    await check_journal(fleet.database, runs)
    durations = {
        run: min(c.at for c in fleet.lines() if c.run == run and c.at > died and c.pid != victim.pid) - died
        for run in orphans
    }
    print(sorted(round(seconds, 2) for seconds in durations.values()))
    assert orphans
    assert max(durations.values()) < 15
    await check_calls(fleet, reader, runs, 60)
    assert set(fleet.count_repeats()) <= orphans
    infos = [await reader.info(RunId(run)) for run in runs]
    assert {info.status for info in infos} == {Status.DONE}


@pytest.mark.long
async def test_a_draining_worker_hands_over_its_runs(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    first, second = await fleet.worker(), await fleet.worker()
    runs = await fleet.launch(web, 6, steps=100)
    await fleet.wait_driven(6)
    leaver = first if any(call.pid == first.pid for call in fleet.lines()) else second
    leaver.signal(signal.SIGTERM)
    took = await until(lambda: leaver.ended is not None, 'the worker leaves')
    assert leaver.ended == 0, leaver.log.read_text()
    assert took < 20
    await fleet.wait_for_end(runs, reader)
    await check_journal(fleet.database, runs)
    await check_calls(fleet, reader, runs, 100)


@pytest.mark.long
async def test_workers_are_listed_and_drained_from_a_terminal(fleet: Fleet, web: httpx.AsyncClient) -> None:
    first, second = await fleet.worker('--label', 'gpu'), await fleet.worker()
    await fleet.launch(web, 2, steps=2_000)
    await fleet.wait_driven(2)
    listed: list[dict[str, Any]] = []

    async def are_all_workers() -> bool:
        lines = (await fleet.run('worker', 'list', '--json')).splitlines()
        listed[:] = [json.loads(line) for line in lines]
        return all('url' in line for line in listed)  # Others are runs that wait for a worker.

    await until(are_all_workers, 'no run waits')
    by_url = {worker['url']: worker for worker in listed}
    assert set(by_url) == {first.url, second.url} and by_url[first.url]['labels'] == ['gpu']
    assert [run['pattern'] for worker in listed for run in worker['runs']] == ['counting', 'counting']
    await fleet.run('worker', 'drain', by_url[first.url]['name'])
    await until(lambda: first.ended is not None, 'the worker leaves')
    assert first.ended == 0, first.log.read_text()
    remaining = await fleet.run('worker', 'list')
    assert f'{by_url[first.url]["name"]}  no server answers' in remaining  # Temporal remembers it a while.
    (own,) = (line for line in remaining.splitlines() if line.startswith(by_url[second.url]['name']))
    assert '2 of 50 runs' in own


@pytest.mark.long
async def test_a_server_can_start_a_worker_that_ends_with_it(fleet: Fleet, reader: Journal) -> None:
    server = await fleet.web('--drive')
    async with httpx.AsyncClient(base_url=f'{server.url}/api/v1/', timeout=30) as web:
        runs = await fleet.launch(web, 2, steps=5)
        await fleet.wait_for_end(runs, reader)
    driver = fleet.lines()[0].pid
    assert driver != server.pid
    server.signal(signal.SIGTERM)
    await until(lambda: server.ended is not None, 'the server ends')
    assert server.ended == 0, server.log.read_text()
    with pytest.raises(ProcessLookupError):
        os.kill(driver, 0)


@pytest.mark.long
async def test_the_late_writes_of_a_frozen_worker_are_refused(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    first = await fleet.worker()
    runs = await fleet.launch(web, 4, steps=100)
    await fleet.wait_driven(4)
    second = await fleet.worker()
    first.signal(signal.SIGSTOP)
    await until(
        lambda: {c.run for c in fleet.lines() if c.pid == second.pid} == set(runs), 'they are taken over'
    )
    first.signal(signal.SIGCONT)
    await until(
        lambda: 'has been claimed by another process' in first.log.read_text(), 'a late write is refused'
    )
    second.kill()
    await fleet.wait_for_end(runs, reader)
    violations = await check_journal(fleet.database, runs)
    for steps in violations.values():
        assert sum(step.event.name == 'done' for step in steps) == 100
    await check_calls(fleet, reader, runs, 100)


@pytest.mark.long
async def test_a_worker_shows_its_metrics_only_with_the_token(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    worker = await fleet.worker()
    runs = await fleet.launch(web, 2, steps=3)
    await fleet.wait_for_end(runs, reader)
    async with httpx.AsyncClient(base_url=worker.url) as asker:
        assert (await asker.get('/readyz')).json() == {'status': 'ok', 'stranded': 0}
        assert (await asker.get('/metrics')).status_code == 401
        measured = (await asker.get('/metrics', headers=fleet.token())).text
    assert 'hemicycle_ended_runs_total{pattern="counting",status="done"} 2.0' in measured
    assert 'hemicycle_event_loop_lag_seconds_count' in measured


@pytest.mark.long
async def test_no_more_runs_at_once_than_allowed(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    await fleet.worker('--at-once', '2')
    await fleet.worker('--at-once', '1', '--only', 'counting')
    runs = await fleet.launch(web, 9, steps=3, pause=0.2)
    await fleet.wait_for_end(runs, reader)
    assert max_concurrency(fleet.lines()) == 3
    assert fleet.count_repeats() == {}
    await check_journal(fleet.database, runs)


@pytest.mark.long
@pytest.mark.parametrize('seconds', [1.0, 10.0])
async def test_runs_continue_while_temporal_is_down(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal, seconds: float
) -> None:
    await fleet.worker()
    await fleet.worker()
    runs = await fleet.launch(web, 4, steps=60, pause=0.1)
    await fleet.wait_driven(4)
    fleet.processes[0].kill()
    runs += await fleet.launch(web, 2, steps=60, pause=0.1)
    before = len(fleet.lines())
    await asyncio.sleep(seconds)  # The outage lasts at least this long.
    assert len(fleet.lines()) > before
    await fleet.temporal()
    await fleet.wait_for_end(runs, reader)
    await check_journal(fleet.database, runs)
    await check_calls(fleet, reader, runs, 60)
