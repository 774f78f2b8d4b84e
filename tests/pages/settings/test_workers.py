"""The page of workers: what each executes, which runs wait and why, and draining one."""

from __future__ import annotations

import pytest
from nicegui.testing import User

from engine import Conductor
from engine.operations import Role
from tests.support.pages.clicks import answer, click, see
from ui.app.access.audit_log import AuditQuery
from ui.app.backend import Backend
from ui.app.fleet import DrivenRun, WaitingRun, WorkerInfo
from ui.fleet.temporal import TemporalUnavailable


class FakeFleet:
    """A fleet configured by a test."""

    def __init__(self) -> None:
        self.there: list[WorkerInfo] = []
        self.waits: list[WaitingRun] = []
        self.drained: list[str] = []
        self.problem = ''

    async def workers(self) -> list[WorkerInfo]:
        if self.problem:
            raise TemporalUnavailable(self.problem)
        return self.there

    async def waiting(self) -> list[WaitingRun]:
        return self.waits

    async def keep_placing_runs(self) -> None:
        raise NotImplementedError

    async def drain(self, name: str) -> None:
        self.drained.append(name)


@pytest.fixture
def fleet(backend: Backend) -> FakeFleet:
    backend.fleet = fake_fleet = FakeFleet()
    return fake_fleet


@pytest.fixture
async def waiting(conductor: Conductor, fleet: FakeFleet) -> str:
    run = (await conductor.start('pipeline', {'task': 'Tea or coffee?'}, title='Drinks', paused=True)).id
    reason = 'no worker has the label “gpu”'
    fleet.waits = [WaitingRun(info=await conductor.info(run), reason=reason)]
    return str(run)


def worker(**values: object) -> WorkerInfo:
    facts = {'name': 'east-1', 'url': 'http://east:1', 'started': 1.0, 'at_once': 50, 'program': '0.1.0'}
    return WorkerInfo(**facts | values)  # type: ignore[arg-type]


async def test_workers_and_waiting_runs_are_shown(
    pages: User, conductor: Conductor, fleet: FakeFleet, waiting: str
) -> None:
    driven = (await conductor.start('pipeline', {'task': 'Cake?'}, title='Pastry', paused=True)).id
    fleet.there = [
        worker(labels=('gpu',), patterns={'race': ('a1',), 'vote': ('b2', 'b1')}, runs=(
            DrivenRun(run=driven, pattern='race', since=2.0),
        )),
        worker(name='west-1', draining=True),
        worker(name='north-1', problem='it does not answer'),
    ]  # fmt: skip
    await pages.open('/workers')
    for text in (
        'east-1',
        '1 of 50',
        'Pastry',
        'gpu',
        '2 patterns',
        '0.1.0',
        'Draining',
        'It does not answer.',
    ):
        await pages.should_see(text)
    await see(pages, 'Drinks', 'No worker has the label “gpu”.')


async def test_the_settings_lead_to_the_workers(pages: User, fleet: FakeFleet) -> None:
    await pages.open('/settings')
    assert pages.client is not None
    links = [
        str(element.props.get('href')) for element in pages.client.elements.values() if element.tag == 'a'
    ]
    assert '/workers' in links


async def test_a_worker_is_drained_by_an_administrator(
    pages: User, backend: Backend, fleet: FakeFleet
) -> None:
    fleet.there = [worker()]
    await pages.open('/workers')
    click(pages, 'Drain…')
    await pages.should_see('Drain east-1?')
    assert fleet.drained == []
    answer(pages, 'Drain')
    await pages.should_see('east-1 is handing over its runs.')
    assert fleet.drained == ['east-1']
    assert backend.access
    (line,) = await backend.access.audit.lines(AuditQuery(action='fleet.drain'))
    assert (line.who, line.details) == ('ada', {'worker': 'east-1'})


@pytest.mark.parametrize('role', [Role.OPERATOR])
async def test_only_administrators_can_drain(pages: User, fleet: FakeFleet) -> None:
    fleet.there = [worker()]
    await pages.open('/workers')
    (group,) = {
        element.parent_slot.parent for element in pages.find('Drain…').elements if element.parent_slot
    }
    assert group.props['data-refused'] == 'fleet.drain'


@pytest.mark.parametrize('role', [Role.VIEWER])
async def test_private_runs_of_others_are_left_out(
    pages: User, conductor: Conductor, fleet: FakeFleet, waiting: str
) -> None:
    info = await conductor.annotate(waiting, private=True)  # type: ignore[arg-type]
    fleet.waits = [WaitingRun(info=info, reason='busy')]
    fleet.there = [worker(runs=(DrivenRun(run=info.id, pattern='pipeline', since=2.0),))]
    await pages.open('/workers')
    await pages.should_see('1 run')
    await pages.should_not_see(waiting)
    await pages.should_see('No runs are waiting.')
    await pages.should_not_see('Drinks')


async def test_the_page_says_what_to_start_and_what_is_wrong(pages: User, fleet: FakeFleet) -> None:
    await pages.open('/workers')
    await see(pages, 'No workers.', 'hemicycle worker serve --temporal')
    fleet.problem = 'Temporal does not answer: refused'
    await pages.open('/workers')
    await pages.should_see('Temporal does not answer: refused. Active runs continue')


async def test_without_a_fleet_the_page_says_so(pages: User) -> None:
    await pages.open('/workers')
    await pages.should_see('This server executes its runs itself')
