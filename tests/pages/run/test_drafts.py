"""Drafts, work without an agent, and a stopped run on the run page; no browser."""

import asyncio

from nicegui.testing import User

from engine.errors import ModelError
from engine.workspace.sandbox.sandbox import Sandbox
from tests.support.harness import FakeModel, pipeline_reply, wait_for_state
from tests.support.pages.clicks import see
from tests.support.pages.serving import finish_run, open_conductor, start_run
from tests.support.teams.time_bounded import QUICK, good
from ui.formatting.values import ORIGIN_NOTES


def improves(request):
    reply = pipeline_reply(request, revisions=2)
    return {**reply, 'score': 40 + 20 * request.hints.visit} if request.hints.role == 'reviewer' else reply


async def test_each_draft_has_a_revision_score_and_diff(user: User):
    run = await finish_run(FakeModel(improves))
    await user.open(f'/runs/{run}/drafts')
    await see(user, 'Revision 2 of 3 · scores 60, 80, 100', 'revision 1 of 3', 'score 80 (+20)', retries=30)
    await see(user, 'sent back', 'What changed since draft 2')


async def test_a_revision_is_counted_while_it_is_in_progress(user: User):
    hold = asyncio.Event()

    def reply(request):
        second = request.hints.role == 'analyzer' and request.hints.visit == 2
        return hold if second else improves(request)

    conductor, run = await start_run(FakeModel(reply))
    await user.open(f'/runs/{run}')
    await user.should_see('Revision 1 of 3 · score 60', retries=30)
    hold.set()
    await conductor.result(run)


async def test_a_failed_run_shows_the_reason_and_what_to_do(user: User):
    run = await finish_run(FakeModel(ModelError('no luck')))
    await user.open(f'/runs/{run}')
    await user.should_see('The run failed: researcher: no luck', retries=30)
    await user.should_see('Retry starts a new run from the last good step')


async def test_a_result_says_how_it_came_out_that_it_is_simulated_and_what_can_be_done(user: User):
    run = await finish_run(FakeModel(improves))
    await user.open(f'/runs/{run}')
    await see(user, 'Approved after 2 revisions, with a score of 100', ORIGIN_NOTES['simulated'], retries=30)
    await see(user, 'Score by revision', 'Try a change', 'Download', 'Share', 'Add to tests')
    await user.should_not_see('The run failed')


class SlowSandbox(Sandbox):
    """A sandbox whose commands wait until they are released."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = asyncio.Event()

    async def run(self, *args, **options):
        await self.gate.wait()
        return await super().run(*args, **options)


async def test_running_tests_are_shown(user: User):
    sandbox = SlowSandbox()
    conductor = open_conductor(FakeModel(good), sandbox=sandbox)
    run = (await conductor.start('time-bounded', QUICK)).id
    await wait_for_state(conductor, run, 'working.executing.step.testing')
    await user.open(f'/runs/{run}')
    await user.should_see('Running tests', retries=30)
    await conductor.cancel(run)
