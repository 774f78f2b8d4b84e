"""A coder that wrote no file is no candidate: it is not reviewed and cannot win a race."""

from __future__ import annotations

import pytest

from engine import LocalConductor, Status
from engine.journal import MemoryJournal
from engine.patterns.competition.race import Race
from tests.support.harness import FakeModel, HastyClock, calls, to_the_end
from tests.support.teams.parallel_review import (
    WordSandbox,
    actors,
    everybody,
    play_review,
    position,
    review_catalog,
    writing,
)


async def test_a_coder_without_a_file_has_failed():
    script = everybody(position('APPROVE', 'coder2'), coder1='I am done.')
    outcome, _ = await play_review(script)
    idle = outcome.memory['candidates']['coder1']
    assert (idle['status'], idle['problem'], idle['versions']) == ('failed', 'it wrote no file', [])
    assert outcome.memory['result'] == 'coder2'
    outcome, _ = await play_review(script, survivors=3)
    assert outcome.status is Status.FAILED and 'coder1: it wrote no file' in outcome.answer


@pytest.mark.parametrize('parts', [('project',), ('tests',), ('project', 'tests')])
async def test_given_files_do_not_count_as_written(parts, tmp_path):
    (tmp_path / 'work.txt').write_text('good as it was given')
    script = everybody(position('APPROVE', 'coder2'), coder1='I am done.')
    # Writing the given file unchanged does not count either.
    script['coder3'] = writing('good as it was given')
    outcome, _ = await play_review(script, **dict.fromkeys(parts, str(tmp_path)))
    statuses = [candidate['status'] for candidate in outcome.memory['candidates'].values()]
    assert statuses == ['failed', 'ready', 'failed']


async def test_of_many_files_reviewers_see_the_coders_own_first_and_no_list_of_all(tmp_path):
    for number in range(300):
        (tmp_path / f'{number}.txt').write_text('given ' * 100)
    model = FakeModel(actors(everybody(position('APPROVE', 'coder2'))))
    await play_review(model, project=str(tmp_path), files='copy')
    shown = next(
        message.text
        for request in model.requests
        if request.hints.state == 'reviewing.reviewer1.reading'
        for message in request.messages
        if 'the files of coder2' in message.text
    )
    assert 'good coder2' in shown and 'more files, not shown]' in shown
    assert shown.count('bytes, not shown)') == 3 * 200


async def test_leftovers_of_tools_do_not_count_as_written():
    leaves = FakeModel(actors(everybody(position('APPROVE', 'coder2'), coder1=cache_only)))
    outcome, _ = await play_review(leaves)
    assert outcome.memory['candidates']['coder1']['status'] == 'failed'


def cache_only(request):
    if request.messages[-1].role == 'tool':
        return 'I am done.'
    return calls(('write_file', {'path': '.pytest_cache/README.md', 'text': 'x'}))


async def test_no_one_wins_a_race_without_a_file(tmp_path):
    (tmp_path / 'work.txt').write_text('good as it was given')
    model = FakeModel(actors({'racer1': 'I am done.', 'racer2': 'I am done.'}))
    async with LocalConductor(
        MemoryJournal(), catalog=review_catalog(model, Race), clock=HastyClock(), sandbox=WordSandbox()
    ) as conductor:
        parameters = {'task': 'Do it well.', 'racers': 2, 'command': 'check', 'project': str(tmp_path)}
        outcome = await to_the_end(conductor, (await conductor.start('race', parameters)).id)
    assert outcome.status is Status.FAILED
    assert outcome.answer == 'Nobody won.\n- racer1: it wrote no file\n- racer2: it wrote no file'
