"""People in a parallel review: they take seats, choose the best, pick files and settle conflicts."""

from __future__ import annotations

import asyncio

import pytest

from engine import EventRefused, InvalidInput, Status
from engine.errors import ModelError
from tests.support.harness import FakeModel, to_the_end, until, wait_for_state
from tests.support.teams.parallel_review import (
    BEST,
    TWICE,
    actors,
    begin,
    everybody,
    merging,
    plan,
    play_review,
    position,
    review_conductor,
    writing,
)

pytestmark = pytest.mark.slow


async def test_a_seat_is_taken_before_the_turn_and_handed_back():
    hold = asyncio.Event()
    script = everybody(BEST, coder2=lambda request: hold)
    model = FakeModel(actors(script))
    async with review_conductor(model) as conductor:
        run = await begin(conductor, coders=2, max_revisions=0)
        await until(lambda: model.running)
        await conductor.send(run, 'take_seat', data={'seat': 'reviewer2'})
        with pytest.raises(EventRefused):
            await conductor.send(run, 'take_seat', data={'seat': 'reviewer2'})
        hold.set()
        await wait_for_state(conductor, run, 'reviewing.reviewer2.person')
        await conductor.send(run, 'say', data={'text': 'REVISE_BEST: coder1 is mine'})
        view = await wait_for_state(conductor, run, 'debating.reviewer2.person')
        assert view.status is Status.WAITING and view.waiting == 'word'
        await conductor.send(
            run, 'say', data={'text': 'Not before it is tested.', 'verdict': 'REVISE_ALL', 'agrees': False}
        )
        await wait_for_state(
            conductor, run, 'debating.reviewer2.person'
        )  # The seat is still taken in the next round.
        await conductor.send(run, 'hand_back', data={'seat': 'reviewer2'})
        outcome = await to_the_end(conductor, run)
        assert await conductor.audit(run)
    _, review, *debate = outcome.memory['transcript']
    assert (review['phase'], review['human'], review['position']['best']) == ('review', True, 'coder1')
    assert 'reviewing.reviewer2.reading' not in {request.hints.state for request in model.requests}
    assert [(turn['speaker'], turn['human']) for turn in debate] == [
        ('reviewer1', False), ('reviewer2', True), ('reviewer1', False), ('reviewer2', False),
    ]  # fmt: skip
    assert (debate[1]['text'], debate[1]['model']) == ('Not before it is tested.', '')
    assert outcome.memory['seats'] == []
    prompts = [r.messages[-1].text for r in model.requests if r.hints.state == 'debating.reviewer1.speaking']
    assert 'reviewer2 (a person), round 1' in prompts[-1]


async def test_a_seat_is_taken_while_the_agent_is_thinking():
    script = everybody(BEST)
    script['debating.reviewer1.speaking'] = lambda request: asyncio.Event()
    model = FakeModel(actors(script))
    async with review_conductor(model) as conductor:
        run = await begin(conductor, max_revisions=0)
        await wait_for_state(conductor, run, 'debating.reviewer1.speaking.thinking')
        await until(lambda: model.running == 1)
        await conductor.send(run, 'take_seat', data={'seat': 'reviewer1'})
        await wait_for_state(conductor, run, 'debating.reviewer1.person')
        await until(lambda: model.running == 0)
        with pytest.raises(InvalidInput):
            await conductor.send(run, 'say', data={'text': ''})
        with pytest.raises(EventRefused):
            await conductor.send(run, 'say', data={'text': 'x', 'verdict': 'APPROVE', 'best': 'coder9'})
        with pytest.raises(EventRefused):
            await conductor.send(run, 'say', data={'text': 'x', 'reviewer': 'reviewer2'})
        await conductor.send(run, 'say', data={'text': 'CONSENSUS: REVISE_BEST: coder1, more tests'})
        outcome = await to_the_end(conductor, run)
    assert outcome.memory['consensuses'][0]['changes'] == ['coder1, more tests']
    assert outcome.memory['consensuses'][0]['by'] == ['reviewer1', 'reviewer2']


async def test_an_unknown_seat_is_refused():
    async with review_conductor(FakeModel(lambda request: asyncio.Event())) as conductor:
        run = await begin(conductor)
        for name in ('take_seat', 'hand_back'):
            with pytest.raises(EventRefused):
                await conductor.send(run, name, data={'seat': 'reviewer9'})


async def test_a_person_chooses_the_best():
    async with review_conductor(everybody(BEST)) as conductor:
        run = await begin(conductor, pick='person', max_revisions=1)
        view = await wait_for_state(conductor, run, 'picking')
        assert (view.status, view.waiting) == (Status.WAITING, 'choice')
        with pytest.raises(EventRefused):
            await conductor.send(run, 'choose', data={'candidate': 'coder9'})
        with pytest.raises(InvalidInput):
            await conductor.send(run, 'choose', data={})
        await conductor.send(run, 'choose', data={'candidate': 'Coder 3', 'why': 'it is short'})
        outcome = await to_the_end(conductor, run)
    assert outcome.memory['choices'][0] == {'candidate': 'coder3', 'why': 'it is short', 'by': 'person'}
    assert outcome.memory['result'] == 'coder3'


