"""What agents made, when they are complete, and two ways of working beside each other, in a real browser."""

import re

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.serving import Server


def launch(browser: Browser, server: Server, pattern: str, sample: str) -> str:
    """The address of a sample's run that has ended."""
    page = browser.new_page()
    page.goto(f'{server.url}/launch/{pattern}')
    page.wait_for_function('window.did_handshake === true')
    page.get_by_role('button', name='Use a sample').click()
    page.get_by_role('menuitem', name=re.compile(sample)).click()
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    expect(page.locator('.run-facts .pill')).to_have_text('Done', timeout=60_000)
    page.close()
    return page.url


@pytest.fixture(scope='module')
def compared(browser: Browser, server: Server) -> str:
    return launch(browser, server, 'blog', 'The newsletter in both ways')


@pytest.fixture(scope='module')
def episode(browser: Browser, server: Server) -> str:
    return launch(browser, server, 'podcast', 'Notes, chapters')


def opened(page: Page, url: str, tab: str) -> None:
    page.goto(url)
    page.get_by_role('tab', name=tab, exact=True).click()


def test_artifacts_say_who_made_them_and_show_what_they_are(page, episode, axe):
    opened(page, episode, 'Artifacts')
    cards = page.locator('.artifact')
    notes = cards.filter(has=page.get_by_text('show_notes', exact=True))
    expect(notes).to_contain_text('by show_notes')
    expect(notes.get_by_role('heading', name='Nine hundred nights')).to_be_visible()
    chapters = cards.filter(has=page.get_by_text('chapters', exact=True))
    expect(chapters.locator('.tree > details')).to_have_count(4)
    transcript = cards.filter(has=page.get_by_text('transcript', exact=True))
    expect(transcript).not_to_have_attribute('open', re.compile(''))
    transcript.locator('summary').first.press('Enter')
    expect(transcript.locator('.artifact-body .tree > *')).not_to_have_count(0)
    axe(page)


def test_artifacts_and_criteria_follow_the_slider(page, episode):
    opened(page, f'{episode}?at=2', 'Artifacts')
    expect(page.get_by_text('No agent has made an artifact up to this step.')).to_be_visible()
    criteria = page.locator('.criterion')
    expect(criteria.filter(has_text='has show notes')).to_contain_text('not judged yet')
    page.goto(f'{episode}?at=4')
    expect(criteria.filter(has_text='has show notes')).to_contain_text("missing: the artifact 'show_notes'")
    expect(page.locator('.criteria-count')).to_have_text(re.compile(r'1 of 5 hold'))
    page.goto(episode)
    expect(criteria.filter(has_text='holds')).to_have_count(5)


def test_two_ways_stand_beside_each_other(page, compared, axe):
    opened(page, compared, 'Comparison')
    table = page.locator('.compared')
    expect(table.get_by_role('columnheader')).to_have_text(['Dynamic', 'Fixed'])
    rows = ['Result', 'Steps', 'Tool calls', 'Tokens in', 'Tokens out', 'Time', 'Cost', 'Output', 'Artifacts']
    expect(table.get_by_role('rowheader')).to_have_text(rows)
    outputs = page.locator('.compared-output')
    expect(outputs.get_by_role('heading', name='What to do while the beds are asleep')).to_have_count(2)
    axe(page)
    page.goto(f'{compared}?at=3')
    page.get_by_role('tab', name='Comparison', exact=True).click()
    expect(page.get_by_text('as soon as all have ended')).to_be_visible()


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_on_a_phone_both_ways_fit(open_page, compared, axe, scheme):
    page = open_page(width=390, height=844, scheme=scheme)
    opened(page, compared, 'Comparison')
    expect(page.locator('.compared')).to_be_visible()
    assert page.locator('.comparison').evaluate('box => box.scrollWidth <= box.clientWidth')
    axe(page)


def test_a_run_that_makes_none_has_no_such_tabs(page, server):
    page.goto(f'{server.url}/launch/supervisor')
    page.get_by_role('button', name='Use a sample').click()
    page.get_by_role('menuitem', name=re.compile('Nothing is to be done')).click()
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    expect(page.get_by_role('tab', name='Files')).to_be_visible()
    for tab in ('Artifacts', 'Comparison'):
        expect(page.get_by_role('tab', name=tab)).to_be_hidden()
