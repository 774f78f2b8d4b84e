"""A person plans and judges in the seats of the planner and the supervisor."""

from __future__ import annotations

import asyncio

import pytest

from engine import EngineError, EventRefused, InvalidInput, SimulatedClock
from tests.support.teams.time_bounded import QUICK, begin, good, make_conductor, reaches, team, verdict

PLAN = {'steps': ['Write double', 'Test it once more']}
GOOD = {'score': 90, 'approved': True, 'summary': 'It is as it should be.'}


async def test_a_person_plans_and_judges_in_place_of_agents_and_hands_back() -> None:
    clock = SimulatedClock()
    async with make_conductor(good, clock=clock) as conductor:
        run = (await conductor.start('time-bounded', {**QUICK, 'agent_seconds': 30}, paused=True)).id
        for seat in ('planner', 'supervisor'):
            await conductor.send(run, 'take_seat', data={'seat': seat})
        with pytest.raises(EventRefused):
            await conductor.send(run, 'take_seat', data={'seat': 'planner'})
        with pytest.raises(InvalidInput):
            await conductor.send(run, 'take_seat', data={'seat': 'coder'})
        await conductor.resume(run)
        view = await reaches(conductor, run, 'writing.person')
        assert view.waiting == 'plan'
        await clock.advance(100)  # an agent's timeout does not apply to a person
        assert 'working.planning.writing.person' in (await conductor.view(run)).active
        with pytest.raises(InvalidInput, match='steps'):
            await conductor.send(run, 'plan', data={'steps': []})
        await conductor.send(run, 'plan', data=PLAN)
        assert (await reaches(conductor, run, 'planning.reviewing.person')).waiting == 'verdict'
        await conductor.send(
            run, 'judge', data={**GOOD, 'score': 40, 'approved': False, 'issues': ['more tests']}
        )
        await reaches(conductor, run, 'writing.person')
        await conductor.send(run, 'plan', data=PLAN)
        await reaches(conductor, run, 'planning.reviewing.person')
        await conductor.send(run, 'judge', data=GOOD)
        await reaches(conductor, run, 'reviewing_code.person')
        await conductor.send(run, 'hand_back', data={'seat': 'supervisor'})
        outcome = await conductor.result(run)
        assert await conductor.audit(run) == len(await conductor.transitions(run))
    memory = outcome.memory
    assert memory['status'] == 'completed' and memory['seats'] == ['planner']
    assert [step['description'] for step in memory['steps'].values()] == PLAN['steps']
    assert memory['steps']['2']['depends_on'] == [1]
    assert [
        (verification['gate'], verification['score']) for verification in memory['verifications'][:2]
    ] == [
        ('plan', 40),
        ('plan', 90),
    ]
    assert memory['agents']['supervisor']['metrics']['degraded'] == 0
    assert any(
        message['type'] == 'CORRECTION' and 'more tests' in message['content']
        for message in memory['messages']
    )


async def test_a_seat_that_is_taken_during_a_call_stops_the_call() -> None:
    hang = team(judging=lambda request: asyncio.Event())
    async with make_conductor(hang, clock=SimulatedClock()) as conductor:
        run = await begin(conductor)
        await reaches(conductor, run, 'judging.thinking')
        await conductor.send(run, 'take_seat', data={'seat': 'supervisor'})
        await reaches(conductor, run, 'judging.person')
        await conductor.send(run, 'judge', data={**GOOD, 'evidence': 'I ran it.'})
        outcome = await conductor.result(run)
        assert await conductor.audit(run)
        with pytest.raises(EngineError):
            await conductor.send(run, 'judge', data=GOOD)
    assert outcome.memory['verifications'][-1]['evidence'] == 'I ran it.'
    assert outcome.memory['verified'] and outcome.memory['status'] == 'completed'


async def test_a_verdict_needs_a_score_within_its_bounds() -> None:
    hang = team(reviewing=lambda request: verdict(90, actionable=True, reasonable=True))
    async with make_conductor(hang, clock=SimulatedClock()) as conductor:
        run = (await conductor.start('time-bounded', QUICK, paused=True)).id
        await conductor.send(run, 'take_seat', data={'seat': 'supervisor'})
        await conductor.resume(run)
        await reaches(conductor, run, 'planning.reviewing.person')
        with pytest.raises(InvalidInput, match='score'):
            await conductor.send(run, 'judge', data={**GOOD, 'score': 101})
        await conductor.cancel(run)
