"""Coders and reviewers that fail, stall or are stopped: the others continue and are informed."""

from __future__ import annotations

import asyncio

import pytest

from engine import InvalidInput, LocalConductor, SimulatedClock, Status
from engine.runtime import LiveRuns
from tests.support.harness import FakeModel, to_the_end, until, wait_for_state
from tests.support.teams.parallel_review import (
    BROKEN,
    TASK,
    actors,
    begin,
    everybody,
    phases,
    play_review,
    position,
    review_catalog,
    review_conductor,
)

pytestmark = pytest.mark.slow


async def test_one_coder_fails_and_the_others_continue():
    model = FakeModel(actors(everybody(position('APPROVE', 'coder2'), coder1=BROKEN)))
    outcome, _ = await play_review(model)
    memory = outcome.memory
    assert memory['approved'] and memory['result'] == 'coder2'
    assert memory['candidates']['coder1']['status'] == 'failed'
    assert 'no such key' in memory['candidates']['coder1']['problem']
    prompts = [request.messages[-1].text for request in model.requests if 'reviewer' in request.hints.role]
    assert prompts and all('coder1: no implementation. no such key' in text for text in prompts)


async def test_one_surviving_coder_is_enough():
    script = everybody(position('APPROVE'), coder1=BROKEN, coder3=BROKEN)
    outcome, states = await play_review(script)
    assert outcome.memory['approved'] and outcome.memory['result'] == 'coder2'
    assert 'picking' not in states


async def test_the_run_fails_when_all_coders_fail():
    outcome, states = await play_review(
        everybody(position('APPROVE'), coder1=BROKEN, coder2=BROKEN), coders=2
    )
    assert outcome.status is Status.FAILED
    assert states == ['preparing', 'implementing', 'failed']
    assert outcome.answer.count('no such key') >= 2


async def test_a_coder_that_times_out_is_dropped():
    clock = SimulatedClock()
    model = FakeModel(
        actors(everybody(position('APPROVE', 'coder2'), coder1=lambda request: asyncio.Event()))
    )
    async with review_conductor(model, clock=clock) as conductor:
        run = await begin(conductor, coders=2, coder_seconds=50)
        await wait_for_state(conductor, run, 'implementing.coder2.done')
        assert 'implementing.coder1.working.thinking' in (await conductor.view(run)).active
        await clock.advance(51)
        outcome = await conductor.result(run)
        assert model.running == 0
    assert outcome.memory['approved']
    assert 'did not end within 50 seconds' in outcome.memory['candidates']['coder1']['problem']


async def test_stopping_one_coder_stops_no_other():
    model = FakeModel(
        actors(everybody(position('APPROVE', 'coder2'), coder1=lambda request: asyncio.Event()))
    )
    async with review_conductor(model) as conductor:
        run = await begin(conductor, coders=2)
        await wait_for_state(conductor, run, 'implementing.coder2.done')
        await conductor.send(
            run, 'failed', at='implementing.coder1.working', data={'error': 'stopped by Ada'}
        )
        outcome = await to_the_end(conductor, run)
        assert model.running == 0
        assert await conductor.audit(run)
    assert outcome.memory['candidates']['coder1']['problem'] == 'stopped by Ada'
    assert outcome.memory['approved']


async def test_a_failed_revision_keeps_the_previous_version():
    script = everybody(position('REVISE_BEST', 'coder1'))
    script['revising.coder1.working'] = BROKEN
    outcome, states = await play_review(script, max_revisions=2)
    memory = outcome.memory
    assert states[-5:] == ['revising', 'iterating', 'revising', 'iterating', 'complete']
    assert (memory['approved'], memory['revision_count']) == (False, 2)
    assert len(memory['candidates']['coder1']['versions']) == 1
    assert 'no such key' in memory['candidates']['coder1']['problem']


async def test_a_failed_reviewer_is_dropped_and_one_is_no_consensus():
    script = everybody(position('APPROVE', 'coder1'), position('APPROVE', 'coder1'))
    script['debating.reviewer1.speaking'] = BROKEN
    script['synthesizer'] = position('REVISE_BEST', 'coder1', changes=['more'])
    outcome, _ = await play_review(script, max_rounds=2)
    memory = outcome.memory
    absent = [entry for entry in memory['transcript'] if entry['problem']]
    assert [(item['speaker'], item['round']) for item in absent] == [('reviewer1', 1)]
    assert memory['consensuses'][0]['synthesized']
    # In the next debate it is asked again.
    assert memory['approved'] and memory['consensuses'][1]['by'] == ['reviewer1', 'reviewer2']


async def test_of_three_reviewers_two_may_agree():
    script = everybody(position('APPROVE', 'coder1'), reviewers=3)
    script['debating.reviewer2.speaking'] = BROKEN
    outcome, _ = await play_review(script, reviewers=3)
    assert outcome.memory['approved']
    assert outcome.memory['consensuses'][0]['by'] == ['reviewer1', 'reviewer3']


async def test_a_failed_review_does_not_end_the_debate():
    script = everybody(position('APPROVE', 'coder1'))
    script['reviewing.reviewer1.reading'] = BROKEN
    outcome, _ = await play_review(script)
    assert outcome.memory['approved']
    assert outcome.memory['transcript'][0]['problem'] == 'no such key'


