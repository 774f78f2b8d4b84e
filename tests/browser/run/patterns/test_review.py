"""The parallel review in a real browser: a choice, and a seat taken by a person; a long one with tests."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import OVERFLOW
from tests.browser.server import Server

MOVED = """([head, selector]) => document.querySelector(selector)
    || document.querySelector('.rail').getAttribute('aria-valuemax') !== head"""
PATIENCE = 240_000
"""Milliseconds for a phase in which tests really run, on a busy machine."""


def sample(page: Page, server: Server, **choices: str) -> str:
    """Launch the sample; `choices` maps the labels of fields, with _ for a space, to options."""
    page.goto(f'{server.url}/launch/parallel-review')
    page.get_by_role('button', name='Samples').click()
    page.get_by_text('Bech32 from scratch').click()
    expect(page.get_by_label('Required tests')).to_have_value('sample:bech32')
    for field, option in choices.items():
        page.get_by_label(field.replace('_', ' ')).select_option(option)
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    return page.url


def wait_while_it_runs(page: Page, selector: str) -> None:
    """Wait for an element while the run keeps taking steps, however slow the machine is."""
    while not page.locator(selector).count():
        head = page.locator('.rail').get_attribute('aria-valuemax')
        page.wait_for_function(MOVED, arg=[head, selector], timeout=PATIENCE)


def check_tabs(open_page, axe, url: str, tabs: dict[str, str], **options) -> None:
    """Check tabs in a separate page, since the check blocks a large page for a long time.

    `tabs` maps the name of each to the selector of what it shows.
    """
    page = open_page(**options)
    page.goto(url)
    for tab, selector in tabs.items():
        page.get_by_role('tab', name=tab).click()
        expect(page.get_by_role('tabpanel', name=tab).locator(selector).first).to_be_visible()
        assert page.evaluate(OVERFLOW) <= 0
        axe(page)
    page.close()


def approve(board: Locator) -> None:
    """Approve in the seat of the reviewer whose turn it is."""
    words = board.get_by_label('Message', exact=True)
    words.fill('I ran them myself. Approved.')
    board.get_by_label('Verdict').select_option('APPROVE')
    board.get_by_label('Best').select_option('coder1')
    board.get_by_role('checkbox', name='Agree').click()
    words.press('Control+Enter')


def test_a_person_chooses_and_speaks_by_keyboard(page, open_page, server, axe):
    url = server.launch('parallel-review', task='Write a function that adds two', pick='person', coders=2)
    page.goto(url)
    expect(page.get_by_role('tab', name='Candidates')).to_contain_text('your decision', timeout=30_000)
    check_tabs(open_page, axe, url, {'Candidates': '.candidate', 'Debate': '.verdict'})
    page.get_by_role('tab', name='Debate').click()
    board = page.get_by_role('tabpanel', name='Debate')
    board.get_by_role('button', name='Take seat: Reviewer 2').click()
    expect(board.get_by_role('button', name='Return seat: Reviewer 2')).to_be_visible()

    # The choice takes effect only when confirmed.
    page.get_by_role('tab', name='Candidates').click()
    expect(page.locator('.version-entry').first).to_contain_text('Own tests')
    take = page.get_by_role('button', name='Choose coder1')
    take.focus()
    page.keyboard.press('Enter')
    page.get_by_role('dialog').get_by_role('button', name='Cancel').press('Enter')
    expect(page.get_by_role('dialog')).to_have_count(0)
    take.click()
    page.get_by_role('dialog').get_by_role('button', name='Choose').click()

    # In the final review, the page says that it is the person's turn, and Ctrl+Enter sends.
    expect(page.get_by_role('tab', name='Debate')).to_contain_text('your turn', timeout=30_000)
    page.get_by_role('tab', name='Debate').click()
    check_tabs(open_page, axe, url, {'Debate': '.seat textarea'}, width=390, height=844, scheme='dark')
    approve(board)
    expect(board.locator('.turn.human').first).to_contain_text('I ran them myself. Approved.')


@pytest.mark.long
def test_a_person_takes_a_seat_chooses_and_finishes_the_review(page, open_page, new_server, axe):
    new_server.start()
    url = sample(page, new_server, Who_picks_the_best='person')

    # While the run waits for a choice, the candidates tab says so and shows tests, differences and choices.
    take = page.get_by_role('button', name='Choose coder1')
    expect(page.get_by_role('tab', name='Candidates')).to_contain_text('your decision', timeout=PATIENCE)
    page.get_by_role('tab', name='Candidates').click()
    expect(take).to_be_visible()
    cards = page.locator('.candidate')
    expect(cards).to_have_count(3)
    expect(cards.nth(0)).to_contain_text('63 passed')
    expect(cards.nth(1)).to_contain_text('59 passed, 4 failed')
    cards.nth(1).get_by_text('Failures (4)').click()
    expect(cards.nth(1)).to_contain_text('test_vectors::test_valid')
    difference = page.get_by_role('region', name='Differences')
    expect(difference.locator('.files-summary')).to_contain_text('2 files differ')
    difference.get_by_label('Differences from').select_option(label='coder3, version 1')
    difference.get_by_role('button', name='test_own.py').click()
    expect(difference.locator('.file-head')).to_have_text('test_own.py')
    expect(difference.locator('.code .added').first).to_be_visible()

    check_tabs(open_page, axe, url, {'Candidates': '.candidate', 'Debate': '.verdict'})

    # The debate that led here: three rounds, from disagreement to agreement.
    page.get_by_role('tab', name='Debate').click()
    board = page.get_by_role('tabpanel', name='Debate')
    table = board.locator('.rounds')
    expect(table.get_by_role('columnheader')).to_have_text(
        ['Reviewer', 'First review', 'Round 1', 'Round 2', 'Round 3']
    )
    expect(table.locator('.agreement b')).to_have_text(['Start', 'No closer', 'Closer', 'Agreed'])
    expect(board.locator('.verdict')).to_contain_text('Agreed by Reviewer 1 and Reviewer 2 in round 3')
    expect(board.locator('.verdict-tests li')).to_have_text(
        [re.compile('coder1 v1.*63 passed'), re.compile('coder2 v1.*4 failed'), re.compile('coder3 v1.*15')]
    )
    cell = table.locator('tbody tr').nth(1).locator('td').nth(1)
    expect(cell.get_by_text('coder2: make the 4 vectors pass')).to_be_hidden()
    cell.get_by_role('button', name='More').click()
    expect(cell.get_by_text('coder2: make the 4 vectors pass')).to_be_visible()

    # One seat is taken and handed back, another is kept.
    board.get_by_role('button', name='Take seat: Reviewer 1').click()
    board.get_by_role('button', name='Return seat: Reviewer 1').click()
    expect(board.get_by_role('button', name='Take seat: Reviewer 1')).to_be_visible()
    expect(cell).to_have_class('whole')  # open sections stay open
    board.get_by_role('button', name='Take seat: Reviewer 2').click()
    expect(board.get_by_role('button', name='Return seat: Reviewer 2')).to_be_visible()

    # The choice takes effect only when confirmed.
    page.get_by_role('tab', name='Candidates').click()
    take.focus()
    page.keyboard.press('Enter')
    page.get_by_role('dialog').get_by_role('button', name='Cancel').press('Enter')
    expect(page.get_by_role('dialog')).to_have_count(0)
    expect(take).to_be_visible()
    take.click()
    page.get_by_label('Reason (optional)').fill('It is the one that is right.')
    page.get_by_role('dialog').get_by_role('button', name='Choose').click()

    # In the final review, the page says that it is the person's turn, and Ctrl+Enter sends.
    expect(page.get_by_role('tab', name='Debate')).to_contain_text('your turn', timeout=PATIENCE)
    page.get_by_role('tab', name='Debate').click()
    expect(board.get_by_role('heading', name='Your turn as reviewer 2')).to_be_visible()
    check_tabs(open_page, axe, url, {'Debate': '.seat textarea'}, width=390, height=844, scheme='dark')
    approve(board)
    expect(page.locator('.pill.done')).to_be_visible(timeout=PATIENCE)
    page.get_by_role('tab', name='Debate').click()
    final = board.locator('.debate').nth(1)
    expect(final.locator('.turn.human')).to_contain_text('I ran them myself. Approved.')
    expect(final.locator('.turn.human')).to_contain_text('A person')
    expect(final.locator('.verdict')).to_contain_text('Approve: coder1')
    element = board.get_by_label('Debate transcript').locator('.human')
    expect(element.locator('header')).to_have_text(
        re.compile(r'Reviewer 2.*a person.*round 1.*\d\d:\d\d:\d\d.*step')
    )

    # The list of versions: what the second one answers, what changed, and a link to its step.
    page.get_by_role('tab', name='Candidates').click()
    expect(cards.nth(0)).to_contain_text('Picked: by a person')
    rung = page.locator('.version-entry').nth(1)
    expect(rung).to_contain_text('Version 2')
    expect(rung).to_contain_text('Required tests')
    expect(rung).to_contain_text('Test each rule on its own, with round trips for both checksums.')
    rung.get_by_role('button', name='Changes').click()
    expect(difference.locator('.files-summary')).to_contain_text('2 files differ')
    expect(difference.get_by_label('Differences to')).to_contain_text('coder1, version 2')

    # At a step before the revision: no second version and no final review.
    page.locator('.version-entry').nth(0).get_by_role('button', name=re.compile('Step')).click()
    expect(page.get_by_role('listitem').filter(has_text='Version 2')).to_have_count(0)
    page.get_by_role('tab', name='Debate').click()
    expect(board.get_by_text('No reviews yet.')).to_be_visible()
    page.get_by_role('slider', name='Step').press('End')
    expect(board.locator('.debate')).to_have_count(2)
