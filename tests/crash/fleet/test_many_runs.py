"""Fifty runs on two workers: undisturbed, and while workers are killed one after another."""

from __future__ import annotations

import time
from statistics import median

import httpx
import pytest

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from tests.crash.fleet.processes import Fleet, Process, check_calls, check_journal, until

pytestmark = [pytest.mark.slow, pytest.mark.long]
RUNS = 50


async def check_all(fleet: Fleet, reader: Journal, runs: list[str], steps: int) -> None:
    await fleet.wait_for_end(runs, reader)
    await check_journal(fleet.database, runs)
    await check_calls(fleet, reader, runs, steps)
    assert {(await reader.info(RunId(run))).status for run in runs} == {Status.DONE}


async def test_fifty_runs_on_two_workers(fleet: Fleet, web: httpx.AsyncClient, reader: Journal) -> None:
    workers = [await fleet.worker(), await fleet.worker()]
    runs = await fleet.launch(web, RUNS, steps=5, pause=0.1)
    await check_all(fleet, reader, runs, 5)
    assert fleet.count_repeats() == {}
    assert {call.pid for call in fleet.lines()} == {worker.pid for worker in workers}


async def test_fifty_runs_while_ten_workers_are_killed(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    steps = 90
    alive = [await fleet.worker(), await fleet.worker()]
    runs = await fleet.launch(web, RUNS, steps=steps, pause=1.0)
    await fleet.wait_driven(RUNS)
    gaps: list[float] = []
    for _ in range(10):
        victim = alive.pop(0)
        gaps += (await kill_and_time(fleet, victim)).values()
        alive.append(await fleet.worker())
    print(f'{len(gaps)} runs went on after {median(gaps):.2f} s (median), {max(gaps):.2f} s (worst)')
    await check_all(fleet, reader, runs, steps)
    assert len(gaps) >= RUNS


async def kill_and_time(fleet: Fleet, victim: Process) -> dict[str, float]:
    """Kill a worker; returns after how many seconds each of its runs continued."""
    drivers = {call.run: call.pid for call in fleet.lines()}
    orphans = {run for run, pid in drivers.items() if pid == victim.pid}
    victim.kill()
    died = time.time()

    def measure_delays() -> dict[str, float]:
        later = [call for call in fleet.lines() if call.at > died and call.pid != victim.pid]
        return {call.run: call.at - died for call in reversed(later) if call.run in orphans}

    await until(lambda: measure_delays().keys() == orphans, 'its runs continue')
    return measure_delays()
