"""Many runs on one diagram, in a real browser: the heatmap, a selected edge, its runs, keys."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.server import Server


@pytest.fixture(scope='module')
def counted(tmp_path_factory):
    """A separate server with two finished runs of the pipeline's sample."""
    server = Server(tmp_path_factory.mktemp('counted'))
    server.start()
    for _ in range(2):
        server.sample('pipeline')
    yield server
    server.stop()


@pytest.mark.long
def test_picking_an_edge_lists_its_runs(page, counted, axe):
    page.goto(counted.url)
    page.get_by_role('link', name='Traffic of Pipeline: all runs on one diagram').click()
    expect(page.get_by_text('2 runs: 2 done.')).to_be_visible()
    reviewing = page.locator('[id="s:reviewing"]')
    expect(reviewing).to_have_class(re.compile('heat-often'))
    assert float(reviewing.evaluate('node => node.style.getPropertyValue("--weight")')) > 0
    expect(page.locator('.overlay-badge').first).to_be_visible()
    axe(page)
    page.get_by_role('tab', name='Edges').click()
    page.get_by_role('button', name='reviewing → analyzing').click()
    expect(page.get_by_role('heading', name='Runs that took reviewing → analyzing')).to_be_visible()
    expect(page.locator('.run-list .run-link')).to_have_count(2)
    expect(page.locator('[id="e:reviewing>analyzing"]')).to_have_class(re.compile('picked'))
    expect(page).to_have_url(re.compile(r'edge=reviewing%3Eanalyzing'))
    page.reload()  # the address holds the whole selection
    expect(page.get_by_role('heading', name='Runs that took reviewing → analyzing')).to_be_visible()
    page.get_by_role('tab', name='Edges').click()
    page.get_by_role('button', name='researching → failed').click()
    expect(page.get_by_text('No runs match.')).to_be_visible()
    axe(page)


def test_a_state_is_picked_and_the_mode_changed(page, counted):
    page.goto(f'{counted.url}/patterns/pipeline/traffic')
    expect(page.locator('[id="e:[*]>pending"]')).to_have_class(re.compile('heat-often'))
    page.locator('[id="s:reviewing"]').click()
    expect(page.get_by_role('heading', name='Runs that were in reviewing')).to_be_visible()
    page.get_by_role('group', name='Metric').get_by_role('button', name='Duration').click()
    expect(page.locator('[id="s:reviewing"]')).to_have_class(re.compile('heat-long'))
    expect(page).to_have_url(re.compile('show=long'))
    page.get_by_role('group', name='Metric').get_by_role('button', name='Failures').focus()
    page.keyboard.press('Enter')
    expect(page.locator('[id="s:reviewing"]')).to_have_class(re.compile('heat-fails'))


def test_an_edge_of_the_diagram_is_picked_by_pointer_and_by_key(page, counted):
    page.goto(f'{counted.url}/patterns/pipeline/traffic')
    edge = page.locator('[id="e:reviewing>analyzing"]')
    expect(edge).to_have_class(re.compile('heat-often'))
    edge.locator('.hit').dispatch_event('click')
    heading = page.get_by_role('heading', name='Runs that took reviewing → analyzing')
    expect(heading).to_be_visible()
    expect(edge).to_have_class(re.compile('picked'))
    edge.focus()
    page.keyboard.press('Enter')  # a second click clears it
    expect(heading).to_be_hidden()


def test_the_table_sorts_by_its_columns(page, counted):
    page.goto(f'{counted.url}/patterns/pipeline/traffic')
    head = page.get_by_role('columnheader', name='Visits')
    head.get_by_role('button').click()
    expect(head).to_have_attribute('aria-sort', 'descending')
    first = page.locator('.heat-table tbody tr').first
    expect(first).to_contain_text('3.0')  # analyzed once, sent back twice
    head.get_by_role('button').click()
    expect(head).to_have_attribute('aria-sort', 'ascending')
    expect(first).to_contain_text('failed')


@pytest.mark.long
def test_the_address_keeps_the_selection_and_back_restores_it(page, counted):
    page.goto(f'{counted.url}/runs')
    page.locator('.run-menu').first.click()
    page.get_by_role('menuitem', name='Edit details').click()
    page.get_by_role('textbox', name='Tags').fill('weekly')
    page.get_by_role('button', name='Save').click()
    expect(page.locator('.run-list .chip', has_text='weekly')).to_be_visible()

    url = f'{counted.url}/patterns/pipeline/traffic'
    page.goto(url)
    tag, since = page.get_by_label('Tag', exact=True), page.get_by_label('From', exact=True)
    expect(tag.locator('option', has_text='weekly')).to_have_count(1)
    tag.select_option('weekly')
    expect(page).to_have_url(f'{url}?tag=weekly')
    since.fill('2020-02-03')
    expect(page).to_have_url(f'{url}?tag=weekly&since=2020-02-03')
    expect(page.get_by_text('1 run: 1 done.')).to_be_visible()
    page.get_by_role('group', name='Metric').get_by_role('button', name='Duration').click()
    page.locator('[id="s:reviewing"]').click()
    chosen = f'{url}?tag=weekly&since=2020-02-03&state=reviewing&show=long'
    expect(page).to_have_url(chosen)
    page.locator('.run-list .run-link').click()
    page.wait_for_url(re.compile(r'/runs/\w+'))
    page.go_back()
    expect(page).to_have_url(chosen)
    expect(tag).to_have_value('weekly')
    expect(since).to_have_value('2020-02-03')
    expect(page.get_by_text('1 run: 1 done.')).to_be_visible()
    expect(page.get_by_role('heading', name='Runs that were in reviewing')).to_be_visible()
    expect(page.locator('[id="s:reviewing"]')).to_have_class(re.compile('heat-long'))

    page.get_by_label('Pattern', exact=True).select_option('vote')  # which drops the selection
    expect(page).to_have_url(f'{counted.url}/patterns/vote/traffic?tag=weekly&since=2020-02-03&show=long')
    page.go_back()
    expect(page).to_have_url(chosen)
    expect(page.get_by_label('Pattern', exact=True)).to_have_value('pipeline')
    page.get_by_role('button', name='Show all runs').click()
    since.fill('')
    expect(page).to_have_url(f'{url}?tag=weekly&show=long')
    page.go_back()  # changed filters add no history entries
    expect(page).to_have_url(f'{counted.url}/runs')
