"""Parallel reviews and races give a reason for everything they refuse or cannot do."""

from __future__ import annotations

import asyncio

import pytest

from engine import EventRefused, Status
from tests.support.harness import FakeModel, wait_for_state
from tests.support.teams.parallel_review import (
    BEST,
    BROKEN,
    TWICE,
    begin,
    everybody,
    merging,
    plan,
    play_review,
    review_conductor,
    writing,
)

pytestmark = pytest.mark.slow


async def refusal(conductor, run, name, **data) -> str:
    with pytest.raises(EventRefused) as refused:
        await conductor.send(run, name, data=data)
    return str(refused.value)


async def test_a_refused_choice_names_the_guard_and_its_values():
    async with review_conductor(everybody(BEST)) as conductor:
        run = await begin(conductor, pick='person', max_revisions=0)
        await wait_for_state(conductor, run, 'picking')
        reason = await refusal(conductor, run, 'choose', candidate='coder9')
    assert "does not accept 'choose' now: is_candidate is false: The candidate is still in play" in reason
    assert "event.candidate = 'coder9'" in reason and 'candidates = coder1, coder2, coder3' in reason


async def test_the_refusal_of_a_seat_says_why():
    async with review_conductor(FakeModel(lambda request: asyncio.Event())) as conductor:
        run = await begin(conductor)
        reason = await refusal(conductor, run, 'take_seat', seat='reviewer9')
        assert 'may_sit is false: There is such a seat, and no person sits in it' in reason
        assert "event.seat = 'reviewer9'" in reason
        await conductor.send(run, 'take_seat', data={'seat': 'reviewer1'})
        assert 'seats = reviewer1' in await refusal(conductor, run, 'take_seat', seat='reviewer1')
        # Events without an edge are refused as usual.
        assert 'the active states accept' in await refusal(conductor, run, 'choose', candidate='coder1')


async def test_the_refusal_of_a_settlement_says_why():
    async with review_conductor(merging()) as conductor:
        run = await begin(conductor, merge='files', files_by='person', conflicts='person')
        await wait_for_state(conductor, run, 'merging.listing')
        reason = await refusal(conductor, run, 'take_files', **plan(('nothing.py', 'coder2')))
        assert 'is_plan is false: Each file is in the newest version of a candidate' in reason
        assert 'nothing.py' in reason
        await conductor.send(run, 'take_files', data=TWICE)
        await wait_for_state(conductor, run, 'merging.resolving')
        reason = await refusal(conductor, run, 'resolve', files={'extra.py': 'coder1'})
    assert 'settles is false: Each conflict is settled in favour of one of its candidates' in reason
    assert "'extra.py': 'coder1'" in reason


async def test_a_run_with_too_few_candidates_says_how_many_there_are():
    script = everybody(BEST, coder1=BROKEN)
    outcome, _ = await play_review(script, coders=2, survivors=2)
    assert outcome.status is Status.FAILED
    assert outcome.error == 'only 1 of 2 coders succeeded, and 2 must'
    assert outcome.answer.splitlines() == [
        'Failed.', '- only 1 of 2 coders succeeded, and 2 must', '- coder1: no such key',
    ]  # fmt: skip


async def test_a_conflict_that_fails_the_run_is_named():
    outcome, _ = await play_review(merging(merger=TWICE), merge='files', conflicts='fail')
    assert outcome.status is Status.FAILED
    assert '- extra.py differs between coder3 and coder2' in outcome.answer


async def test_a_path_that_cannot_be_merged_is_named():
    script = everybody(BEST, coder1=writing('good', ('a/b.py', '')), coder2=writing('good', ('a', 'x')))
    outcome, _ = await play_review(script | {'merger': plan(('a', 'coder2'))}, merge='files')
    assert outcome.memory['plan_problem'].startswith('a of coder2 could not be merged: ')
    assert 'Nothing was merged: a of coder2 could not be merged' in outcome.answer


async def test_an_unapproved_result_is_incomplete():
    outcome, _ = await play_review(everybody(BEST, BEST), max_revisions=1)
    assert (outcome.status, outcome.error) == (Status.DONE, 'not approved after 1 revision')
