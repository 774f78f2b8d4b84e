"""A person plans in the supervisor's seat: the team carries out that plan."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine import Conductor, EventRefused, InvalidInput, Status
from engine.models.protocol import ModelRequest
from tests.support.harness import FakeModel, wait_for_state
from tests.support.teams.supervisor import begin, plan_task, succeed, team, team_reply

PLAN = {'approach': 'Prices first', 'tasks': ['researcher: Find prices', 'Writer: Write the note']}


async def start_seated(conductor: Conductor, **parameters: Any) -> Any:
    """Start a run with a person in the planner's seat."""
    run = (await conductor.start('supervisor', {'objective': 'a bridge', **parameters}, paused=True)).id
    await conductor.send(run, 'take_seat', data={'seat': 'supervisor'})
    await conductor.resume(run)
    assert (await wait_for_state(conductor, run, 'planning.person')).waiting == 'plan'
    return run


@pytest.mark.parametrize('execution', ['one after another', 'side by side'])
async def test_a_persons_plan_is_carried_out(execution: str) -> None:
    model = FakeModel(team_reply([]))
    async with team(model) as conductor:
        run = await start_seated(conductor, execution=execution)
        await conductor.send(run, 'plan', data=PLAN)
        outcome = await conductor.result(run)
        assert await conductor.audit(run) == len(await conductor.transitions(run))
    assert outcome.status is Status.DONE and outcome.answer.strip() == 'all in all'
    memory = outcome.memory
    assert [(done['task_id'], done['agent_role']) for done in memory['completed_results']] == [
        ('1', 'researcher'),
        ('2', 'writer'),
    ]
    assert memory['plan']['approach'] == 'Prices first'
    assert [task['depends_on'] for task in memory['plan']['tasks']] == [[], ['1']]
    assert 'supervisor' not in {request.hints.role for request in model.requests}


async def test_an_impossible_plan_is_refused_and_the_person_asked_again() -> None:
    async with team(FakeModel(team_reply([]))) as conductor:
        run = await start_seated(conductor)
        for tasks in ([], ['Find prices'], ['researcher:']):
            with pytest.raises(InvalidInput, match='tasks'):
                await conductor.send(run, 'plan', data={'tasks': tasks})
        with pytest.raises(EventRefused, match='role'):
            await conductor.send(run, 'plan', data={'tasks': ['baker: Bake it']})
        assert (await conductor.view(run)).waiting == 'plan'
        await conductor.send(run, 'plan', data={**PLAN, 'in_order': False})
        outcome = await conductor.result(run)
        with pytest.raises(EventRefused):
            await conductor.send(run, 'take_seat', data={'seat': 'supervisor'})
    assert [task['depends_on'] for task in outcome.memory['plan']['tasks']] == [[], []]


async def test_a_seat_is_taken_during_the_call_and_handed_back() -> None:
    called = 0

    def reply(request: ModelRequest) -> Any:
        nonlocal called
        called += request.hints.role == 'supervisor'
        return asyncio.Event() if called == 1 else team_reply([plan_task('a')], succeed)(request)

    async with team(FakeModel(reply)) as conductor:
        run = await begin(conductor)
        await wait_for_state(conductor, run, 'planning.thinking')
        await conductor.send(run, 'take_seat', data={'seat': 'supervisor'})
        await wait_for_state(conductor, run, 'planning.person')
        await conductor.send(run, 'hand_back', data={'seat': 'supervisor'})
        outcome = await conductor.result(run)
        assert await conductor.audit(run)
    assert called == 2 and outcome.memory['seats'] == []
    assert [note['content'] for note in outcome.memory['messages'] if note['kind'] == 'seat'] == [
        "A person took the supervisor's seat.",
        'A person handed the seat back to the supervisor.',
    ]
