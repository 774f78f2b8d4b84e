"""A time-bounded run on the run page, and the page of its report, without a browser."""

import asyncio

from nicegui import ui
from nicegui.testing import User

from engine import Conductor
from tests.support.harness import FakeModel, complete_run
from tests.support.pages.clicks import see
from tests.support.pages.serving import open_conductor
from tests.support.teams.time_bounded import QUICK, QuickSandbox, good, leaf, verdict
from ui.web.pages.run import page as run_page
from ui.web.pages.runs.report import page as report


def serve_report(model: FakeModel) -> Conductor:
    return open_conductor(model, run_page, report, sandbox=QuickSandbox())


async def test_a_new_run_has_no_gates_and_no_report(user: User):
    conductor = serve_report(FakeModel(asyncio.Event()))
    run = (await conductor.start('time-bounded', QUICK)).id
    await user.open(f'/runs/{run}/supervision')
    await see(user, 'No gate has been reached yet.', 'Skip verification', ' of 30:00 left', retries=30)
    await user.should_not_see('Read report')
    await user.open(f'/runs/{run}/report')
    await user.should_see('No report yet')
    assert (await user.http_client.get(f'/runs/{run}/report.md')).status_code == 404
    await conductor.cancel(run)


async def test_a_run_that_reached_its_goal_shows_gates_time_and_report(user: User):
    conductor = serve_report(FakeModel(good))
    run = await complete_run(conductor, 'time-bounded', QUICK)
    await user.open(f'/runs/{run}/supervision?face=debug')
    await see(user, 'Goal achievement', 'integration tests pass', 'shutting down → completed', retries=30)
    await user.should_not_see('0.0 s after')
    await user.should_see('Read report')
    await user.should_not_see('Finish now')
    await user.open(f'/runs/{run}/time')
    await see(user, 'Round 1', 'Finished phases', '2 of 2 done', retries=30)
    await user.open(f'/runs/{run}/report')
    await see(user, 'Supervision', '1 Write double', 'Simulated: the scripted model wrote this')
    text = (await user.http_client.get(f'/runs/{run}/report.md')).text
    assert text.startswith('# Write double') and 'Simulated: the scripted model wrote this' in text
    assert '- [x] **1** Write double' in text


async def test_time_before_the_clock_starts(user: User):
    conductor = serve_report(FakeModel(asyncio.Event()))
    run = (await conductor.start('time-bounded', QUICK)).id
    await user.open(f'/runs/{run}/time?at=0')
    await user.should_see('The clock has not started.', retries=30)
    (panel,) = [element for element in user.client.elements.values() if 'time-tab' in element.classes]
    assert [element.text for element in panel.descendants() if isinstance(element, ui.label)] == [
        'The clock has not started.'
    ]
    await conductor.cancel(run)


async def test_blocked_work_names_its_conditions(user: User):
    def poor(request):
        if leaf(request) == 'reviewing' and request.hints.visit == 1:
            return verdict(40, actionable=False, reasonable=True)
        return good(request)

    conductor = serve_report(FakeModel(poor))
    run = await complete_run(conductor, 'time-bounded', QUICK)
    await user.open(f'/runs/{run}/supervision')
    await see(user, 'held back', 'plan is actionable', 'not met', '1 message sent', retries=30)


async def test_other_patterns_have_messages_and_no_report(user: User):
    conductor = serve_report(FakeModel(lambda request: {'findings': []} if request.schema else 'a draft'))
    run = await complete_run(conductor, 'pipeline', {'task': 'anything'})
    await user.open(f'/runs/{run}/messages?type=nothing')
    await user.should_see('No messages match.', retries=30)
    await user.should_not_see('Supervision')
    await user.open(f'/runs/{run}/report')
    await user.should_see('This pattern does not write reports.')
    assert (await user.http_client.get('/runs/none/report')).status_code == 404
