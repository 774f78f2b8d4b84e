"""Every path of a parallel review: approval, revision of the best or of all, out of rounds."""

from __future__ import annotations

import pytest

from engine import Status
from engine.errors import ModelError
from tests.support.teams.parallel_review import BEST, BROKEN, everybody, play_review, position, writing

pytestmark = pytest.mark.slow

START = ['preparing', 'implementing', 'consolidating', 'reviewing', 'debating', 'choosing']
AGAIN = ['iterating', 'revising', 'gathering', 'final_review', 'weighing']


async def test_an_immediate_approval_completes_the_run():
    outcome, states = await play_review(everybody(position('APPROVE', 'coder2')))
    memory = outcome.memory
    assert states == [*START, 'picking', 'iterating', 'complete']
    assert (outcome.status, memory['approved'], memory['result']) == (Status.DONE, True, 'coder2')
    assert memory['revision_count'] == 0
    assert outcome.answer.startswith('Approved: coder2, version 1, after 0 revisions.')


async def test_only_the_best_is_revised():
    outcome, states = await play_review(everybody(position('REVISE_BEST', 'coder2', changes=['be quick'])))
    memory = outcome.memory
    assert states == [*START, 'picking', *AGAIN, 'iterating', 'complete']
    assert [len(memory['candidates'][f'coder{n}']['versions']) for n in (1, 2, 3)] == [1, 2, 1]
    assert memory['candidates']['coder2']['versions'][1]['answers'] == ['be quick']
    assert (memory['approved'], memory['result'], memory['revision_count']) == (True, 'coder2', 1)


async def test_all_are_revised_before_the_best_is_picked():
    ranked = position('APPROVE', ranking=['coder3', 'coder1', 'coder2'])
    outcome, states = await play_review(everybody(position('REVISE_ALL'), ranked))
    memory = outcome.memory
    assert states == [*START, *AGAIN, 'picking', 'iterating', 'complete']
    assert {len(candidate['versions']) for candidate in memory['candidates'].values()} == {2}
    assert (memory['approved'], memory['result']) == (True, 'coder3')
    assert memory['choices'][-1]['by'] == 'ranking'


async def test_without_a_strategy_the_best_is_revised_and_marked_as_synthesized():
    script = everybody(
        position('UNDECIDED', 'coder2', ranking=['coder3', 'coder2', 'coder1']),
        synthesizer=position('UNDECIDED', changes=['do it']),
    )
    outcome, _ = await play_review(script, max_rounds=2)
    memory = outcome.memory
    assert memory['consensuses'][0]['synthesized'] and memory['consensuses'][0]['by'] == []
    assert memory['transcript'][-3]['synthesized']
    # coder3 was ranked first by both; being first in the list does not matter.
    assert [standing['coder'] for standing in memory['standings']] == ['coder3', 'coder2', 'coder1']
    assert memory['candidates']['coder3']['versions'][1]['answers'] == ['do it']
    assert memory['candidates']['coder1']['versions'][1:] == []


async def test_revisions_are_counted_once_and_the_last_one_is_reviewed_too():
    no = position('REVISE_BEST', 'coder1', changes=['more'])
    outcome, states = await play_review(everybody(no, no), max_revisions=2)
    memory = outcome.memory
    assert states == [*START, 'picking', *AGAIN, *AGAIN, 'iterating', 'complete']
    assert (outcome.status, memory['approved'], memory['revision_count']) == (Status.DONE, False, 2)
    assert len(memory['candidates']['coder1']['versions']) == 3
    assert [consensus['debate'] for consensus in memory['consensuses']] == [1, 2, 3]
    assert outcome.answer.startswith('Not approved: coder1, version 3, after 2 revisions.')
    assert '- more' in outcome.answer


async def test_the_second_revision_may_be_approved():
    no = position('REVISE_BEST', 'coder1', changes=['more'])
    outcome, _ = await play_review(everybody(no, no, position('APPROVE', 'coder1')))
    assert (outcome.memory['approved'], outcome.memory['revision_count']) == (True, 2)


async def test_zero_revisions_are_allowed():
    outcome, states = await play_review(everybody(position('REVISE_ALL')), max_revisions=0)
    assert states == [*START, 'iterating', 'complete']
    assert (outcome.status, outcome.memory['approved']) == (Status.DONE, False)


async def test_approval_requires_passing_required_tests():
    script = everybody(position('APPROVE', 'coder1'), coder1=writing('bad'))
    script['revising.coder1.working'] = writing('bad again')
    outcome, states = await play_review(script, max_revisions=1)
    memory = outcome.memory
    assert states == [*START, 'picking', *AGAIN, 'iterating', 'complete']
    assert not memory['approved'] and len(memory['refusals']) == 2
    assert 'required tests: the test command failed; it reported no tests' in memory['refusals'][0]
    # The coder is told what blocked the approval.
    assert memory['candidates']['coder1']['versions'][1]['answers'][-1] == memory['refusals'][0]


async def test_a_revision_that_changes_nothing_is_no_version_and_is_not_debated():
    script = everybody(BEST, coder1=writing('good'))
    outcome, states = await play_review(script, max_revisions=2)
    coder = outcome.memory['candidates']['coder1']
    assert states == [
        *START,
        'picking',
        'iterating',
        'revising',
        'iterating',
        'revising',
        'iterating',
        'complete',
    ]
    assert (len(coder['versions']), coder['problem']) == (1, 'its revision changed no file')
    assert outcome.answer.startswith('Not approved: coder1, version 1, after 2 revisions.')


async def test_a_revision_that_passes_is_approved():
    script = everybody(position('APPROVE', 'coder1'), coder1=writing('bad'))
    script['revising.coder1.working'] = writing('good now')
    outcome, _ = await play_review(script)
    assert (outcome.memory['approved'], outcome.memory['revision_count']) == (True, 1)


