"""The page of an imported trace: it can be viewed, but actions that need a pattern are not offered."""

import pytest

from engine import Conductor
from engine.records import RunId
from tests.golden.traces import FOLDER
from tests.support.pages.clicks import see
from ui.formatting.steps import edge_outcomes


@pytest.fixture
def with_run_page() -> bool:
    return True


async def import_run(conductor: Conductor) -> RunId:
    with (FOLDER / 'openai_agents.json').open('rb') as file:
        [imported] = await conductor.import_bundle(file)
    return imported.id


async def test_an_imported_trace_is_shown_at_each_step_without_forks(pages, conductor):
    run = await import_run(conductor)
    await pages.open(f'/runs/{run}?face=debug&at=8')
    await see(pages, 'My order A17 never came.', 'order A17 refunded')
    for name in ('Fork', 'Retry'):
        await pages.should_not_see(name)


async def test_explanations_name_no_unknown_edges(pages, conductor):
    run = await import_run(conductor)
    shape, steps = await conductor.shape(run), await conductor.transitions(run)
    outcomes = [
        [(outcome.edge.dest, outcome.taken) for outcome in edge_outcomes(step, shape)] for step in steps
    ]
    assert outcomes == [[(step.edges[0].dest, True)] for step in steps]


async def test_the_fork_page_says_why_it_cannot_be_forked(pages, conductor):
    run = await import_run(conductor)
    answer = await pages.http_client.get(f'/runs/{run}/fork?at=3')
    assert answer.status_code == 404
    assert 'This run cannot be continued here' in answer.text
    assert 'imported from a trace that another program recorded' in answer.text


async def test_the_list_marks_imported_traces(pages, conductor):
    await import_run(conductor)
    await pages.open('/runs')
    await see(pages, 'imported trace', 'trace:help-desk')
