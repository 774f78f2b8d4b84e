"""A team in a real browser: launched from a sample, its plan, its panes, and its diagram as files."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.server import Server


@pytest.fixture(scope='module')
def finished(server: Server) -> str:
    """The address of a run that has ended."""
    return server.sample('supervisor', 'Side by side')


def test_the_plan_shows_workers_and_results(page, finished, axe):
    page.goto(finished)
    plan = page.get_by_role('region', name='Plan')
    expect(plan.get_by_text('5 of 5')).to_be_visible()
    steps = plan.get_by_role('listitem')
    expect(steps).to_have_count(5)
    permits = steps.filter(has_text='permits needed to close a street')
    expect(permits).to_contain_text('failed')
    expect(permits).to_contain_text('Lawyer')
    expect(permits).to_contain_text("No worker has the role 'lawyer'")
    food = steps.filter(has_text='food and drinks')
    expect(food).to_contain_text('completed')
    food.locator('summary').press('Enter')
    expect(food.get_by_role('paragraph')).to_contain_text('saves us from 40 bowls of noodle salad')
    axe(page)


def test_a_plan_entry_links_to_its_work(page, finished):
    page.goto(finished)
    plan = page.get_by_role('region', name='Plan')
    food = plan.get_by_role('listitem').filter(has_text='food and drinks')
    food.get_by_role('button', name=re.compile('Show the work on')).click()
    expect(page).to_have_url(re.compile(r'[?&]at=\d+'))
    element = page.locator('.agent:visible')
    expect(element.filter(has_text='noodle salad')).to_be_visible()
    expect(food).to_contain_text('completed')


def test_an_earlier_step_shows_the_plan_as_it_was_and_each_worker_in_its_pane(page, finished):
    page.goto(f'{finished}?at=2')
    expect(page.locator('.step-number')).to_have_text('Step 2')
    steps = page.get_by_role('region', name='Plan').get_by_role('listitem')
    expect(steps).to_have_count(5)
    expect(steps.filter(has_text='invitation for')).to_contain_text('waits for permits, budget')
    expect(steps.filter(has_text='food and drinks')).to_contain_text('pending')
    page.goto(f'{finished}?at=6')
    names = page.locator('.agent-name')
    expect(names.filter(has_text='Researcher · worker 1')).to_be_visible()
    expect(names.filter(has_text='Researcher · worker 2')).to_be_visible()
    expect(steps.filter(has_text='food and drinks')).to_contain_text('in progress')


PLACES = """() => [...document.querySelectorAll('.checklist, .diagram, .plan-title')].map((one) => {
    const { x, y, width, height } = one.getBoundingClientRect();
    return [x, y, width, height].join(' ');
})"""


@pytest.mark.long
@pytest.mark.parametrize('height', [900, 768])
def test_the_plan_and_its_entries_hold_still_from_the_first_step_to_the_last(open_page, finished, height):
    page = open_page(height=height)
    page.goto(f'{finished}?at=1')
    expect(page.locator('.step-number')).to_have_text('Step 1')
    plan = page.get_by_role('region', name='Plan')
    expect(plan.get_by_text('No steps yet.')).to_be_visible(visible=height > 820)
    first = page.evaluate(PLACES)
    page.keyboard.press('ArrowRight')
    expect(plan).to_contain_text('0 of 5')
    second = page.evaluate(PLACES)
    page.keyboard.press('End')
    expect(plan).to_contain_text('5 of 5')
    assert page.evaluate(PLACES) == second
    assert second[: len(first)] == first


def test_the_diagram_can_be_saved(page, server, finished):
    for address in (finished, f'{server.url}/launch/supervisor'):
        page.goto(address)
        for how, end, start in (
            ('Mermaid', 'mmd', 'stateDiagram-v2'),
            ('DOT', 'gv', 'digraph'),
            ('SVG', 'svg', '<svg'),
        ):
            page.get_by_role('button', name='Save diagram').click()
            with page.expect_download() as coming:
                page.get_by_role('menuitem', name=how).click()
            assert coming.value.suggested_filename == f'supervisor.{end}'
            assert coming.value.path().read_text('utf-8').startswith(start)
            expect(page.get_by_role('menu')).to_have_count(0)
