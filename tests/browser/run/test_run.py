"""The run page in a real browser: watch to the end, step with keys, deep links, steering, a restart."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OVERFLOW
from tests.browser.server import Server

TASK = 'Should a small team adopt event sourcing for its order system?'
FLAGS = "document.querySelector('.timeline').timeline.runFlags"
STEPS = 29
"""Steps of the shipped scenario for this task."""


def launch(page: Page, server: Server, task: str = TASK) -> str:
    """Launch a pipeline from the form, and return the address of its run."""
    page.goto(f'{server.url}/launch/pipeline')
    page.get_by_label('Task', exact=True).fill(task)
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    return page.url


def count(page: Page):
    return page.locator('.player-count')


def status(page: Page, word: str) -> None:
    expect(page.locator('.run-facts .pill')).to_have_text(word, timeout=30_000)


@pytest.fixture(scope='module')
def finished(server: Server) -> str:
    """The address of a run that has ended, which the tests of this file share."""
    return server.launch('pipeline', task=TASK, ended=True)


def open_run(page: Page, url: str, at: int | None = None) -> None:
    """Open a run, at a step or at its end, and wait until it is drawn."""
    page.goto(url if at is None else f'{url}?at={at}')
    expect(page.locator('.step-number')).to_have_text(f'Step {at or STEPS}')
    expect(count(page)).to_contain_text(f'{at or STEPS} / {STEPS}')
    expect(page.locator('.mark').first).to_be_attached()
    expect(page.locator('.diagram .state.active').first).to_be_attached()


def test_watch_to_the_end(page, server):
    launch(page, server)
    status(page, 'Done')
    expect(count(page)).to_contain_text(f'{STEPS} / {STEPS}')
    expect(page.locator('.run-grid')).to_have_attribute('data-face', 'watch')
    result = page.get_by_role('region', name='Result')
    expect(result.get_by_role('heading').first).to_be_visible()
    expect(page.locator('.diagram .state.active')).to_have_attribute('id', 's:complete')
    flags = [kind for _, _, kind, _ in page.evaluate(FLAGS)]
    assert {kind: flags.count(kind) for kind in set(flags)} == {
        'revision': 2,
        'rejected': 2,
        'approved': 1,
        'error': 1,
    }
    expect(page.locator('.run-facts .simulated')).to_be_visible()
    page.get_by_label('Show', exact=True).select_option(label='Transcript')
    expect(page.locator('.transcript .block b', has_text='Reviewer').first).to_be_visible()


def test_the_last_step_is_explained_and_keys_move_everything(page, finished):
    open_run(page, finished)
    expect(page.locator('.step-title')).to_have_text('reviewing → complete: the reviewer approved')
    expect(page.locator('.step > .guard')).to_have_text('Approved: yes')
    page.get_by_text('2 other transitions were not possible').click()
    analyzing = page.locator('.edge-outcome', has_text='to analyzing')
    expect(analyzing).to_contain_text('Not checked: an earlier one applied')
    change = page.locator('.change', has_text=re.compile('memory . status'))
    expect(change.locator('.before')).to_have_text('reviewing')
    expect(change.locator('.after')).to_have_text('complete')
    hit = page.locator('.diagram .edge.traversed path.hit').first  # as easy to hit as the others
    assert hit.evaluate('(one) => getComputedStyle(one).strokeWidth') == '14px'

    page.keyboard.press('Home')
    expect(count(page)).to_contain_text(f'1 / {STEPS}')
    for _ in range(4):
        page.keyboard.press('ArrowRight')
    expect(count(page)).to_contain_text(f'5 / {STEPS}')
    expect(page).to_have_url(f'{finished}?at=5')
    expect(page.locator('.step-number')).to_have_text('Step 5')
    expect(page.locator('.diagram .state.active')).to_have_attribute('id', 's:researching.using_tools')
    page.keyboard.press('ArrowLeft')
    expect(page.locator('.step-number')).to_have_text('Step 4')
    page.keyboard.press('End')
    expect(count(page)).to_contain_text(f'{STEPS} / {STEPS}')
    page.get_by_role('tab', name='Memory').click()
    expect(page.locator('.tree .changed', has_text='status')).to_contain_text('complete')


def test_playback_replays_the_journal_and_calls_no_model(page, finished):
    open_run(page, finished, STEPS - 4)
    page.keyboard.press(' ')
    expect(count(page)).to_contain_text(f'{STEPS} / {STEPS}')
    expect(page.locator('.run-facts')).to_contain_text('14 calls')


def test_tabs_and_dialogs_keep_their_keys_and_a_state_leads_to_its_visits(page, finished):
    open_run(page, finished, 5)
    page.get_by_role('tab', name='Agents').focus()
    for key, tab in (('ArrowRight', 'Transcript'), ('End', 'Messages'), ('Home', 'Agents')):
        page.keyboard.press(key)
        expect(page.get_by_role('tab', name=tab)).to_be_focused()
    expect(page.locator('.step-number')).to_have_text('Step 5')
    more = page.get_by_role('button', name='More')
    more.focus()
    page.keyboard.press('Enter')
    expect(page.get_by_role('dialog')).to_contain_text('About this run')
    expect(more).not_to_be_focused()  # The dialog has the focus by now.
    page.keyboard.press('Home')
    page.keyboard.press('Escape')
    expect(page.get_by_role('dialog')).to_have_count(0)
    expect(more).to_be_focused()
    expect(page.locator('.step-number')).to_have_text('Step 5')
    page.locator('[id="s:complete"] text').click()
    expect(page.locator('.diagram .state.active')).to_have_attribute('id', 's:complete')


def test_escape_closes_dialogs_and_returns_the_focus(page, server):
    page.goto(f'{server.launch("pipeline", task="Tea?", options={"paused": True})}?inspect=breakpoints')
    expect(page.get_by_role('button', name='Continue')).to_be_visible()
    more, dialogs = page.get_by_role('button', name='More'), page.get_by_role('dialog')
    add = page.get_by_role('button', name='Add breakpoint')
    add.press('Enter')
    expect(dialogs.filter(has_text='New breakpoint')).to_be_visible()
    expect(page.locator(':focus')).to_have_count(1)
    page.keyboard.press('Escape')
    expect(dialogs).to_have_count(0)
    expect(add).to_be_focused()
    more.press('Enter')
    dialogs.get_by_role('button', name=re.compile('Delete')).press('Enter')
    expect(page.get_by_role('button', name='Keep running')).to_be_focused()
    page.keyboard.press('Escape')
    expect(dialogs).to_have_count(0)
    expect(more).to_be_focused()


def test_pause_step_resume_and_cancel(page, new_server):
    new_server.pace = 40
    new_server.start()
    launch(page, new_server)
    page.get_by_role('button', name='Pause', exact=True).press('Enter')
    status(page, 'Paused')
    expect(page.get_by_role('button', name='Continue')).to_be_focused()
    element = page.locator('.diagram .state.active')
    expect(element).to_have_attribute('id', 's:researching')
    expect(element.locator('.card-state')).to_have_text('using tools')  # the call in progress has ended
    page.get_by_role('button', name='Step in', exact=True).click()
    expect(element.locator('.card-state')).to_have_text('thinking')
    status(page, 'Paused')
    page.get_by_role('button', name='Continue').click()
    status(page, 'Running')
    cancel = page.locator('.run-controls').get_by_role('button', name='Cancel')
    cancel.press('Enter')
    expect(page.get_by_role('dialog', name='Cancel this run?')).to_be_visible()
    page.keyboard.press('Escape')
    expect(page.get_by_role('dialog', name='Cancel this run?')).to_have_count(0)
    expect(cancel).to_be_focused()
    page.keyboard.press('Enter')
    page.get_by_label('Reason').fill('seen enough')
    page.get_by_label('Reason').press('Enter')
    status(page, 'Cancelled')
    controls = page.locator('.run-controls')
    expect(controls.get_by_role('button', name='Retry')).to_be_focused()  # in place of Cancel
    expect(controls.get_by_role('button', name='Pause', exact=True)).to_be_hidden()
    page.get_by_label('Show', exact=True).select_option(label='Transcript')
    expect(page.locator('.transcript .human').last).to_contain_text('cancelled the run: seen enough')


@pytest.mark.long
def test_a_killed_server_loses_and_repeats_nothing(page, new_server, console):
    console.expect(r'ERR_CONNECTION|WebSocket|Failed to load resource|handshake|502')
    new_server.pace = 150
    new_server.start()
    url = launch(page, new_server)
    expect(page.get_by_role('region', name='Analyzer')).to_be_visible(timeout=30_000)
    label = page.locator('.step-number').inner_text()
    new_server.pace = 0
    new_server.restart()
    status(page, 'Done')  # the page reconnects by itself, and the run continues
    expect(page.locator('.mark[data-kinds~="restart"]')).to_have_count(1)
    recovered = STEPS + 1
    expect(count(page)).to_contain_text(f'{recovered} / {recovered}')
    number = label.removeprefix('Step ')
    page.goto(f'{url}?at={number}')
    expect(page.locator('.step-number')).to_have_text(label)
    page.get_by_label('Show', exact=True).select_option(label='Transcript')
    element = page.locator('.transcript .block.text header b', has_text='Researcher')
    expect(element).to_have_count(1)


def test_streamed_text_is_markdown_and_never_html(page, new_server, tmp_path):
    patterns = tmp_path / 'patterns'
    patterns.mkdir()
    (patterns / 'hostile.py').write_text(HOSTILE)
    new_server.patterns = patterns
    new_server.start()
    page.goto(f'{new_server.url}/launch/hostile')
    page.get_by_role('button', name='Run', exact=True).click()
    status(page, 'Done')
    page.get_by_role('button', name='Watch').click()
    pane = page.get_by_role('region', name='Result').locator('.prose')
    expect(pane.locator('strong')).to_have_text('bold')
    expect(pane).to_contain_text('<img src=x onerror=')
    expect(pane.locator('img, script, iframe')).to_have_count(0)
    expect(pane.locator('a')).to_have_count(1)
    assert page.evaluate('window.pwned') is None


HOSTILE = '''
"""A stage whose text attacks the page."""
from engine import Memory, Pattern

TEXT = """**bold** <img src=x onerror="window.pwned=1"> <script>window.pwned=1</script>
[bad](javascript:window.pwned=1) [good](https://example.org) ![shot](https://example.org/x.png)
<iframe src="https://example.org"></iframe>"""


class Hostile(Pattern):
    """Says something hostile."""

    class Memory(Memory):
        said: str = ''

    initial = 'speaking'
    answer = 'said'
    states = ({'name': 'speaking', 'invoke': 'speak'}, {'name': 'over', 'final': True})
    transitions = ({'trigger': 'done', 'source': 'speaking', 'dest': 'over', 'after': 'keep'},)

    async def speak(self, memory, activity):
        return {'text': TEXT}

    def keep(self, memory, event):
        memory.said = event.data['text']
'''


def test_a_narrow_window_shows_one_part_at_a_time(open_page, finished, axe):
    page = open_page(width=390, height=844)
    open_run(page, finished)
    assert page.evaluate(OVERFLOW) <= 0
    for part, region in (('Diagram', '.diagram-panel'), ('Step', '.inspector'), ('Agents', '.middle')):
        page.locator('.run-switch').get_by_role('button', name=part).click()
        expect(page.locator(region)).to_be_visible()
        expect(page.locator('.run-grid :is(.diagram-panel, .main-column, .inspector):visible')).to_have_count(
            1
        )
        assert page.evaluate(OVERFLOW) <= 0
    axe(page)


def test_a_long_title_leaves_room_for_the_facts_and_is_cut_at_its_end(page, server):
    title = 'مرحبا بالعالم ' * 12
    page.goto(server.launch('pipeline', task=TASK, ended=True, options={'title': title}))
    tokens = page.locator('.spent > .num')
    expect(tokens).to_contain_text('calls')
    assert page.locator('.run-facts').evaluate('(one) => one.scrollWidth <= one.clientWidth')
    element = page.locator('.run-name h1 > *')
    assert element.evaluate('(one) => getComputedStyle(one).direction') == 'rtl'
    assert element.evaluate('(one) => one.scrollWidth > one.clientWidth')
