"""Comparing two runs in the browser: from the list to the divergence, by mouse and by keyboard."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.bench.servers.processes import free_port
from tests.browser.conftest import recolour
from tests.browser.server import Server

TASK = 'Compare tea and coffee'


def start_pipeline(server: Server, revisions: int, *, ended: bool = False) -> str:
    """Start a run of the pipeline, and return its address."""
    return server.launch('pipeline', task=TASK, max_iterations=revisions, ended=ended)


@pytest.fixture(scope='module')
def two(tmp_path_factory, port) -> Iterator[tuple[Server, str, str]]:
    """A server, and the addresses of its only two runs, the second of which may not revise."""
    server = Server(tmp_path_factory.mktemp('two'), port=free_port(port))
    server.start()
    yield server, start_pipeline(server, 3, ended=True), start_pipeline(server, 0, ended=True)
    server.stop()


def test_the_first_divergence_is_three_clicks_from_the_list_and_fits_a_phone(page, two, axe):
    server, first, second = two
    page.goto(f'{server.url}/runs')
    ticks = page.locator('.run-tick')
    expect(ticks).to_have_count(2)
    for tick in ticks.all():
        tick.click()
    page.get_by_role('button', name='Compare', exact=True).click()
    page.wait_for_url(re.compile('/compare'))
    ids = [address.rpartition('/')[2] for address in (first, second)]
    assert page.url.endswith(f'?a={ids[0]}&b={ids[1]}')  # the older one is A

    expect(page.locator('.compare-summary')).to_contain_text('No revisions left: no in A, yes in B: A went')
    expect(page.locator('.compare-step-kind')).to_have_text('The runs diverge here')
    sides = page.locator('.compare-step-side')
    expect(sides.first).to_contain_text('analyzing')
    expect(sides.last).to_contain_text('complete')
    expect(page.locator('[id="e:reviewing>analyzing"]')).to_have_class(re.compile(r'\bpath-a\b'))
    expect(page.locator('[id="s:researching"]')).to_have_class(re.compile(r'\bpath-both\b'))
    picked = page.locator('.aligned-row[aria-selected="true"]')
    expect(picked).to_contain_text('not in B')
    parting = picked.inner_text()

    # With the keyboard: rows, the first row, differences; the address follows.
    page.keyboard.press('?')
    expect(page.get_by_role('dialog')).to_contain_text('Next difference')
    page.keyboard.press('Escape')
    page.keyboard.press('ArrowRight')
    expect(page.locator('.compare-step-kind')).to_have_text(re.compile('Only A'))
    expect(page.locator('.compare-step-side').last).to_contain_text('It did not take this step')
    page.wait_for_url(re.compile(r'&at=\d+$'))
    page.keyboard.press('Home')
    expect(page.locator('.aligned-row[aria-posinset="1"]')).to_have_attribute('aria-selected', 'true')
    page.keyboard.press('d')
    expect(page.locator('.compare-step-kind')).to_have_text('The runs diverge here')
    expect(picked).to_have_text(parting, use_inner_text=True)
    page.locator('.aligned').focus()
    page.keyboard.press('ArrowDown')
    expect(page.locator('.compare-step-kind')).to_have_text(re.compile('Only A'))
    page.get_by_role('button', name='Go to divergence').click()
    expect(page.locator('.compare-step-kind')).to_have_text('The runs diverge here')

    # A click on a state goes to its next visit; links lead to both runs at that step.
    page.locator('[id="s:researching"] text').first.click()
    expect(page.locator('.aligned-row[aria-selected="true"]')).to_contain_text('researching')
    expect(page.locator('.compare-title').first).to_have_attribute('href', re.compile(rf'{ids[0]}\?at=\d+'))

    for tab, text in (
        ('Transcript', 'Show earlier|Researcher'),
        ('Memory', 'max iterations'),
        ('Files', 'No agent has written a file'),
        ('Numbers', 'max iterations'),
    ):
        page.get_by_role('tab', name=tab).click()
        expect(page.locator('.middle .panel-body:visible')).to_contain_text(re.compile(text))
        axe(page)

    page.get_by_role('link', name='Swap A and B').click()
    expect(page.locator('.compare-summary')).to_contain_text('No revisions left: yes in A, no in B')
    expect(page.locator('[id="e:reviewing>analyzing"]')).to_have_class(re.compile(r'\bpath-b\b'))

    # It fits a phone in dark mode.
    page.set_viewport_size({'width': 390, 'height': 844})
    recolour(page, 'dark')
    expect(page.locator('.compare-step-kind')).to_have_text('The runs diverge here')
    axe(page)
    for view, part in (('Diagram', '.diagram'), ('Steps', '.aligned'), ('Details', '.compare-step')):
        page.locator('.run-switch .btn', has_text=view).click()
        expect(page.locator(part)).to_be_visible()
        assert page.evaluate('document.documentElement.scrollWidth <= innerWidth')


@pytest.mark.long
def test_runs_are_compared_from_a_menu_and_from_a_page(page, two, axe):
    server, first, second = two
    page.goto(f'{server.url}/runs')
    page.get_by_role('button', name=f'Actions for {TASK}').first.click()
    page.get_by_role('menuitem', name='Compare with…').click()
    expect(page.locator('.run-picks h3')).to_have_text('Same pattern')
    axe(page)
    page.locator('.pick').click()
    page.wait_for_url(re.compile('/compare'))
    expect(page.locator('.compare-step-kind')).to_have_text('The runs diverge here')

    page.goto(first)
    page.get_by_role('button', name='More', exact=True).click()
    page.get_by_role('button', name='Compare with…').click()
    expect(page.get_by_label('Search all runs')).to_be_focused()
    page.keyboard.type('nothing like this')
    expect(page.locator('.run-picks')).to_contain_text('No runs match.')
    expect(page.locator('.run-choice [role="status"]')).to_have_text('No runs match.')
    axe(page)
    page.get_by_label('Search all runs').fill(second.rpartition('/')[2])
    expect(page.locator('.pick')).to_have_count(1)
    page.get_by_label('Search all runs').fill('tea')
    expect(page.locator('.run-picks h3')).to_have_text('Results')
    page.keyboard.press('ArrowDown')
    expect(page.locator('.pick')).to_be_focused()
    page.keyboard.press('ArrowUp')
    expect(page.get_by_label('Search all runs')).to_be_focused()
    page.keyboard.press('ArrowDown')
    page.keyboard.press('Enter')
    page.wait_for_url(re.compile(f'a={first.rpartition("/")[2]}&b={second.rpartition("/")[2]}'))


def test_an_unfinished_run_is_followed(page, server):
    first = start_pipeline(server, 0, ended=True)
    second = server.launch('pipeline', task=TASK, max_iterations=0, options={'paused': True})
    ids = [address.rpartition('/')[2] for address in (first, second)]
    page.goto(f'{server.url}/compare?a={ids[0]}&b={ids[1]}')
    expect(page.locator('.compare-summary')).to_contain_text('So far the runs took the same path')
    server.ask(f'/runs/{ids[1]}/resume', {})
    expect(page.locator('.compare-summary')).to_contain_text('The runs took the same path')
    expect(page.locator('.compare-runs .pill.done')).to_have_count(2)
