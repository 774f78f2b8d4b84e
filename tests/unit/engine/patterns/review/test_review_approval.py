"""An approval holds only for the candidate and version that the reviewers approved."""

from __future__ import annotations

import pytest

from engine import Status
from tests.support.harness import settled, to_the_end
from tests.support.parallel_review import begin, conducting, everybody, position, reviewed, writing

pytestmark = pytest.mark.anyio

APPROVES_FIRST = position('APPROVE', 'coder1')
NOT_IT = 'Not approved: the reviewers approved coder1. Delivered: coder2, version 1, after 0 revisions.'


@pytest.mark.parametrize(('candidate', 'approved'), [('coder1', True), ('coder2', False)])
async def test_a_person_can_deliver_another_but_not_as_approved(candidate, approved):
    async with conducting(everybody(APPROVES_FIRST)) as here:
        run = await begin(here, pick='person', max_revisions=0)
        await settled(here, run, 'picking')
        await here.send(run, 'choose', data={'candidate': candidate})
        outcome = await to_the_end(here, run)
        assert await here.audit(run)
    assert (outcome.memory['result'], outcome.memory['approved']) == (candidate, approved)
    assert outcome.answer.startswith('Approved: coder1' if approved else NOT_IT)


@pytest.mark.parametrize('must_pass', [True, False])
async def test_a_model_can_deliver_another_but_not_as_approved(must_pass):
    script = everybody(APPROVES_FIRST, chooser={'candidate': 'coder2'}, coder2=writing('bad'))
    outcome, _ = await reviewed(script, pick='model', max_revisions=0, must_pass=must_pass)
    assert (outcome.memory['result'], outcome.memory['approved']) == ('coder2', False)
    assert outcome.answer.startswith(NOT_IT)


async def test_the_tests_can_deliver_another_but_not_as_approved():
    script = everybody(APPROVES_FIRST, coder1=writing('bad'), coder3=writing('bad'))
    outcome, _ = await reviewed(script, pick='tests', max_revisions=0)
    assert (outcome.memory['result'], outcome.memory['approved']) == ('coder2', False)
    assert outcome.answer.startswith(NOT_IT)


async def test_the_ranking_delivers_what_is_approved():
    ranked = APPROVES_FIRST | {'ranking': ['coder2', 'coder1', 'coder3']}
    outcome, _ = await reviewed(everybody(ranked), max_revisions=0)
    assert (outcome.memory['result'], outcome.memory['approved']) == ('coder1', True)


async def test_whom_all_rank_first_is_approved_where_none_is_named():
    ranked = position('APPROVE', ranking=['coder1', 'coder2', 'coder3'])
    outcome, _ = await reviewed(
        everybody(ranked, chooser={'candidate': 'coder2'}), pick='model', max_revisions=0
    )
    assert outcome.answer.startswith(NOT_IT)


async def test_another_than_the_approved_is_revised_and_reviewed_for_itself():
    script = everybody(APPROVES_FIRST, position('APPROVE', 'coder2'), chooser={'candidate': 'coder2'})
    outcome, states = await reviewed(script, pick='model')
    assert outcome.status is Status.DONE and 'final_review' in states
    assert outcome.answer.startswith('Approved: coder2, version 2, after 1 revision.')
    assert 'the reviewers approved coder1' in outcome.memory['refusals'][0]
