"""hemicycle worker: listed with the runs that wait, and drained."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from engine import EngineError
from engine.records import RunId
from tests.support.cli import Hemicycle, json_lines
from ui.app.fleet import DrivenRun, WaitingRun, WorkerInfo
from ui.cli.operation import workers


class Fleet:
    """Two workers and a run that waits."""

    def __init__(self, hemicycle: Hemicycle) -> None:
        self.drained: list[str] = []
        self.waits = hemicycle.newest()

    async def workers(self) -> list[WorkerInfo]:
        run = DrivenRun(run=RunId('abc'), pattern='race', since=0.0)
        return [
            WorkerInfo(name='one', url='http://one.example', at_once=50, labels=('gpu',), runs=(run,)),
            WorkerInfo(name='two', url='http://two.example', problem='it does not answer'),
        ]

    async def waiting(self) -> list[WaitingRun]:
        return [WaitingRun(info=self.waits, reason='no worker knows the pattern')]

    async def drain(self, name: str) -> None:
        if name == 'two':
            raise EngineError('it does not answer')
        self.drained.append(name)


@pytest.fixture
def fleet(done: Hemicycle, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    fleet = Fleet(done)

    @asynccontextmanager
    async def opened(*args: Any) -> AsyncIterator[Fleet]:
        yield fleet

    monkeypatch.setattr(workers, '_open_fleet', opened)
    return fleet


def test_workers_and_waiting_runs_are_listed(hemicycle: Hemicycle, fleet: Fleet, done: Hemicycle) -> None:
    listed = hemicycle('worker', 'list')
    assert listed.exit_code == 0, listed.output
    one, run, two, waiting = listed.stdout.splitlines()
    assert one.startswith('one  1 of 50 runs · labels: gpu') and run.startswith('    abc  race')
    assert two == 'two  it does not answer'
    assert waiting == f'waiting: {done.newest().id}  pipeline: no worker knows the pattern'
    workers = json_lines(hemicycle('worker', 'list', '--json').stdout)
    assert [item.get('name') or item['run'] for item in workers] == ['one', 'two', done.newest().id]


def test_a_worker_is_drained_and_that_is_logged(hemicycle: Hemicycle, fleet: Fleet) -> None:
    assert hemicycle('worker', 'drain', 'one').stdout == 'one is handing over its runs\n'
    assert fleet.drained == ['one']
    refused = hemicycle('worker', 'drain', 'two')
    assert refused.exit_code == 2 and 'it does not answer' in refused.stderr
    logged = json_lines(hemicycle('user', 'log', '--action', 'fleet.drain', '--json').stdout)
    assert [(record['details'], bool(record['refused'])) for record in logged] == [
        ({'worker': 'two'}, True),
        ({'worker': 'one'}, False),
    ]


def test_an_unknown_worker_is_refused(hemicycle: Hemicycle, fleet: Fleet) -> None:
    refused = hemicycle('worker', 'drain', 'three')
    assert refused.exit_code == 2
    assert "WORKER: there is no worker 'three'; available: one, two" in refused.stderr
