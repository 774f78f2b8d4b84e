"""Points that reviewers answer by id, and comments on lines, which go to the coder."""

from __future__ import annotations

import pytest

from engine import EventRefused, InvalidInput
from engine.patterns.review.memory import ReviewMemory
from engine.records import Outcome
from tests.support.harness import FakeModel, to_the_end, wait_for_state
from tests.support.teams.parallel_review import (
    BEST,
    actors,
    begin,
    everybody,
    play_review,
    position,
    review_conductor,
)


def read_prompt(model: FakeModel, state: str) -> str:
    """Return the user messages of a state's last request."""
    requests = [request for request in model.requests if request.hints.state == state]
    return '\n'.join(message.text for message in requests[-1].messages if message.role == 'user')


async def test_a_reviewer_is_shown_the_open_points_of_the_others_with_their_ids():
    first = position('REVISE_BEST', 'coder1', agrees=False, insists=['tests first'], changes=['rename it'])
    answer = {'to': 'reviewer1/1.1/1', 'stance': 'rebuts', 'why': 'It has tests.'}
    script = everybody(BEST)
    script['debating.reviewer1.speaking'] = [first, BEST]
    script['debating.reviewer2.speaking'] = [
        position('REVISE_BEST', 'coder1', agrees=False, answers=[answer]), BEST,
    ]  # fmt: skip
    model = FakeModel(actors(script))
    outcome, _ = await play_review(model, coders=2, max_revisions=0)
    prompts = [r.messages[-1].text for r in model.requests if r.hints.state == 'debating.reviewer2.speaking']
    assert 'reviewer1/1.1/1: tests first' in prompts[0] and 'reviewer1/1.1/2: rename it' in prompts[0]
    second = [entry for entry in outcome.memory['transcript'] if entry['speaker'] == 'reviewer2'][1]
    assert second['position']['answers'] == [answer]


async def test_an_answered_point_is_closed():
    first = position('REVISE_BEST', 'coder1', agrees=False, insists=['tests first', 'no globals'])
    answer = {'to': 'reviewer1/1.1/1', 'stance': 'accepts', 'why': ''}
    script = everybody(BEST)
    script['debating.reviewer1.speaking'] = first
    script['debating.reviewer2.speaking'] = position('REVISE_ALL', agrees=False, answers=[answer])
    script['synthesizer'] = BEST
    outcome, _ = await play_review(script, coders=2, max_revisions=0, max_rounds=1)
    memory = ReviewMemory.model_validate(outcome.memory)
    open_ids = [name for name, _ in memory.open_points('reviewer2')]
    assert 'reviewer1/1.1/2' in open_ids and 'reviewer1/1.1/1' not in open_ids


async def test_a_coder_is_told_of_no_changes_where_nobody_asked_for_any():
    model = FakeModel(actors(everybody(BEST)))
    await play_review(model, coders=1, max_revisions=1)
    prompt = read_prompt(model, 'revising.coder1.working')
    assert 'REVISE_BEST coder1' in prompt and 'What you must change' not in prompt


async def test_a_persons_comment_reaches_the_coder_and_blocks_approval():
    script = everybody(BEST)
    model = FakeModel(actors(script))
    comment = {'candidate': 'coder1', 'path': 'work.txt', 'line': 1, 'text': 'Say why.'}
    async with review_conductor(model) as conductor:
        run = await begin(conductor, coders=2, max_revisions=2, pick='person')
        await wait_for_state(conductor, run, 'picking')
        for invalid in ({'path': 'other.txt'}, {'candidate': 'coder9'}):
            with pytest.raises(EventRefused):
                await conductor.send(run, 'comment', data=comment | invalid)
        with pytest.raises(InvalidInput):
            await conductor.send(run, 'comment', data=comment | {'line': 0})
        await conductor.send(run, 'comment', data=comment)
        await conductor.send(run, 'choose', data={'candidate': 'coder1'})
        outcome = await to_the_end(conductor, run)
        assert await conductor.audit(run)
    prompt = read_prompt(model, 'revising.coder1.working')
    assert 'work.txt, line 1 of version 1 (a person): Say why.' in prompt
    comments = outcome.memory['comments']
    assert [(item['sent'], item['version'], item['by']) for item in comments] == [(1, 1, '')]
    assert 'work.txt, line 1: Say why.' in outcome.memory['candidates']['coder1']['versions'][1]['answers']
    assert outcome.memory['approved']


async def approve_with_comment_on(candidate: str) -> Outcome:
    """Comment on a candidate's work, and choose coder1, which the reviewers approve."""
    async with review_conductor(everybody(position('APPROVE', 'coder1'))) as conductor:
        run = await begin(conductor, coders=2, max_revisions=1, pick='person')
        await wait_for_state(conductor, run, 'picking')
        comment = {'candidate': candidate, 'path': 'work.txt', 'line': 1, 'text': 'Say why.'}
        await conductor.send(run, 'comment', data=comment)
        await conductor.send(run, 'choose', data={'candidate': 'coder1'})
        outcome = await to_the_end(conductor, run)
        assert await conductor.audit(run)
    return outcome


async def test_unaddressed_comments_block_approval():
    outcome = await approve_with_comment_on('coder1')
    assert 'version 1 has 1 open comment' in outcome.memory['refusals'][0]
    assert len(outcome.memory['candidates']['coder1']['versions']) == 2 and outcome.memory['approved']


async def test_undelivered_comments_are_in_the_outcome():
    outcome = await approve_with_comment_on('coder2')
    assert outcome.memory['approved']
    assert outcome.answer.endswith(
        'Comments by people that no coder received:\n- coder2, version 1, work.txt, line 1: Say why.'
    )


async def test_a_reviewers_comments_go_to_the_coder_once():
    comment = {'candidate': 'Coder 1', 'path': 'work.txt', 'line': 1, 'text': 'Shorter.'}
    lost = {'candidate': 'coder1', 'path': 'nowhere.txt', 'line': 1, 'text': 'Gone.'}
    script = everybody(position('REVISE_BEST', 'coder1', comments=[comment, lost]), reviewers=1)
    outcome, _ = await play_review(script, coders=1, reviewers=1, max_revisions=2)
    assert [(one['text'], one['by'], one['sent']) for one in outcome.memory['comments']] == [
        ('Shorter.', 'reviewer1', 1)
    ]
