"""What the run page shows of a time-bounded run, and the report's page, without a browser."""

import asyncio

import pytest
from nicegui.testing import User

from engine import Catalog, Conductor, MemoryJournal
from tests.crew import QUICK, QuickSandbox, good, leaf, verdict
from tests.support import FakeModel
from ui.door import Door
from ui.pages import report
from ui.pages import run as run_page
from ui.theme import serve_assets


@pytest.fixture
def door():
    return Door()


def opened(door: Door, model: FakeModel) -> Conductor:
    catalog = Catalog.load()
    catalog.models['scripted'] = model
    conductor = Conductor(MemoryJournal(), catalog=catalog, sandbox=QuickSandbox())
    door.open(conductor)
    serve_assets()
    for page in (run_page, report):
        page.register(door)
    return conductor


async def test_a_run_that_has_just_begun_has_no_gates_and_no_report(user: User, door):
    conductor = opened(door, FakeModel(asyncio.Event()))
    run = await conductor.start('time-bounded', QUICK)
    await user.open(f'/runs/{run}/supervision')
    await user.should_see('Nothing has stood before a gate yet.', retries=30)
    await user.should_see('Skip verification')
    await user.should_see('30:00 of 30:00 left')
    await user.should_not_see('Read the report')
    await user.open(f'/runs/{run}/report')
    await user.should_see('There is no report yet')
    assert (await user.http_client.get(f'/runs/{run}/report.md')).status_code == 404
    await conductor.cancel(run)


async def test_a_run_that_reached_its_goal_shows_gates_time_and_report(user: User, door):
    conductor = opened(door, FakeModel(good))
    run = await conductor.start('time-bounded', QUICK)
    await conductor.result(run)
    await user.open(f'/runs/{run}/supervision')
    await user.should_see('Goal achievement', retries=30)
    await user.should_see('integration tests pass')
    await user.should_see('Read the report')
    await user.should_not_see('Finish now')
    await user.open(f'/runs/{run}/time')
    await user.should_see('What was spent', retries=30)
    await user.should_see('2 of 2 over')
    await user.open(f'/runs/{run}/report')
    await user.should_see('Gates and escalation')
    await user.should_see('1 Write double')
    text = (await user.http_client.get(f'/runs/{run}/report.md')).text
    assert text.startswith('# Write double')
    assert '- [x] **1** Write double' in text


async def test_a_run_whose_work_is_held_back_says_by_what(user: User, door):
    def poor(request):
        if leaf(request) == 'reviewing' and request.hints.visit == 1:
            return verdict(40, actionable=False, reasonable=True)
        return good(request)

    conductor = opened(door, FakeModel(poor))
    run = await conductor.start('time-bounded', QUICK)
    await conductor.result(run)
    await user.open(f'/runs/{run}/supervision')
    await user.should_see('held back', retries=30)
    await user.should_see('plan is actionable')
    await user.should_see('does not hold')
    await user.should_see('1 message sent')


async def test_other_patterns_have_messages_and_no_report(user: User, door):
    conductor = opened(door, FakeModel(lambda request: {'findings': []} if request.schema else 'a draft'))
    run = await conductor.start('pipeline', {'task': 'anything'})
    await conductor.result(run)
    await user.open(f'/runs/{run}/messages?type=nothing')
    await user.should_see('No message fits.', retries=30)
    await user.should_not_see('Supervision')
    await user.open(f'/runs/{run}/report')
    await user.should_see('Runs of this pattern write no report.')
    assert (await user.http_client.get('/runs/none/report')).status_code == 404