async def test_the_tests_choose_the_best():
    script = everybody(position('REVISE_BEST', 'coder1'), coder1=writing('bad'), coder2=writing('bad'))
    outcome, _ = await play_review(script, pick='tests')
    assert (outcome.memory['result'], outcome.memory['choices'][0]['by']) == ('coder3', 'tests')


@pytest.mark.parametrize(
    ('choice', 'result', 'by'),
    [
        ({'candidate': 'Coder 2', 'why': 'w'}, 'coder2', 'model'),
        ({'candidate': 'the best one'}, 'coder1', 'reviewers'),
        (ModelError('gone', kind='auth'), 'coder1', 'reviewers'),
    ],
)
async def test_a_model_chooses_the_best_or_otherwise_the_reviewers(choice, result, by):
    outcome, _ = await play_review(everybody(BEST, chooser=choice), pick='model')
    assert (outcome.memory['result'], outcome.memory['choices'][0]['by']) == (result, by)


async def test_other_candidates_are_set_aside():
    outcome, _ = await play_review(everybody(BEST), merge='one')
    candidates = outcome.memory['candidates'].values()
    assert [candidate['status'] for candidate in candidates] == ['ready', 'set aside', 'set aside']


async def test_merged_files_become_a_new_version():
    outcome, _ = await play_review(merging(merger=plan(('extra.py', 'coder2'))), merge='files')
    first, merged, *_ = outcome.memory['candidates']['coder1']['versions']
    assert merged['merged'] == {'extra.py': 'coder2'}
    theirs = outcome.memory['candidates']['coder2']['versions'][0]
    digest = {file['path']: file['digest'] for file in theirs['files']}['extra.py']
    assert digest in {file['digest'] for file in merged['files']}
    assert digest not in {file['digest'] for file in first['files']}
    assert outcome.memory['approved']


async def test_merged_files_are_reviewed_even_if_nobody_asks_for_a_change():
    script = merging(merger=plan(('extra.py', 'coder3')), synthesizer=position('APPROVE', 'coder1'))
    script['debating.reviewer1.speaking'] = position('APPROVE', 'coder1')
    script['debating.reviewer2.speaking'] = ModelError('gone', kind='auth')
    outcome, states = await play_review(script, merge='files', max_revisions=1)
    assert outcome.memory['taken'] and 'final_review' in states


async def test_conflicts_go_to_the_best_ranked():
    script = merging(merger=TWICE)
    script |= {
        f'{state}.reviewer{n}.{leaf}': BEST | {'ranking': ['coder1', 'coder2', 'coder3']}
        for n in (1, 2)
        for state, leaf in (('reviewing', 'reading'), ('debating', 'speaking'))
    }
    outcome, _ = await play_review(script, merge='files')
    (conflict,) = outcome.memory['file_conflicts']
    assert (conflict['coders'], conflict['taken'], conflict['rule']) == (
        ['coder3', 'coder2'],
        'coder2',
        'ranked',
    )


async def test_a_person_picks_files_and_resolves_conflicts():
    async with review_conductor(merging()) as conductor:
        run = await begin(conductor, merge='files', files_by='person', conflicts='person')
        await wait_for_state(conductor, run, 'merging.listing')
        with pytest.raises(EventRefused):
            await conductor.send(run, 'take_files', data=plan(('nothing.py', 'coder2')))
        await conductor.send(run, 'take_files', data=TWICE)
        assert (await wait_for_state(conductor, run, 'merging.resolving')).waiting == 'conflicts'
        for files in ({}, {'extra.py': 'coder1'}):
            with pytest.raises(EventRefused):
                await conductor.send(run, 'resolve', data={'files': files})
        await conductor.send(run, 'resolve', data={'files': {'extra.py': 'coder3'}})
        outcome = await to_the_end(conductor, run)
    assert outcome.memory['taken'] == {'extra.py': 'coder3'}
    assert outcome.memory['file_conflicts'][0]['rule'] == 'person'


@pytest.mark.parametrize('reply', [plan(('none.py', 'coder2')), ModelError('gone', kind='auth')])
async def test_an_invalid_merge_leaves_the_best_unchanged(reply):
    outcome, _ = await play_review(merging(merger=reply), merge='files')
    assert outcome.memory['plan_problem'] and outcome.memory['approved']
    assert {version['merged'] is None for version in outcome.memory['candidates']['coder1']['versions']} == {
        True
    }
