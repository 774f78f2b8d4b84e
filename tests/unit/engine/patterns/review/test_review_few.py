"""A parallel review with one coder or one reviewer, and debates in which too few reviewers are left."""

from __future__ import annotations

import pytest

from engine import Status
from tests.support.harness import to_the_end, wait_for_state
from tests.support.teams.parallel_review import (
    BROKEN,
    begin,
    everybody,
    play_review,
    position,
    review_conductor,
    writing,
)

MORE = position('REVISE_BEST', 'coder1', changes=['be quick'])


async def test_one_coder_and_one_reviewer_need_no_debate():
    script = everybody(MORE, position('APPROVE', 'coder1', agrees=False), reviewers=1)
    outcome, states = await play_review(script, coders=1, reviewers=1)
    memory = outcome.memory
    assert states == [
        'preparing', 'implementing', 'consolidating', 'reviewing', 'choosing',
        'iterating', 'revising', 'gathering', 'final_review', 'weighing', 'iterating', 'complete',
    ]  # fmt: skip
    assert outcome.answer.startswith('Approved: coder1, version 2, after 1 revision.')
    assert memory['candidates']['coder1']['versions'][1]['answers'] == ['be quick']
    assert [(consensus['debate'], consensus['by']) for consensus in memory['consensuses']] == [
        (1, ['reviewer1']),
        (2, ['reviewer1']),
    ]


async def test_one_reviewer_may_approve_one_of_several_immediately():
    outcome, states = await play_review(everybody(position('APPROVE', 'coder2'), reviewers=1), reviewers=1)
    assert outcome.answer.startswith('Approved: coder2, version 1, after 0 revisions.')
    assert states[-4:] == ['choosing', 'picking', 'iterating', 'complete']


async def test_one_reviewer_cannot_approve_failing_tests():
    script = everybody(position('APPROVE', 'coder1'), reviewers=1, coder1=writing('bad'))
    outcome, _ = await play_review(script, coders=1, reviewers=1, max_revisions=0)
    assert not outcome.memory['approved'] and 'required tests' in outcome.memory['refusals'][0]


async def test_when_the_only_reviewer_fails_the_run_says_why():
    script = everybody(MORE, reviewers=1) | {'reviewing.reviewer1.reading': BROKEN}
    outcome, states = await play_review(script, coders=1, reviewers=1)
    assert outcome.status is Status.FAILED and states[-1] == 'failed'
    assert 'no such key' in outcome.answer


async def test_an_undecided_only_reviewer_is_not_asked_again():
    unsure = position('UNDECIDED', 'coder1', agrees=False)
    script = everybody(unsure, unsure, reviewers=1, synthesizer=MORE)
    outcome, _ = await play_review(script, coders=1, reviewers=1, max_revisions=1)
    final = [entry['speaker'] for entry in outcome.memory['transcript'] if entry['phase'] == 'final']
    assert final == ['reviewer1', 'synthesizer']


async def test_the_only_reviewers_seat_can_be_taken():
    async with review_conductor(everybody(MORE, reviewers=1)) as conductor:
        run = await begin(conductor, coders=1, reviewers=1, max_revisions=1, tests='', pick='person')
        await conductor.send(run, 'take_seat', data={'seat': 'reviewer1'})
        await wait_for_state(conductor, run, 'reviewing.reviewer1.person')
        await conductor.send(
            run, 'say', data={'text': 'Not yet.', 'verdict': 'REVISE_BEST', 'best': 'Coder 1@1'}
        )
        await wait_for_state(conductor, run, 'final_review.reviewer1.person')
        await conductor.send(run, 'say', data={'text': 'It is good.', 'verdict': 'APPROVE'})
        outcome = await to_the_end(conductor, run)
        assert await conductor.audit(run)
    assert outcome.memory['approved'] and outcome.memory['transcript'][-1]['human']
    assert outcome.memory['transcript'][0]['position']['best'] == 'coder1'


@pytest.mark.parametrize('fails', ['reviewer1', 'reviewer2'])
async def test_a_result_is_synthesized_once_one_reviewer_is_left_and_has_spoken(fails):
    script = everybody(position('REVISE_BEST', 'coder1', agrees=False), synthesizer=MORE)
    script[f'debating.{fails}.speaking'] = BROKEN
    outcome, _ = await play_review(script, max_rounds=10, max_revisions=0)
    debate = [entry for entry in outcome.memory['transcript'] if entry['phase'] == 'debate']
    assert [(turn['speaker'], turn['round']) for turn in debate] == [
        ('reviewer1', 1), ('reviewer2', 1), ('synthesizer', 2),
    ]  # fmt: skip


async def test_a_synthesized_approval_keeps_the_reviewers_demands():
    script = everybody(position('REVISE_BEST', 'coder1', agrees=False, changes=['be quick', 'be safe']))
    script['synthesizer'] = position('APPROVE', 'coder1', changes=['be safe', 'be short'])
    outcome, _ = await play_review(script, max_rounds=1)
    first = outcome.memory['consensuses'][0]
    assert (first['verdict'], first['changes']) == ('UNDECIDED', ['be safe', 'be short', 'be quick'])
    assert outcome.memory['candidates']['coder1']['versions'][1]['answers'] == first['changes']
