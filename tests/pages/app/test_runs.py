"""The list of runs, in a simulated browser."""

from dataclasses import replace

import pytest

from engine import Status
from engine.errors import JournalUnavailable
from engine.records import RunId, RunInfo, Usage
from tests.support.pages.clicks import click, see

NOW = 1_700_000_000.0


async def keep(conductor, number: int, **fields):
    """Store a run that no process executes."""
    info = RunInfo(
        id=RunId(f'run{number:03}'), pattern='pipeline', title=f'Run {number}', status=Status.DONE,
        created=NOW + number, updated=NOW + number + 75, seq=12, usage=Usage(input=3_000, output=400),
    )  # fmt: skip
    await conductor.journal.create(replace(info, **fields), conductor.catalog.draw('pipeline'))


async def test_a_row_says_where_replies_come_from_beside_its_other_facts(pages, conductor):
    await keep(conductor, 1, pinned=True, options={'replay': 'run000'})
    await pages.open('/runs')
    for fact in ('pinned', 'replayed'):
        await pages.should_see(fact)
    await pages.should_not_see('simulated')


async def test_a_row_shows_who_started_its_run(pages, conductor):
    await keep(conductor, 1, author='ada')
    await keep(conductor, 2, author='schedule:Nightly: all')
    await pages.open('/runs')
    await see(pages, 'by ada', 'by schedule Nightly: all')


async def test_a_row_summarizes_its_run(pages, conductor):
    await keep(
        conductor, 1, status=Status.FAILED, error='the model is overloaded', tags=('weekly',), note='again'
    )
    await pages.open('/runs')
    await see(pages, 'Run 1', 'Failed', '12', '3.4k', '1:15', 'weekly', 'again', 'simulated')
    await pages.should_see('the model is overloaded')


async def test_a_row_of_an_incomplete_run_is_done_with_issues(pages, conductor):
    await keep(conductor, 1, error='2 of 5 tasks failed')
    await pages.open('/runs')
    await see(pages, 'Done with issues', '2 of 5 tasks failed')


async def test_a_row_marks_forks_and_counts_hidden_tags(pages, conductor):
    born = {'parent': RunId('run001'), 'tags': tuple('abcde')}
    await keep(conductor, 1)
    await keep(conductor, 2, **born, parent_at=8)
    await keep(conductor, 3, **born, options={'kind': 'rerun'})
    await keep(conductor, 4, **born, parent_at=5, options={'kind': 'retry'})
    await pages.open('/runs')
    await see(pages, 'fork at 8', 'run again', 'retry at 5', '+2')
    await pages.should_not_see('fork at 0')


async def test_the_button_of_collapsed_filters_counts_them(pages, conductor):
    await keep(conductor, 1, tags=('weekly',))
    await pages.open('/runs?tag=weekly&status=done&text=run')
    await pages.should_see('(2)')
    await pages.open('/runs?text=run')
    await pages.should_not_see('(')


async def test_runs_of_a_pattern_are_filtered_by_its_version(pages, conductor):
    await keep(conductor, 1, version='0123456789ab')
    await keep(conductor, 2, version='ba9876543210')
    await pages.open('/runs')
    await see(pages, 'Run 1', 'Run 2')
    await pages.should_not_see('0123456789ab')  # Only a pattern's versions can be told apart.
    await pages.open('/runs?pattern=pipeline')
    await see(pages, 'Any version', '0123456789ab', 'ba9876543210')
    await pages.open('/runs?pattern=pipeline&version=ba9876543210')
    await pages.should_see('Run 2')
    await pages.should_not_see('Run 1')


async def test_the_empty_list_links_to_the_patterns(pages):
    await pages.open('/runs')
    await pages.should_see('Choose a pattern')


async def test_the_reason_of_a_cancelled_run_is_no_failure(pages, conductor):
    await keep(conductor, 1, status=Status.CANCELLED, error='not needed')
    await pages.open('/runs')
    await pages.should_see('not needed')
    reasons = [
        element for element in pages.client.elements.values() if getattr(element, 'text', '') == 'not needed'
    ]
    assert [sorted(item.classes) for item in reasons] == [['run-reason']]  # red is for failures


async def test_the_runs_of_experiments_can_be_left_out(pages, conductor):
    await keep(conductor, 1)
    await keep(conductor, 2, tags=('experiment:abc', 'case:1'))
    await pages.open('/runs')
    await see(pages, 'Run 1', 'Run 2')
    await pages.open('/runs?tag=-experiment%3A')
    await see(pages, 'Run 1')
    await pages.should_not_see('Run 2')


async def test_the_address_filters_and_turns_pages(pages, conductor):
    for number in range(60):
        await keep(conductor, number)
    await pages.open('/runs?page=3')
    await pages.should_see('51–60 of 60')
    await pages.should_not_see('Run 15')
    await pages.open('/runs?text=run+15')
    await pages.should_see('Run 15')
    await pages.should_not_see('Run 16')


@pytest.mark.parametrize(
    'query', ['page=99', 'page=0', 'page=x', 'status=odd', 'since=2026-99-99', 'until=x']
)
async def test_an_invalid_address_shows_all_runs(pages, conductor, query):
    await keep(conductor, 1)
    await pages.open(f'/runs?{query}')
    await pages.should_see('Run 1')


async def test_no_match_offers_to_clear_the_filters(pages, conductor):
    await keep(conductor, 1)
    await pages.open('/runs?text=nothing')
    await pages.should_see('No runs match.')
    click(pages, 'Clear filters')
    await pages.should_see('Run 1')


async def test_an_unreadable_list_says_so_and_recovers(pages, conductor, monkeypatch):
    await keep(conductor, 1)
    with monkeypatch.context() as broken:

        async def runs(query):
            raise JournalUnavailable('the database is locked')

        broken.setattr(conductor.journal, 'runs', runs)
        await pages.open('/runs')
        await pages.should_see('the database is locked')
    await pages.should_see('Run 1', retries=30)
    await pages.should_not_see('the database is locked')
