"""An approval holds only for the candidate and version that the reviewers approved."""

from __future__ import annotations

from typing import Any

import pytest

from engine import Status
from engine.records import Outcome
from tests.support.harness import to_the_end, wait_for_state
from tests.support.teams.parallel_review import (
    begin,
    everybody,
    play_review,
    position,
    review_conductor,
    writing,
)

pytestmark = pytest.mark.slow

APPROVES_FIRST = position('APPROVE', 'coder1')
NOT_IT = 'Not approved: the reviewers approved coder1. Delivered: coder2, version 1, after 0 revisions.'


async def choose(script: dict[str, Any], candidate: str) -> Outcome:
    """Play a review in which a person chooses this candidate, without revisions."""
    async with review_conductor(script) as conductor:
        run = await begin(conductor, pick='person', max_revisions=0)
        await wait_for_state(conductor, run, 'picking')
        await conductor.send(run, 'choose', data={'candidate': candidate})
        outcome = await to_the_end(conductor, run)
        assert await conductor.audit(run)
    return outcome


@pytest.mark.parametrize(('candidate', 'approved'), [('coder1', True), ('coder2', False)])
async def test_a_person_can_deliver_another_candidate_unapproved(candidate, approved):
    outcome = await choose(everybody(APPROVES_FIRST), candidate)
    assert (outcome.memory['result'], outcome.memory['approved']) == (candidate, approved)
    assert outcome.answer.startswith('Approved: coder1' if approved else NOT_IT)


@pytest.mark.parametrize('must_pass', [True, False])
async def test_a_model_can_deliver_another_candidate_unapproved(must_pass):
    script = everybody(APPROVES_FIRST, chooser={'candidate': 'coder2'}, coder2=writing('bad'))
    outcome, _ = await play_review(script, pick='model', max_revisions=0, must_pass=must_pass)
    assert (outcome.memory['result'], outcome.memory['approved']) == ('coder2', False)
    assert outcome.answer.startswith(NOT_IT)


async def test_tests_can_deliver_another_candidate_unapproved():
    script = everybody(APPROVES_FIRST, coder1=writing('bad'), coder3=writing('bad'))
    outcome, _ = await play_review(script, pick='tests', max_revisions=0)
    assert (outcome.memory['result'], outcome.memory['approved']) == ('coder2', False)
    assert outcome.answer.startswith(NOT_IT)


async def test_the_ranking_delivers_the_approved_candidate():
    ranked = APPROVES_FIRST | {'ranking': ['coder2', 'coder1', 'coder3']}
    outcome, _ = await play_review(everybody(ranked), max_revisions=0)
    assert (outcome.memory['result'], outcome.memory['approved']) == ('coder1', True)


async def test_a_candidate_ranked_first_by_all_is_approved():
    ranked = position('APPROVE', ranking=['coder1', 'coder2', 'coder3'])
    outcome, _ = await play_review(
        everybody(ranked, chooser={'candidate': 'coder2'}), pick='model', max_revisions=0
    )
    assert outcome.answer.startswith(NOT_IT)


async def test_a_chosen_candidate_that_was_not_approved_is_revised_and_reviewed():
    script = everybody(APPROVES_FIRST, position('APPROVE', 'coder2'), chooser={'candidate': 'coder2'})
    outcome, states = await play_review(script, pick='model')
    assert outcome.status is Status.DONE and 'final_review' in states
    assert outcome.answer.startswith('Approved: coder2, version 2, after 1 revision.')
    assert 'the reviewers approved coder1' in outcome.memory['refusals'][0]


DIVIDED = {
    'debating.reviewer1.speaking': position('APPROVE', ranking=['coder1', 'coder2', 'coder3']),
    'debating.reviewer2.speaking': position('APPROVE', ranking=['coder2', 'coder1', 'coder3']),
}
UNNAMED = 'Not approved: the reviewers did not say which one they approve. Delivered: '


@pytest.mark.parametrize('first', [DIVIDED, {}])
@pytest.mark.parametrize('pick', ['ranking', 'tests', 'model'])
async def test_an_approval_that_names_no_candidate_counts_for_none_of_several(pick, first):
    script = everybody(position('APPROVE'), chooser={'candidate': 'coder3'}) | first
    outcome, _ = await play_review(script, pick=pick, max_revisions=0)
    assert not outcome.memory['approved'] and outcome.answer.startswith(UNNAMED)
    assert outcome.error == 'not approved: the reviewers did not say which one they approve'


@pytest.mark.parametrize(
    ('best', 'approves'),
    [
        ('coder2', 'coder2'),  # wrote nothing
        ('coder9', 'coder9'),  # does not exist
        ('coder1 version 7', 'coder1 version 7'),
        ('coder1@7', 'coder1@7'),
        ('coder11', 'coder11'),
        ('coder1@1', ''),
        ('Coder 1', ''),
        ('coder1, version 1', ''),
        ('', ''),  # only one is left
    ],
)
@pytest.mark.parametrize('answers', ['record', 'words'])
async def test_an_approval_is_of_who_was_named(best, approves, answers):
    says = f'CONSENSUS: APPROVE: {best}' if answers == 'words' else position('APPROVE', best)
    script = everybody(says, says, coder2='I write nothing.')
    outcome, _ = await play_review(script, coders=2, answers=answers, max_revisions=0)
    said = f'Not approved: the reviewers approved {approves}. Delivered' if approves else 'Approved'
    assert outcome.answer.startswith(f'{said}: coder1, version 1, after 0 revisions.')


async def test_a_person_cannot_deliver_an_unnamed_candidate_as_approved():
    outcome = await choose(everybody(position('APPROVE')) | DIVIDED, 'coder3')
    assert outcome.answer.startswith(UNNAMED)


async def test_an_unnamed_candidate_is_revised_and_reviewed_alone():
    outcome, _ = await play_review(everybody(position('APPROVE')) | DIVIDED)
    assert outcome.answer.startswith('Approved: coder1, version 2, after 1 revision.')


async def test_only_the_candidate_reviewed_alone_is_approved():
    script = everybody(position('REVISE_BEST', 'coder1'), position('APPROVE'))
    outcome, _ = await play_review(
        script | {'chooser': {'candidate': 'coder1'}}, pick='model', max_revisions=1
    )
    assert outcome.answer.startswith('Approved: coder1, version 2')
    assert outcome.memory['subjects'] == ['coder1']


async def test_the_only_reviewers_first_choice_is_approved():
    ranked = position('APPROVE', ranking=['coder2', 'coder1', 'coder3'])
    outcome, _ = await play_review(everybody(ranked, reviewers=1), reviewers=1, max_revisions=0)
    assert outcome.answer.startswith('Approved: coder2')
    outcome, _ = await play_review(
        everybody(ranked, reviewers=1, chooser={'candidate': 'coder3'}), reviewers=1, pick='model',
        max_revisions=0,
    )  # fmt: skip
    assert outcome.answer.startswith('Not approved: the reviewers approved coder2.')
