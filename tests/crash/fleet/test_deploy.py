"""Deployments: workers with the next version of a pattern, and charts that are saved while workers run."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import httpx
import pytest

from engine import Status
from engine.journal import Journal
from engine.records import RunId
from tests.crash.fleet.processes import PATTERNS, Fleet, Process, check_calls, check_journal, launch, until
from ui.fleet.temporal import Temporal

pytestmark = [pytest.mark.slow, pytest.mark.long]
STEPS = 100
CHART = """chart: ask
initial: asking
roles: {{writer: {{instructions: {instructions}}}}}
states:
  asking: {{agent: writer, prompt: Say hello.}}
  done: {{final: true}}
  failed: {{final: true, outcome: failed}}
transitions:
  - {{on: done, from: asking, to: done}}
  - {{on: failed, from: asking, to: failed}}
  - {{on: expired, from: asking, to: failed}}
"""


def version(fleet: Fleet, old: str, new: str) -> Path:
    """A folder with the next version of the patterns."""
    copied = fleet.home / 'next'
    shutil.copytree(PATTERNS, copied, ignore=shutil.ignore_patterns('__pycache__'))
    file = copied / 'counting.py'
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))
    return copied


async def driven(fleet: Fleet, web: httpx.AsyncClient, worker: Process, number: int = 4) -> list[str]:
    runs = await fleet.launch(web, number, steps=STEPS)
    await until(
        lambda: {call.run for call in fleet.lines() if call.pid == worker.pid} == set(runs), 'all are driven'
    )
    return runs


async def shut_down(worker: Process) -> None:
    worker.signal(signal.SIGTERM)
    await until(lambda: worker.ended is not None, 'the worker leaves')


async def test_workers_of_the_next_version_take_over(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    previous = await fleet.worker()
    runs = await driven(fleet, web, previous)
    # Its source differs but does the same, so it can replay the previous version's steps.
    upgraded = await fleet.worker(
        patterns=version(fleet, 'memory.taken += 1', 'memory.taken = memory.taken + 1')
    )
    await shut_down(previous)
    await fleet.wait_for_end(runs, reader)
    assert {call.run for call in fleet.lines() if call.pid == upgraded.pid} == set(runs)
    assert {(await reader.info(RunId(run))).status for run in runs} == {Status.DONE}
    await check_journal(fleet.database, runs)
    await check_calls(fleet, reader, runs, STEPS)


async def test_runs_wait_when_no_version_can_replay_them(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    previous = await fleet.worker()
    runs = await driven(fleet, web, previous)
    upgraded = await fleet.worker(patterns=version(fleet, 'memory.taken += 1', 'memory.taken += 2'))
    await shut_down(previous)
    before = len(fleet.lines())
    temporal = await Temporal.at(f'127.0.0.1:{fleet.port}', namespace='default')

    async def all_wait() -> bool:
        reasons = [await temporal.why_waiting(RunId(run)) for run in runs]
        return all('no worker can replay its history' in reason for reason in reasons)

    await until(all_wait, 'each says why it waits')
    assert fleet.lines()[before:] == []
    new = await launch(web, calls=str(fleet.calls), steps=4)  # It starts with the existing version.
    await fleet.wait_for_end([new], reader)
    assert {call.pid for call in fleet.lines() if call.run == new} == {upgraded.pid}
    await fleet.worker()  # The deployment is rolled back.
    await fleet.wait_for_end(runs, reader)
    assert {(await reader.info(RunId(run))).status for run in runs} == {Status.DONE}
    await check_journal(fleet.database, runs)
    await check_calls(fleet, reader, runs, STEPS)


async def test_a_worker_takes_runs_of_versions_that_are_saved_while_it_runs(
    fleet: Fleet, web: httpx.AsyncClient, reader: Journal
) -> None:
    worker = await fleet.worker()
    base, runs = '', list[str]()
    for instructions in ('Be short.', 'Be polite.'):
        text = CHART.format(instructions=instructions)
        saved = await web.put('charts/ask', json={'text': text, 'base': base})
        base = saved.raise_for_status().json()['version']
        runs.append(await launch(web, pattern='ask'))
    await fleet.wait_for_end(runs, reader)
    infos = [await reader.info(RunId(run)) for run in runs]
    assert {info.status for info in infos} == {Status.DONE}
    assert {info.owner.partition('#')[0] for info in infos} == {worker.url}
    assert infos[0].version != infos[1].version == base
