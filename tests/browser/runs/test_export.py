"""A run saved from the page and opened offline from disk; a bundle imported by the page."""

import asyncio
import gzip
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from playwright.sync_api import expect

from tests.support.teams.parallel_review import begin, everybody, position, review_conductor
from ui.web.exports.offline_page import render_page

MAX_BYTES = 60_000
NO_BAR = '[...document.querySelectorAll(".q-loading-bar")].every((bar) => bar.style.opacity === "0")'


@pytest.fixture(scope='module')
def files(server, browser, tmp_path_factory):
    """A run saved from its page's menu, as a page and as a bundle."""
    folder = tmp_path_factory.mktemp('saved')
    page = browser.new_context(reduced_motion='reduce', accept_downloads=True).new_page()
    page.goto(f'{server.url}/launch/pipeline')
    page.wait_for_function('window.did_handshake === true')
    page.get_by_label('Task').first.fill('Is </script><script>window.broken = 1</script> harmless?')
    page.keyboard.press('Control+Enter')
    page.wait_for_url('**/runs/*', timeout=MAX_BYTES)
    page.wait_for_function('window.did_handshake === true')
    expect(page.locator('.run-facts .pill.done')).to_be_visible(timeout=MAX_BYTES)
    page.goto(f'{page.url.partition("?")[0]}?at=7&face=debug')
    page.get_by_role('button', name='Add note').click()
    page.get_by_label('Note on step 7').fill('why <b>twice</b>?')
    page.keyboard.press('Control+Enter')
    expect(page.locator('.note-text')).to_have_text('why <b>twice</b>?')
    saved = {}
    for name, text in (('html', 'Offline page'), ('bundle', 'Bundle')):
        page.get_by_role('button', name='Export', exact=True).click()
        with page.expect_download() as download:
            page.get_by_role('menuitem', name=re.compile(f'^{text}(?! with)')).click()
        saved[name] = folder / download.value.suggested_filename
        download.value.save_as(saved[name])
        expect(page.get_by_role('menu')).to_have_count(0)
    page.context.close()
    return saved


@pytest.fixture
def offline(open_page, files):
    """The saved page, opened from disk without a network, and its requests."""
    page, urls = open_page(offline=True), []
    page.on('request', lambda request: urls.append(request.url))
    page.goto(files['html'].as_uri())
    page.wait_for_selector('html[data-ready]')
    return page, urls


def place(page):
    return page.locator('#place').inner_text().split(' ·')[0]


def test_a_saved_page_plays_without_a_network(offline, axe):
    page, requests = offline
    page.keyboard.press('Home')
    expect(page.locator('#place')).to_have_text(re.compile('^1 / '))
    assert page.locator('#talk article:visible').count() == 0
    active_states = set()
    for step in range(2, 9):
        page.keyboard.press('ArrowRight')
        expect(page.locator('#place')).to_have_text(re.compile(f'^{step} / '))
        active_states.add(page.locator('.diagram .active').first.get_attribute('id'))
    assert {'s:researching', 's:analyzing'} <= active_states
    assert page.locator('#talk article:visible').count() == 3
    assert page.url.endswith('#step=8')
    page.get_by_role('tab', name='Memory').click()
    expect(page.locator('.tree')).to_contain_text('status: analyzing')
    page.keyboard.press('End')
    expect(page.locator('.tree')).to_contain_text('status: complete')
    expect(page.locator('#status')).to_have_text('Done')
    page.get_by_role('tab', name='Step').click()
    expect(page.locator('.step')).to_contain_text('→')
    expect(page.locator('.change').last).to_contain_text('memory › messages · added')  # noqa: RUF001
    expect(page.locator('.change .after').last).to_contain_text('sender: orchestrator')
    assert not re.search(r'\b[A-Z]+_[A-Z]+|\bCOMPLETE\b', page.locator('.step').inner_text())
    assert not any(text.startswith(('{', '[')) for text in page.locator('.change .after').all_inner_texts())
    page.get_by_role('slider', name='Step').press('ArrowLeft')
    before = str(int(place(page).split(' / ')[1]) - 1)
    expect(page.get_by_role('slider', name='Step')).to_have_attribute('aria-valuenow', before)
    page.keyboard.press('n')
    page.keyboard.press('p')
    axe(page)
    assert page.evaluate('window.broken') is None
    expect(page.locator('h1')).to_contain_text('</script>')
    assert len(requests) == 1 and requests[0].startswith('file:')
    expect(page.locator('.stamp')).to_contain_text('no model is called')


