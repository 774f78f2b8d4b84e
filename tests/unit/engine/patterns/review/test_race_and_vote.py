"""Race and vote: the first to pass wins and stops the others; answers are counted or judged."""

from __future__ import annotations

import asyncio

import pytest

from engine import LocalConductor, Status
from engine.journal import MemoryJournal
from engine.patterns.competition.race import Race
from engine.patterns.competition.vote import Vote, normalize
from engine.records import Outcome
from tests.support.harness import FakeModel, HastyClock, to_the_end
from tests.support.teams.parallel_review import BROKEN, WordSandbox, actors, review_catalog, writing


async def play(name, model, **parameters) -> Outcome:
    fake_model = model if isinstance(model, FakeModel) else FakeModel(actors(model))
    async with LocalConductor(
        MemoryJournal(),
        catalog=review_catalog(fake_model, Race, Vote),
        clock=HastyClock(),
        sandbox=WordSandbox(),
    ) as conductor:
        run = (await conductor.start(name, {'task': 'Do it well.', **parameters})).id
        outcome = await to_the_end(conductor, run)
        assert await conductor.audit(run)
        assert fake_model.running == 0
        return outcome


async def test_the_first_passing_candidate_wins_and_the_others_are_stopped():
    script = {'racer1': writing('bad'), 'racer2': writing('good'), 'racer3': lambda request: asyncio.Event()}
    outcome = await play('race', script, command='check')
    assert outcome.status is Status.DONE
    assert (outcome.memory['winner'], outcome.memory['passed']) == ('racer2', True)
    assert outcome.memory['candidates']['racer3']['versions'] == []


async def test_without_a_passing_candidate_the_best_wins_or_the_run_fails():
    script = {f'racer{n}': writing('bad') for n in (1, 2)}
    outcome = await play('race', script, racers=2, command='check')
    assert (outcome.status, outcome.memory['passed']) == (Status.DONE, False)
    assert 'best of those that did not pass' in outcome.answer
    outcome = await play('race', script, racers=2, command='check', otherwise='fail')
    assert outcome.status is Status.FAILED and 'racer2: the test command failed;' in outcome.answer


async def test_a_race_continues_without_failed_coders():
    outcome = await play('race', {'racer1': BROKEN, 'racer2': writing('good')}, racers=2, command='check')
    assert outcome.memory['winner'] == 'racer2'
    outcome = await play('race', {'racer1': BROKEN, 'racer2': BROKEN}, racers=2, command='check')
    assert outcome.status is Status.FAILED and 'racer1: no such key' in outcome.answer


def votes(*answers, **more):
    """Return each voter's answers; a tuple holds one answer per ballot."""
    return more | {
        f'voter{n}': [{'answer': item} if isinstance(item, str) else item for item in answer]
        if isinstance(answer, tuple)
        else {'answer': answer}
        if isinstance(answer, str)
        else answer
        for n, answer in enumerate(answers, start=1)
    }


async def test_equivalent_answers_are_counted_together():
    outcome = await play('vote', votes('No.', ' no', 'yes'))
    assert (outcome.answer, outcome.memory['settled_by']) == ('No.', 'count')
    assert outcome.memory['tally'] == {'no': 2, 'yes': 1}


@pytest.mark.parametrize(
    ('one', 'other', 'same'),
    [
        ('42', ' 42. ', True),
        ('Yes!', 'YES', True),
        ('a  b', 'a b', True),
        ('-1', '1', False),
        ('½', '0.5', False),
    ],
)
def test_equivalence_of_answers(one, other, same):
    assert (normalize(one) == normalize(other)) is same


async def test_a_tie_leads_to_a_second_ballot_that_sees_the_first():
    model = FakeModel(actors(votes('yes', ('no', 'yes'))))
    outcome = await play('vote', model, voters=2)
    assert (outcome.answer, outcome.memory['number'], len(outcome.memory['ballots'])) == ('yes', 2, 4)
    assert 'The last ballot was tied' in model.requests[-1].messages[-1].text


async def test_a_remaining_tie_goes_to_the_first():
    outcome = await play('vote', votes('yes', 'no'), voters=2, max_ballots=2)
    assert (outcome.answer, outcome.memory['settled_by'], outcome.memory['number']) == ('yes', 'first', 2)
    outcome = await play('vote', votes('c', 'b', 'b', 'a', 'a'), voters=5, ties='first')
    assert (outcome.answer, outcome.memory['number']) == ('b', 1)


@pytest.mark.parametrize(
    ('ruling', 'answer', 'by'),
    [
        ({'answer': 'NO', 'why': 'w'}, 'no', 'judge'),
        ({'answer': 'neither'}, 'yes', 'first'),
        (BROKEN, 'yes', 'first'),
    ],
)
async def test_a_judge_breaks_a_tie_with_a_given_answer(ruling, answer, by):
    outcome = await play('vote', votes('yes', 'no', judge=ruling), voters=2, ties='judge')
    assert (outcome.answer, outcome.memory['settled_by']) == (answer, by)


async def test_a_judge_may_overrule_the_majority():
    outcome = await play('vote', votes('yes', 'yes', 'no', judge={'answer': 'no'}), decided_by='judge')
    assert (outcome.answer, outcome.memory['settled_by']) == ('no', 'judge')


async def test_a_vote_continues_without_failed_voters():
    outcome = await play('vote', votes('yes', BROKEN, 'yes'))
    assert outcome.answer == 'yes' and 'no such key' in outcome.memory['failed']['voter2']
    outcome = await play('vote', votes(BROKEN, BROKEN), voters=2)
    assert outcome.status is Status.FAILED