async def test_tests_can_be_ignored():
    script = everybody(position('APPROVE', 'coder1'), coder1=writing('bad'))
    outcome, _ = await play_review(script, must_pass=False)
    assert outcome.memory['approved']


async def test_the_coders_own_tests_are_called_so():
    script = everybody(position('APPROVE', 'coder1'), coder1=writing('good', ('test_it.py', 'x')))
    outcome, _ = await play_review(script, command='', must_pass=False)
    evidence = outcome.memory['candidates']['coder1']['versions'][0]['evidence']
    assert outcome.answer.startswith('Approved: coder1') and '. Own tests: ' in outcome.answer
    assert evidence['none_required'] and 'equired' not in outcome.answer


async def test_a_reviewer_who_is_away_is_named_in_the_result():
    script = everybody(position('APPROVE', 'coder1'), reviewers=3)
    script |= dict.fromkeys(
        [state for state in script if 'reviewer3' in state], ModelError('down', kind='network')
    )
    outcome, _ = await play_review(script, reviewers=3)
    assert outcome.memory['approved'] and outcome.answer.endswith('\nreviewer3 took no part in the end: down')


@pytest.mark.parametrize(
    'synthesis', [position('APPROVE', 'coder1'), position('REVISE_BEST', 'coder1'), 'no record']
)
async def test_where_nobody_asks_for_a_change_nothing_is_revised(synthesis):
    script = everybody(position('APPROVE', 'coder1'), synthesizer=synthesis)
    script |= dict.fromkeys([state for state in script if 'reviewer2' in state], BROKEN)
    outcome, states = await play_review(script, coders=2)
    assert states == [*START, 'picking', 'iterating', 'complete']
    assert outcome.answer.startswith('Not approved: coder1, version 1, after 0 revisions.')
    assert outcome.answer.endswith('reviewer2 took no part in the end: no such key')


async def test_failing_tests_are_revised_even_if_nobody_asks_for_it():
    script = everybody(position('APPROVE', 'coder1'), coder1=writing('bad'), synthesizer=BEST)
    script['debating.reviewer2.speaking'] = BROKEN
    outcome, _ = await play_review(script, coders=2, max_revisions=1)
    assert outcome.memory['revision_count'] == 1


async def test_the_synthesizer_picks_where_the_reviewers_do_not_agree_and_picks_once():
    split = position('REVISE_BEST', 'coder2', agrees=False)
    script = everybody(split, split, synthesizer=BEST)
    outcome, _ = await play_review(script, coders=2, max_rounds=1, final_rounds=1, max_revisions=2)
    picks = [(choice['candidate'], choice['by']) for choice in outcome.memory['choices']]
    assert picks == [('coder1', 'synthesizer')]


async def test_a_pick_by_the_reviewers_stays_theirs_if_the_synthesizer_names_it_again():
    split = position('REVISE_BEST', 'coder2', agrees=False)
    script = everybody(BEST, split, synthesizer=BEST)
    outcome, _ = await play_review(script, coders=2, max_rounds=1, final_rounds=1, max_revisions=1)
    assert [choice['by'] for choice in outcome.memory['choices']] == ['reviewers']


async def test_work_without_tests_has_no_evidence():
    outcome, _ = await play_review(everybody(position('APPROVE', 'coder1')), command='', max_revisions=0)
    assert not outcome.memory['approved']
    assert 'no test was written' in outcome.memory['refusals'][0]


async def test_without_agreement_rounds_end_unapproved():
    script = everybody(position('APPROVE', 'coder1'))
    script['debating.reviewer2.speaking'] = position('REVISE_ALL', agrees=False)
    script['final_review.reviewer2.speaking'] = position('REVISE_ALL', agrees=False)
    script['synthesizer'] = position('APPROVE', 'coder1')
    outcome, _ = await play_review(script, max_rounds=3, final_rounds=2, max_revisions=1)
    memory = outcome.memory
    assert not memory['approved']
    # A synthesis may not approve, so it counts as undecided and the best is revised.
    assert [(consensus['synthesized'], consensus['verdict']) for consensus in memory['consensuses']] == [
        (True, 'UNDECIDED')
    ] * 2
    rounds = [entry['round'] for entry in memory['transcript'] if entry['phase'] == 'debate']
    assert rounds == [1, 1, 2, 2, 3, 3, 3]
    assert sum(entry['phase'] == 'final' for entry in memory['transcript']) == 2 * 2 + 1


async def test_all_demands_are_kept_if_the_synthesis_fails():
    script = everybody(position('REVISE_ALL', agrees=False, changes=['one']))
    script['debating.reviewer2.speaking'] = position('UNDECIDED', agrees=False, changes=['two'])
    script['synthesizer'] = 'no record'
    outcome, _ = await play_review(script, max_rounds=1)
    consensus = outcome.memory['consensuses'][0]
    assert (consensus['synthesized'], consensus['verdict'], consensus['changes']) == (
        True,
        'REVISE_BEST',
        ['one', 'two'],
    )


@pytest.mark.parametrize(('coders', 'reviewers'), [(2, 2), (6, 3), (2, 5)])
async def test_any_number_of_agents_can_take_part(coders, reviewers):
    script = everybody(position('REVISE_ALL'), position('APPROVE', 'coder2'), reviewers=reviewers)
    outcome, _ = await play_review(script, coders=coders, reviewers=reviewers)
    memory = outcome.memory
    assert memory['approved'] and len(memory['candidates']) == coders
    assert {len(candidate['versions']) for candidate in memory['candidates'].values()} == {2}
    assert memory['consensuses'][0]['by'] == [f'reviewer{n}' for n in range(1, reviewers + 1)]
