"""Artifacts, completion, and two modes side by side, in a real browser."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.server import Server


@pytest.fixture(scope='module')
def compared(server: Server) -> str:
    return server.sample('blog', 'One newsletter, two ways')


@pytest.fixture(scope='module')
def episode(server: Server) -> str:
    return server.sample('podcast', 'Notes, chapters')


def open_tab(page: Page, url: str, tab: str) -> None:
    page.goto(url)
    page.get_by_role('tab', name=tab, exact=True).click()


def test_artifacts_follow_the_slider_and_are_copied_and_downloaded(page, episode, axe):
    page.context.grant_permissions(['clipboard-read', 'clipboard-write'])
    open_tab(page, f'{episode}?at=2', 'Artifacts')
    expect(page.get_by_text('No artifacts up to this step.')).to_be_visible()
    criteria = page.locator('.criterion')
    expect(criteria.filter(has_text='Has show notes')).to_contain_text('not checked yet')
    slider = page.get_by_role('slider', name='Step')
    slider.press('ArrowRight')
    slider.press('ArrowRight')
    expect(page.locator('.step-number')).to_have_text('Step 4')
    expect(criteria.filter(has_text='Has show notes')).to_contain_text("missing: the artifact 'show_notes'")
    expect(page.locator('.criteria-count')).to_have_text(re.compile(r'1 of 5 met'))
    slider.press('End')
    expect(criteria.filter(has=page.get_by_text('met', exact=True))).to_have_count(5)

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

    with page.expect_download() as download:
        page.get_by_role('button', name='Download chapters').click()
    assert download.value.suggested_filename == 'chapters.json'
    assert json.loads(download.value.path().read_text())[0]['startTime'] == 0
    page.get_by_role('button', name='Copy show_notes').click()
    expect(page.get_by_text('Copied.').first).to_be_visible()
    notes = page.evaluate('navigator.clipboard.readText()')
    assert notes.startswith('# Nine hundred nights')
    page.get_by_role('button', name='Watch').click()
    with page.expect_download() as download:
        page.get_by_role('button', name='Download', exact=True).click()
    assert download.value.suggested_filename == 'result.md'
    assert '# Nine hundred nights' in download.value.path().read_text()


@pytest.mark.long
def test_two_modes_are_shown_side_by_side_once_both_have_ended_and_fit_on_a_phone(page, compared, axe):
    open_tab(page, f'{compared}?at=3', 'Comparison')
    expect(page.get_by_text('once all modes have ended')).to_be_visible()
    page.get_by_role('slider', name='Step').press('End')
    table = page.locator('.compared')
    expect(table.get_by_role('columnheader')).to_have_text(['Dynamic', 'Fixed'])
    rows = ['Result', 'Steps', 'Tool calls', 'Tokens in', 'Tokens out', 'Time', 'Cost', 'Output', 'Artifacts']
    expect(table.get_by_role('rowheader')).to_have_text(rows)
    outputs = page.locator('.compared-output')
    expect(outputs.get_by_role('heading', name='What to do while the beds are asleep')).to_have_count(2)
    axe(page)
    page.get_by_role('button', name='Mark differences').click()
    expect(outputs.locator('.pieces')).to_have_count(2)
    expect(outputs.locator('mark.only-b').first).to_be_visible()
    page.get_by_role('button', name='Show formatted').click()
    expect(outputs.locator('.pieces')).to_have_count(0)
    page.set_viewport_size({'width': 390, 'height': 844})
    expect(table).to_be_visible()
    assert page.locator('.comparison').evaluate('box => box.scrollWidth <= box.clientWidth')
    axe(page, dark=True)


def test_a_run_without_artifacts_has_no_artifact_tabs(page, server):
    page.goto(server.sample('supervisor', 'Nothing left to do'))
    expect(page.get_by_role('tab', name='Files')).to_be_visible()
    for tab in ('Artifacts', 'Comparison'):
        expect(page.get_by_role('tab', name=tab)).to_be_hidden()
