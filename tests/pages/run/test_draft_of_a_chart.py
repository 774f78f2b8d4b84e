"""The draft of a chart on the run page: what was found, what a person decides; no browser."""

from pathlib import Path

from nicegui.testing import User

from engine import Catalog, LocalConductor
from engine.charts.library import ChartLibrary
from tests.support.charts.stand_in import CASES, FACTS, stand_in
from tests.support.harness import FakeModel, in_turn, start_run, wait_for_state
from tests.support.pages.clicks import answer, click, enter, see
from tests.support.pages.serving import serve

FIXABLE, STUBBORN = CASES[1], CASES[3]


def open_author(home: Path, reply) -> LocalConductor:
    catalog = Catalog.load()
    catalog.models['scripted'] = FakeModel(reply)
    ChartLibrary(catalog, home)
    conductor = LocalConductor(catalog=catalog)
    serve(conductor)
    return conductor


async def test_a_draft_says_what_it_costs_and_what_was_found_before(user: User, tmp_path: Path):
    conductor = open_author(tmp_path, stand_in(FIXABLE))
    run = await start_run(conductor, 'author', {'request': FIXABLE.request})
    await wait_for_state(conductor, run, 'reviewing')
    await user.open(f'/runs/{run}')
    await see(user, 'Draft 2: checked-facts', 'Passes all checks', '2 to 104 model calls.', retries=30)
    await see(user, 'Found: 4 problems in 1 draft', 'Line 16', 'Resting: no run can reach it.')
    click(user, 'Approve and save')
    await see(user, 'Saved', 'Try it with its stubs', 'Run it', 'Open in the editor', retries=30)
    assert [chart.name for chart in await conductor.charts.list()] == ['checked-facts']


async def test_a_change_is_shown_beside_what_it_changes(user: User, tmp_path: Path):
    changed = FACTS.replace('{agent: checker, prompt', '{agent: checker, within: 60, prompt').replace(
        'stubs:', '  - {on: expired, from: checking, to: failed}\nstubs:'
    )
    conductor = open_author(tmp_path, f'```\n{changed}```\n')
    await conductor.charts.save('checked-facts', FACTS)
    run = await start_run(conductor, 'author', {'request': 'hurry', 'base': 'checked-facts'})
    await wait_for_state(conductor, run, 'reviewing')
    await user.open(f'/runs/{run}')
    await see(user, 'Differences', '1 edge added, 1 state changed', '2 lines added, 1 removed', retries=30)


async def test_a_person_asks_for_changes(user: User, tmp_path: Path):
    second = FACTS.replace('You check facts.', 'You check facts twice.')
    conductor = open_author(tmp_path, in_turn(f'```\n{FACTS}```\n', f'```\n{second}```\n'))
    run = await start_run(conductor, 'author', {'request': FIXABLE.request})
    await wait_for_state(conductor, run, 'reviewing')
    await user.open(f'/runs/{run}')
    await user.should_see('Draft 1: checked-facts', retries=30)
    click(user, 'Ask for changes')
    await user.should_see('What should be different', retries=30)
    enter(user, 'Changes', 'check twice')
    answer(user, 'Ask for changes')
    await user.should_see('Draft 2: checked-facts', retries=30)


async def test_a_run_without_a_chart_says_what_is_still_wrong(user: User, tmp_path: Path):
    conductor = open_author(tmp_path, stand_in(STUBBORN))
    run = await start_run(conductor, 'author', {'request': STUBBORN.request})
    await conductor.result(run)
    await user.open(f'/runs/{run}')
    await see(user, 'Draft 4: checked-facts', '1 problem', 'Found: 4 problems in 4 drafts', retries=30)
    await user.should_not_see('Approve and save')
