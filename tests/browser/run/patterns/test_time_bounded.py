"""The time-bounded loop in a browser: run, expire, report, resume, add time, finish; and many messages."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.patterns.chatter_pattern import loop
from tests.browser.server import Server


@pytest.fixture(scope='module')
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp('served'))
    server.patterns = loop(server.folder)
    server.start()
    yield server
    server.stop()


def launch(page: Page, server: Server, pattern: str, **fields: str) -> str:
    page.goto(f'{server.url}/launch/{pattern}')
    for fold in page.locator('.fold > summary').all():
        fold.click()
    for name, value in fields.items():
        page.get_by_label(name, exact=True).fill(value)
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    return page.url


def answer(page: Page, name: str) -> None:
    page.get_by_role('dialog').get_by_role('button', name=name, exact=True).click()


PLACES = """() => [...document.querySelectorAll('.phase, .run-grid')].map((one) => {
    const { x, y, width } = one.getBoundingClientRect();
    return [x, y, width].map(Math.round).join(' ');
})"""


@pytest.mark.long
def test_an_expired_run_reports_and_is_extended_to_its_end(page, served, axe):
    fields = {'Goal': 'Do two things', 'Time': '0.1', 'Grace period': '0', 'Acceptable failures': '2'}
    run = launch(page, served, 'time-bounded', **fields)
    time = page.get_by_role('group', name='Time', exact=True)
    expect(time).to_contain_text('Planning')
    expect(page.locator('.run-facts .pill')).to_have_text('Waiting for you', timeout=40_000)
    expect(time).to_contain_text('used up')
    page.get_by_role('link', name='Read report').click()
    page.wait_for_url(re.compile('/report$'))
    report = page.get_by_role('article', name='Report')
    expect(report).to_contain_text('Time expired')
    expect(report).to_contain_text('How to continue')
    axe(page)
    with page.expect_download() as coming:
        page.get_by_role('link', name='Markdown').click()
    assert coming.value.suggested_filename.endswith('.md')
    assert coming.value.path().read_text('utf-8').startswith('# Do two things')

    page.get_by_role('button', name='Add time', exact=True).press('Enter')
    page.get_by_label('Minutes', exact=True).fill('0')
    answer(page, 'Add time')
    expect(page.get_by_role('dialog')).to_contain_text('Say how much time to add')
    page.get_by_label('Minutes', exact=True).fill('-1')
    answer(page, 'Add time')
    expect(page.get_by_role('dialog').locator('.field.bad')).to_contain_text('Enter 0 or more')
    page.get_by_label('Minutes', exact=True).fill('10')
    answer(page, 'Add time')
    page.wait_for_url(run)
    expect(page.locator('.run-facts .pill')).to_have_text('Running')
    expect(time).to_contain_text('of 10:06 left')
    places = page.evaluate(PLACES)

    page.get_by_role('button', name='Add time', exact=True).click()
    page.get_by_label('Minutes', exact=True).fill('0')
    page.get_by_label('Seconds', exact=True).fill('60')
    answer(page, 'Add time')
    expect(time).to_contain_text('of 11:06 left')
    page.get_by_role('button', name='Skip verification').click()
    expect(page.get_by_role('dialog')).to_contain_text('Skip verifying the goal')
    answer(page, 'Cancel')
    page.get_by_role('button', name='Finish now', exact=True).click()
    answer(page, 'Finish now')
    expect(page.get_by_role('dialog')).to_have_count(0)
    # The call in progress may continue until the run is asked twice.
    page.get_by_role('button', name='Finish now', exact=True).click()
    answer(page, 'Finish now')
    expect(page.locator('.run-facts .pill')).to_have_text('Done with issues')
    expect(page.get_by_role('button', name='Add time', exact=True)).to_be_hidden()
    expect(page.get_by_role('link', name='Read report')).to_be_visible()
    assert page.evaluate(PLACES) == places
    page.get_by_role('tab', name='Time').click()
    expect(page).to_have_url(f'{run}/time')
    expect(page.get_by_role('tabpanel', name='Time')).to_contain_text('to continue after a stop')
    page.get_by_role('tab', name='Supervision').click()
    gate = page.get_by_role('article').filter(has_text='Plan approval').first
    expect(gate).to_contain_text('passed')
    axe(page)
    gate.get_by_role('button', name=re.compile(r'Step \d+')).click()
    expect(page).to_have_url(re.compile(r'/supervision\?at=\d+$'))
    expect(page.locator('.level b').first).to_have_text('None')
    page.get_by_role('tab', name='Messages').click()
    expect(page.locator('.message .chip').first).to_have_text('plan request')
    expect(page.get_by_label('Type', exact=True).locator('option').nth(1)).not_to_have_text(
        re.compile('[A-Z_]')
    )


def click_during_a_redraw(page: Page, line: Locator) -> None:
    """Click a line while the messages are redrawn, as at each step of a live run."""
    line.hover()
    page.mouse.down()
    page.locator('.messages-scroll').dispatch_event('scroll')
    page.evaluate('new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))')
    page.mouse.up()


def test_hundreds_of_messages_are_filtered_and_lead_to_their_steps(page, served, axe):
    run = served.launch('chatter', ended=True)
    page.goto(f'{run}/messages?sender=ann&text=number+4')
    lines = page.locator('.message')
    expect(page.get_by_text(re.compile(r'^\d+ of 500$'))).to_have_text('29 of 500')
    assert lines.count() < 60  # only visible messages are in the page
    expect(lines.first).to_contain_text('ann → ben')
    page.get_by_label('Contains').fill('number 499')
    page.get_by_label('From', exact=True).select_option('')
    expect(lines).to_have_count(1)
    expect(page).to_have_url(f'{run}/messages?text=number+499')
    click_during_a_redraw(page, lines.first)
    opened = page.get_by_role('region', name='Message')
    expect(opened).to_contain_text('Dan to Cat')
    expect(opened.locator('strong')).to_have_text('message')
    expect(opened).to_contain_text('<img src=x')
    assert page.evaluate('window.broken') is None
    expect(page).to_have_url(re.compile(r'at=1$'))
    page.get_by_label('Contains').fill('')
    page.get_by_role('button', name='Sequence diagram').click()
    expect(page.locator('.party')).to_have_text(['ann', 'ben', 'cat', 'dan'])
    box = page.get_by_role('listbox', name='Messages')
    box.press('Home')
    expect(opened).to_contain_text('Ann to Ben')
    box.press('ArrowDown')
    expect(opened).to_contain_text('Ben to Ann')
    box.press('End')
    expect(lines.last).to_have_attribute('aria-posinset', '500')
    expect(page.locator('.party').first).to_be_in_viewport()
    axe(page)