@pytest.mark.parametrize('state', ['debating', 'final_review'])
async def test_without_any_reviewer_the_run_fails(state):
    script = everybody(position('REVISE_BEST', 'coder1'))
    script |= {f'{state}.reviewer{n}.speaking': BROKEN for n in (1, 2)}
    outcome, states = await play_review(script)
    assert outcome.status is Status.FAILED
    assert states[-2:] == [state, 'failed']
    assert 'reviewer2: no such key' in outcome.answer


async def test_a_reviewer_times_out():
    clock = SimulatedClock()
    script = everybody(position('REVISE_BEST', 'coder1'), synthesizer=position('REVISE_BEST', 'coder1'))
    script['debating.reviewer1.speaking'] = lambda request: asyncio.Event()
    model = FakeModel(actors(script))
    async with review_conductor(model, clock=clock) as conductor:
        run = await begin(conductor, reviewer_seconds=40, max_rounds=1, max_revisions=0)
        await until(lambda: any(r.hints.state == 'debating.reviewer1.speaking' for r in model.requests))
        await clock.advance(41)
        outcome = await conductor.result(run)
    problems = [entry['problem'] for entry in outcome.memory['transcript'] if entry['problem']]
    assert problems == ['debating.reviewer1.speaking did not end within 40 seconds']


async def test_a_missing_project_is_refused_by_name_before_the_run_starts():
    async with review_conductor({}) as conductor:
        with pytest.raises(InvalidInput) as refused:
            await begin(conductor, project='sample:prices', tests='/nowhere/at/all')
        assert refused.value.problems == {'tests': "there is no folder '/nowhere/at/all'"}
        assert not (await conductor.runs()).runs


async def test_a_project_that_is_too_big_is_refused_with_its_size_before_the_run_starts(monkeypatch):
    monkeypatch.setenv('HEMICYCLE_PROJECT_FILES', '1')
    async with review_conductor({}) as conductor:
        with pytest.raises(InvalidInput) as refused:
            await begin(conductor, project='sample:prices')
        problem = refused.value.problems['project']
        assert 'it has ' in problem and '.gitignore' in problem and 'HEMICYCLE_PROJECT_FILES' in problem
        assert not (await conductor.runs()).runs


async def test_a_project_that_a_reviewer_cannot_get_from_every_coder_is_refused_before_the_run_starts(
    monkeypatch, tmp_path
):
    monkeypatch.setattr('engine.workspace.directories.MORE_FILES', 3)
    monkeypatch.setenv('HEMICYCLE_PROJECT_FILES', '4')
    for number in range(4):
        (tmp_path / str(number)).touch()
    async with review_conductor({}) as conductor:
        with pytest.raises(InvalidInput) as refused:
            await begin(conductor, project=str(tmp_path), coders=3)
        assert 'has 4 files' in (problem := refused.value.problems['project'])
        assert 'at most 11 and' in problem and 'one folder, which gets 3 copies' in problem
        await conductor.cancel(await begin(conductor, project=str(tmp_path), coders=2))


async def test_a_server_without_runs_leaves_the_project_check_to_workers():
    class Elsewhere(LiveRuns):
        works = False

    async with LocalConductor(
        catalog=review_catalog(FakeModel(actors({}))), live_runs=Elsewhere
    ) as conductor:
        assert await begin(conductor, project='/nowhere/at/all')


async def test_a_project_removed_before_the_start_fails_the_run_with_its_name(tmp_path):
    project = tmp_path / 'here'
    project.mkdir()
    async with review_conductor({}) as conductor:
        options = {'task': TASK, 'command': 'check', 'project': str(project)}
        run = (await conductor.start('parallel-review', options, paused=True)).id
        project.rmdir()
        await conductor.resume(run)
        outcome = await conductor.result(run)
        assert outcome.status is Status.FAILED and await phases(conductor, run) == ['preparing', 'failed']
    assert f"project: there is no folder '{project}'" in outcome.answer


async def test_concurrent_runs_are_isolated():
    script = everybody(position('REVISE_BEST', 'coder1'))
    async with review_conductor(script) as conductor:
        first, second = await begin(conductor), await begin(conductor, task='Write another module.')
        ends = await asyncio.gather(conductor.result(first), conductor.result(second))
        folders = [conductor.workspaces.of(run, 'coder1').folder for run in (first, second)]
        assert await phases(conductor, first) == await phases(conductor, second)
    assert [end.memory['approved'] for end in ends] == [True, True]
    assert [end.memory['task'] for end in ends] == ['Write a module that adds.', 'Write another module.']
    assert folders[0] != folders[1]


async def test_a_cancelled_run_stops_all_its_agents():
    model = FakeModel(lambda request: asyncio.Event())
    async with review_conductor(model) as conductor:
        run = await begin(conductor, coders=6)
        await until(lambda: model.running == 6)
        await conductor.cancel(run)
        await until(lambda: model.running == 0)
        assert (await conductor.info(run)).status is Status.CANCELLED
