"""Cards of finished tasks in agents' panes: they stay when another task starts, and link back."""

from __future__ import annotations

import asyncio
from typing import Any

from nicegui import ui
from nicegui.testing import User

from engine import Transition
from engine.models.protocol import ModelRequest
from tests.support.harness import FakeModel, complete_run
from tests.support.pages.clicks import press_labelled, see
from tests.support.pages.serving import serve
from tests.support.teams.supervisor import plan_task, succeed, task_in, team, team_reply


async def test_each_finished_task_has_a_card_that_leads_to_its_conversation(user: User) -> None:
    hold = asyncio.Event()

    def work(request: ModelRequest) -> Any:
        return hold if task_in(request) == 'b' and not hold.is_set() else succeed(request)

    async with team(
        FakeModel(team_reply([plan_task('a'), plan_task('b', 'writer', 'a')], work))
    ) as conductor:
        serve(conductor)
        run = (await conductor.start('supervisor', {'objective': 'Do it all'})).id
        await user.open(f'/runs/{run}')
        await see(user, 'a · completed', 'a by researcher', retries=100)
        await user.should_not_see('b · completed')
        press_labelled(user, 'Show the conversation on a')
        ended = next(step.seq for step in await conductor.transitions(run) if names_result(step))
        await user.should_see(f'Step {ended}', retries=60)
        await conductor.cancel(run)


def names_result(step: Transition) -> bool:
    return any(change.path.startswith('/memory/completed_results') for change in step.changes)


async def test_an_empty_plan_says_so_and_a_finished_run_has_no_live_button(user: User) -> None:
    async with team(FakeModel(team_reply([]))) as conductor:
        serve(conductor)
        run = await complete_run(conductor, 'supervisor', {'objective': 'Do nothing'})
        await user.open(f'/runs/{run}')
        await user.should_see('Empty: no steps were planned.', retries=60)
        drawn = user.find(kind=ui.element).elements
        (live,) = (item for item in drawn if 'live' in item.classes and 'btn' in item.classes)
        assert 'off' in live.classes
        assert not [item for item in drawn if 'run-strip' in item.classes], (
            'nothing can be asked for any more'
        )
