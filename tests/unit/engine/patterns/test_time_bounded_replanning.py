"""Replanning within a round: requests for it, and their effect on the plan."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from engine import EngineError, SimulatedClock, Status
from engine.models.protocol import ModelRequest
from tests.support.harness import until
from tests.support.teams.time_bounded import (
    PLAN,
    bad_at_first,
    begin,
    kinds,
    leaf,
    make_conductor,
    play,
    reaches,
    team,
    verdict,
)


def plan(*steps: tuple[str, Sequence[int]]) -> dict[str, Any]:
    described = [
        {'description': text, 'complexity': 'simple', 'depends_on': list(needs)} for text, needs in steps
    ]
    return {'analysis': 'It is small.', 'steps': described}


STUCK = plan(('part 1', ()), ('part 2', ()), ('rests on 1', [1]), ('part 4', ()))
"""A plan whose third step cannot begin if the first fails."""


async def test_blocked_steps_are_replanned_within_the_round() -> None:
    prompts: list[str] = []

    def writing(request: ModelRequest) -> Any:
        prompts.append(request.messages[-1].text)
        return STUCK if len(prompts) == 1 else plan(('part 1, another way', ()), ('rests on that', [1]))

    outcome, _ = await play(team(writing=writing, coding=bad_at_first), max_fix_cycles=0)
    memory = outcome.memory
    assert {name: step['status'] for name, step in memory['steps'].items()} == {
        '1': 'failed', '2': 'completed', '4': 'completed', '5': 'completed', '6': 'completed',
    }  # fmt: skip
    assert memory['steps']['6']['depends_on'] == [5]
    assert (memory['status'], memory['iteration'], memory['caveat']) == ('completed', 1, '')
    assert memory['superseded'] == ['1'] and memory['metrics']['replan_count'] == 1
    assert 'rests on 1' in prompts[1] and '3 cannot begin because 1 failed' in prompts[1]
    assert [item['id'] for item in memory['checklist']] == ['1', '2', '4', '5', '6']
    assert memory['metrics']['total_steps'] == 5
    replan_request = next(message for message in memory['messages'] if message['type'] == 'REPLAN_REQUEST')
    assert replan_request['recipient'] == 'planner' and len(memory['plans']) == 1


async def test_the_supervisor_may_replan_the_remaining_steps() -> None:
    def judge(request: ModelRequest) -> Any:
        replan = 'The interface turned out otherwise.' if request.hints.visit == 1 else ''
        return verdict(evidence='The tests pass.', replan=replan)

    def writing(request: ModelRequest) -> Any:
        return plan(('the only one', ())) if request.hints.visit > 1 else PLAN

    outcome, _ = await play(team(writing=writing, reviewing_step=judge))
    memory = outcome.memory
    assert [step['description'] for step in memory['steps'].values()] == ['Write double', 'the only one']
    assert memory['status'] == 'completed' and memory['superseded'] == []
    assert 'The interface turned out otherwise.' in memory['messages'][-1]['content'] or any(
        'turned out otherwise' in entry['text'] for entry in memory['event_log']
    )


async def test_a_person_may_replan_the_remaining_steps() -> None:
    prompts: list[str] = []
    signal = asyncio.Event()

    def writing(request: ModelRequest) -> Any:
        prompts.append(request.messages[-1].text)
        return plan(('what was asked for', ())) if len(prompts) > 1 else PLAN

    def exploring(request: ModelRequest) -> Any:
        finding = {'passed': True, 'summary': 'Nothing is wrong.'}
        return signal if request.hints.visit == 1 and not signal.is_set() else finding

    async with make_conductor(
        team(writing=writing, exploring=exploring), clock=SimulatedClock()
    ) as conductor:
        run = await begin(conductor)
        await reaches(conductor, run, 'exploring.thinking')
        await conductor.send(run, 'replan', data={'why': 'Use a table instead.'})
        signal.set()
        outcome = await conductor.result(run)
        assert await conductor.audit(run)
        with pytest.raises(EngineError):
            await conductor.send(run, 'replan')
    assert outcome.memory['steps']['2']['description'] == 'what was asked for'
    assert 'Use a table instead.' in prompts[1]


async def test_the_plan_is_kept_if_no_other_is_approved() -> None:
    def review(request: ModelRequest) -> Any:
        return verdict(90 if request.hints.visit == 1 else 60, actionable=True, reasonable=True)

    def judge(request: ModelRequest) -> Any:
        return verdict(evidence='The tests pass.', replan='Do it otherwise.')

    outcome, _ = await play(team(reviewing=review, reviewing_step=judge), max_revisions=0, max_replans=1)
    memory = outcome.memory
    assert list(memory['steps']) == ['1', '2'] and memory['status'] == 'completed'
    assert kinds(memory).count('REPLAN_REQUEST') == 1
    assert any('they stay' in entry['text'] for entry in memory['event_log'])


async def test_replanning_can_be_disabled() -> None:
    outcome, _ = await play(
        team(writing=STUCK, coding=bad_at_first), max_fix_cycles=0, max_rounds=1, max_replans=0
    )
    assert outcome.status is Status.FAILED and 'REPLAN_REQUEST' not in kinds(outcome.memory)
    assert outcome.memory['steps']['3']['status'] == 'pending'


async def test_a_silent_planner_keeps_the_plan() -> None:
    def writing(request: ModelRequest) -> Any:
        return PLAN if request.hints.visit == 1 else TimeoutError('gone')

    def judge(request: ModelRequest) -> Any:
        return verdict(evidence='The tests pass.', replan='Do it otherwise.' if leaf(request) else '')

    outcome, _ = await play(team(writing=writing, reviewing_step=judge))
    assert outcome.memory['status'] == 'completed' and list(outcome.memory['steps']) == ['1', '2']


async def test_a_run_that_expired_while_replanning_resumes_it() -> None:
    clock, late, hanging = SimulatedClock(), 1e6, [asyncio.Event()]

    def writing(request: ModelRequest) -> Any:
        if request.hints.visit == 1:
            return PLAN
        return hanging.pop() if hanging else plan(('another', ()))

    def judge(request: ModelRequest) -> Any:
        replan = 'Do it otherwise.' if request.hints.visit == 1 else ''
        return verdict(evidence='The tests pass.', replan=replan)

    async with make_conductor(team(writing=writing, reviewing_step=judge), clock=clock) as conductor:
        run = await begin(conductor, minutes=5, grace=0, agent_seconds=3600, wait_for_time=1e5)
        await until(lambda: not hanging)
        names = ('phase_ends', 'call_ends')
        edits = [{'op': 'replace', 'path': f'/memory/clock/{name}', 'value': late} for name in names]
        await conductor.send(run, 'edit', data={'changes': edits})
        await clock.advance(301)
        view = await reaches(conductor, run, 'stopped')
        assert view.memory['replanning'] and list(view.memory['steps']) == ['1', '2']
        await conductor.send(run, 'add_time', data={'seconds': 3000})
        outcome = await conductor.result(run)
        assert await conductor.audit(run) == len(await conductor.transitions(run))
    assert outcome.memory['status'] == 'completed'
    assert [step['description'] for step in outcome.memory['steps'].values()] == ['Write double', 'another']