def test_a_note_is_at_its_step_and_on_the_slider(offline, axe):
    page, _ = offline
    page.keyboard.press('Home')
    notes = page.get_by_role('list', name='Notes on this step')
    expect(notes).to_have_count(0)
    page.locator('#equal').click()
    mark = page.locator('.mark[data-kinds~="note"]')
    expect(mark).to_have_count(1)
    expect(mark).to_have_attribute('aria-label', re.compile('7: .*why <b>twice</b>'))
    for _ in range(len(page.evaluate("document.querySelector('.timeline').timeline.runFlags")) + 1):
        page.keyboard.press('n')
        if place(page).startswith('7 / '):
            break
    expect(notes.locator('.note-text')).to_have_text('why <b>twice</b>?')
    expect(notes).to_contain_text('UTC')
    axe(page)
    page.keyboard.press('ArrowRight')
    expect(notes).to_have_count(0)
    mark.click()
    expect(notes.locator('li')).to_have_count(1)


def test_a_saved_page_plays_and_opens_at_a_step(offline, files):
    page, _ = offline
    page.keyboard.press('Home')
    page.locator('#speed').select_option('64')
    page.locator('#play').click()
    last = place(page).split(' / ')[1]
    expect(page.locator('#place')).to_have_text(re.compile(f'^{last} / '))
    page.goto(f'{files["html"].as_uri()}#step=5')
    expect(page.locator('#place')).to_have_text(re.compile('^5 / '))


def test_a_saved_page_fits_a_phone_in_the_dark(open_page, files, axe):
    page = open_page(width=390, height=844, scheme='dark', offline=True)
    page.goto(files['html'].as_uri())
    page.wait_for_selector('html[data-ready]')
    assert page.evaluate('document.documentElement.scrollWidth') <= 390
    axe(page)


def test_a_bundle_is_imported_on_the_page(page, crew_server, files, tmp_path, axe):
    page.goto(f'{crew_server.url}/runs')
    page.get_by_role('button', name='Import').focus()
    page.keyboard.press('Enter')
    dialog = page.get_by_role('dialog')
    broken = tmp_path / 'broken.jsonl.gz'
    broken.write_bytes(gzip.compress(gzip.decompress(files['bundle'].read_bytes())[:-50]))
    for chosen, notice in (
        (broken, 'was cut off'),
        (files['bundle'], re.compile(r'Run \w+ imported')),
        (files['bundle'], 'already'),
    ):
        with page.expect_file_chooser() as chooser:
            dialog.get_by_role('button', name='Choose files').press('Enter')
        chooser.value.set_files([chosen])
        expect(dialog.locator('.notice', has_text=notice)).to_be_visible()
    # While it is shown, Quasar's loading bar has no accessible name.
    page.wait_for_function(NO_BAR)
    axe(page)
    dialog.get_by_role('link', name='Open').first.click()
    expect(page.locator('.run-facts .pill.done')).to_be_visible()
    expect(page.locator('.run-name h1')).to_contain_text('harmless?')


async def export_debate() -> str:
    """Export the page of a debate with one answered and one unanswered demand."""
    best = position('REVISE_BEST', 'coder1', text='<img src=x onerror="window.broken = 1">')
    script = everybody(best)
    script['debating.reviewer1.speaking'] = [best | {'agrees': False, 'insists': ['tests first']}, best]
    answer = {'to': 'reviewer1/1.1/1', 'stance': 'rebuts', 'why': 'It has some.'}
    script['debating.reviewer2.speaking'] = [
        position('REVISE_ALL', agrees=False, answers=[answer]), best,
    ]  # fmt: skip
    async with review_conductor(script) as conductor:
        run = await begin(conductor, coders=2, max_revisions=0)
        await conductor.result(run)
        return await render_page(conductor, run)


def test_a_saved_page_shows_the_debate_board(open_page, axe, tmp_path):
    with ThreadPoolExecutor() as pool:  # Playwright's own loop runs in this thread
        text = pool.submit(asyncio.run, export_debate()).result()
    file = tmp_path / 'debate.html'
    file.write_text(text, 'utf-8')
    page = open_page(offline=True)
    page.goto(file.as_uri())
    page.wait_for_selector('html[data-ready]')
    page.get_by_role('tab', name='Debate').click()
    board = page.get_by_role('tabpanel', name='Debate')
    expect(board.get_by_role('columnheader')).to_have_text(['Reviewer', 'First review', 'Round 1', 'Round 2'])
    expect(board.get_by_role('rowheader')).to_have_text(['Reviewer 1', 'Reviewer 2'])
    expect(board).to_contain_text('Rebutted by Reviewer 2: It has some.')
    expect(board).to_contain_text('Rebuts Reviewer 1: “tests first”')
    expect(board).to_contain_text('Consensus · Revise the best: coder1 · Reviewer 1, Reviewer 2')
    assert page.evaluate('window.broken') is None
    axe(page)
    page.keyboard.press('Home')
    expect(board).to_contain_text('No reviews yet.')
