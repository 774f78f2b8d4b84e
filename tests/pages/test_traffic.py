"""Many runs on one diagram, in a simulated browser."""

from dataclasses import replace

import pytest

from engine.records import RunQuery
from tests.pages.app.test_runs import keep
from tests.support.harness import complete_run
from tests.support.pages.clicks import click, see
from ui.web.pages.traffic import page


@pytest.fixture
async def runs(conductor):
    """Two finished runs of the pipeline's sample, each with one revision, and one that has not started."""
    return [
        await complete_run(conductor, 'pipeline', {'task': f'Compare tea and coffee, {number}'}, tags=tags)
        for number, tags in enumerate([(), ('odd',)])
    ]


async def test_an_unknown_pattern_is_reported(pages):
    assert (await pages.http_client.get('/patterns/nothing/traffic')).status_code == 404


async def test_without_a_run_there_is_a_way_to_a_sample(pages):
    await pages.open('/patterns/pipeline/traffic')
    await see(pages, 'No runs of this pattern yet', 'Run sample')
    await pages.should_not_see('Failures')


async def test_the_table_holds_the_totals_of_all_runs(pages, runs):
    await pages.open('/patterns/pipeline/traffic')
    await see(pages, '2 runs: 2 done.', 'reviewing')
    await pages.should_see('2.0')  # visits per run: the reviewer sends the work back once
    await see(pages, 'Compare tea and coffee, 0', 'Compare tea and coffee, 1')


async def test_reading_ends_with_its_page(pages, runs, conductor, monkeypatch, endless):
    monkeypatch.setattr(conductor, 'traffic', endless)
    monkeypatch.setattr(page, 'MAX_FIRST_WAIT', 0.01)
    await pages.open('/patterns/pipeline/traffic')
    await endless.ends_with(pages)


async def test_filters_narrow_what_is_counted(pages, runs):
    await pages.open('/patterns/pipeline/traffic?tag=odd')
    await pages.should_see('1 run: 1 done.')
    await pages.should_not_see('Compare tea and coffee, 0')
    await pages.open('/patterns/pipeline/traffic?tag=none')
    await pages.should_see('No runs match.')


async def test_traffic_is_counted_by_version(pages, runs, conductor):
    await keep(conductor, 1, version='0123456789ab')
    version = conductor.catalog.pattern('pipeline').version
    await pages.open('/patterns/pipeline/traffic')
    await see(pages, '3 runs: 3 done.', 'Any version', version, '0123456789ab')
    await pages.open(f'/patterns/pipeline/traffic?version={version}')
    await see(pages, '2 runs: 2 done.', 'Any version')
    await pages.should_not_see('0123456789ab')


async def test_an_address_picks_an_edge_and_lists_its_runs(pages, runs, conductor):
    assert (await conductor.runs(RunQuery(edges=('reviewing>analyzing',)))).total == 2
    await pages.open('/patterns/pipeline/traffic?edge=reviewing>analyzing')
    await see(pages, 'Runs that took reviewing → analyzing', 'Compare tea and coffee, 1')
    await pages.open('/patterns/pipeline/traffic?edge=researching>failed')
    await pages.should_see('Runs that took researching → failed')
    await pages.should_see('2 runs: 2 done.')  # the heatmap still counts all runs
    await pages.should_not_see('Compare tea and coffee, 1')


async def test_a_row_lists_its_runs_and_a_second_click_clears_it(pages, runs):
    await pages.open('/patterns/pipeline/traffic')
    await pages.should_see('2 runs: 2 done.')
    click(pages, 'pending')
    await pages.should_see('Runs that were in pending')
    click(pages, 'pending')
    await pages.should_see('Matching runs')


async def test_runs_with_other_charts_are_mentioned(pages, runs, conductor):
    info = (await conductor.runs(RunQuery(limit=1))).runs[0]
    shape = await conductor.shape(info.id)
    other = replace(shape, states=shape.states[1:])
    await conductor.journal.create(replace(info, id='other', seq=0, title='Another chart'), other)
    await pages.open('/patterns/pipeline/traffic')
    await pages.should_see('These runs have 2 different charts')


async def test_the_list_of_runs_links_to_traffic_for_a_chosen_pattern(pages, conductor):
    await keep(conductor, 1, tags=('x',))
    await pages.open('/runs?pattern=pipeline&tag=x')
    await pages.should_see('Traffic: these runs on one diagram')
    await pages.open('/runs')
    await pages.should_not_see('Traffic: these runs on one diagram')


async def test_the_selection_is_named_above_the_list_and_can_be_cleared(pages, runs):
    await pages.open('/runs?state=reviewing')
    await see(pages, 'were in reviewing', 'Compare tea and coffee, 1')
    await pages.open('/runs?state=reviewing&trouble=1')
    await see(pages, 'failed in reviewing', 'No runs match.')
    click(pages, 'failed in reviewing')
    await pages.should_see('Compare tea and coffee, 1')
