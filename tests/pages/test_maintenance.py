"""Stars, pins, the trash and the retention policy on the pages, in a simulated browser."""

from engine import Status
from engine.configuration import Configuration
from engine.journal import Retention
from engine.records import RunId
from tests.pages.app.test_runs import keep
from tests.support.pages.clicks import click, see


async def test_pinned_runs_come_first(pages, conductor):
    await keep(conductor, 1)
    await keep(conductor, 2)
    await conductor.annotate(RunId('run001'), pinned=True)
    for path in ('/', '/runs'):
        await pages.open(path)
        await pages.should_see('pinned')
        titles = [
            element
            for element in pages.client.elements.values()
            if getattr(element, 'text', '') in ('Run 1', 'Run 2')
        ]
        assert [title.text for title in sorted(titles, key=lambda title: title.id)] == ['Run 1', 'Run 2']


async def test_the_list_filters_by_stars_and_pins(pages, conductor):
    for number in (1, 2, 3):
        await keep(conductor, number)
    await conductor.annotate(RunId('run001'), starred=True)
    await conductor.annotate(RunId('run002'), pinned=True)
    await pages.open('/runs?marked=starred')
    await pages.should_see('Run 1')
    await pages.should_not_see('Run 2')
    await pages.open('/runs?marked=pinned')
    await pages.should_see('Run 2')
    await pages.should_not_see('Run 1')
    await pages.open('/runs?marked=odd')
    await pages.should_see('Run 3')


async def test_a_row_shows_the_size_of_the_run(pages, conductor):
    await keep(conductor, 1, bytes=2_345)
    await pages.open('/runs')
    await pages.should_see('2.3 kB')


async def test_deleted_runs_are_only_in_the_trash(pages, conductor):
    await keep(conductor, 1)
    await keep(conductor, 2, status=Status.RUNNING)
    conductor.stranded[RunId('run002')] = 'no such pattern'
    await conductor.delete(RunId('run001'))
    await conductor.delete(RunId('run002'))
    await pages.open('/runs')
    await pages.should_see('No runs yet.')
    await pages.should_not_see('Run 1')
    await pages.open('/')
    await pages.should_not_see('could not continue')
    await pages.open('/trash')
    await see(pages, 'They can be restored for 7 days', 'Run 1', 'deleted just now')


async def test_an_empty_trash_says_so(pages):
    await pages.open('/trash')
    await pages.should_see('The trash is empty.')


async def test_without_a_policy_nothing_is_deleted(pages, conductor):
    await keep(conductor, 1, bytes=4_000)
    await pages.open('/settings')
    await see(pages, 'Keep everything', 'Without a policy, nothing is deleted automatically.')
    await see(pages, '4.0 kB in 1 run', '4.0 kB: history 4.0 kB, files 0 B, recording 0 B')


async def test_the_policy_is_previewed_and_applied(pages, conductor):
    conductor.catalog.configuration = Configuration(retention=Retention(days=30, trash_days=2))
    await keep(conductor, 1, bytes=500)
    await keep(conductor, 2, updated=conductor.clock.now(), bytes=700)
    await pages.open('/settings')
    await see(pages, 'runs that ended more than 30 days ago', 'It would now delete 1 run, 500 B.')
    await pages.should_see('2 days, then deleted permanently')
    click(pages, 'Apply now')
    await see(pages, 'Nothing to delete now.', '700 B in 1 run', 'Plus 500 B in 1 deleted run.')
    assert (await conductor.info(RunId('run001'))).deleted
