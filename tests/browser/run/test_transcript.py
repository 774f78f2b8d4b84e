"""The transcript of a long run: nothing missing or duplicated; searching, keyboard, following."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.server import Server

MESSAGES = 600
DIALOGUE = f'''
"""One who keeps talking."""
from engine import Memory, Pattern


class Monologue(Pattern):
    """Asks a person nothing, and says a number at a time."""

    class Memory(Memory):
        said: int = 0

    initial = 'talking'
    states = ({{'name': 'talking', 'invoke': 'talk'}}, {{'name': 'over', 'final': True}})
    transitions = (
        {{'trigger': 'done', 'source': 'talking', 'dest': 'over', 'conditions': 'is_enough'}},
        {{'trigger': 'done', 'source': 'talking', 'dest': 'talking', 'after': 'count'}},
    )

    async def talk(self, memory, activity):
        text = f'**Number {{memory.said + 1}}** of the day' + '\\\\n\\\\nand more of it' * (memory.said % 5)
        message = {{'role': 'assistant', 'parts': [{{'kind': 'text', 'text': text}}]}}
        return {{'message': message, 'role': 'talker', 'model': 'none'}}

    def is_enough(self, memory, event):
        return memory.said >= {MESSAGES} - 1

    def count(self, memory, event):
        memory.said += 1
'''
SAID = """() => [...document.querySelectorAll('.transcript-list .block .body')]
  .map((body) => Number(/Number (\\d+)/.exec(body.textContent)[1]))"""


@pytest.fixture(scope='module')
def run(tmp_path_factory):
    """The address of a run that has ended."""
    folder = tmp_path_factory.mktemp('monologue')
    (folder / 'patterns').mkdir()
    (folder / 'patterns' / 'monologue.py').write_text(DIALOGUE)
    server = Server(folder)
    server.patterns = folder / 'patterns'
    server.start()
    yield server.launch('monologue', ended=True)
    server.stop()


@pytest.fixture
def talk(page, run):
    """A page with the complete transcript of the run."""
    page.goto(run)
    page.get_by_role('tab', name='Transcript').click()
    expect(page.locator('.transcript-search')).to_contain_text(f'{MESSAGES} messages', timeout=30_000)
    expect(page.get_by_role('feed')).to_have_attribute('aria-busy', 'false', timeout=30_000)
    return page


def test_a_long_transcript_is_complete_and_only_its_end_is_drawn(talk, axe):
    page, feed = talk, talk.get_by_role('feed')
    assert page.evaluate(SAID) == list(range(1, MESSAGES + 1))
    expect(feed.locator('.prose:not(.raw) strong').last).to_have_text(f'Number {MESSAGES}')
    expect(feed.locator('article').last).to_be_in_viewport()
    assert page.locator('.transcript-list .raw').count() > MESSAGES / 2
    expect(feed.locator('article').nth(41)).to_have_attribute('aria-posinset', '42')
    expect(feed.locator('article').nth(41)).to_have_attribute('aria-setsize', str(MESSAGES))
    feed.evaluate('(list) => { list.scrollTop = 0; }')
    first = feed.locator('article').first
    expect(first.locator('strong')).to_have_text('Number 1')  # drawn when scrolled near
    expect(first).to_be_in_viewport()
    axe(page)


def test_it_is_filtered_by_text(talk):
    page = talk
    field = page.get_by_label('Find messages that contain this text')
    field.fill('number 59')
    expect(page.locator('.transcript-search')).to_contain_text(f'11 of {MESSAGES} messages')
    assert page.evaluate(SAID) == [59, *range(590, 600)]
    expect(page.locator('.transcript-list .block:visible').last).to_have_attribute('aria-setsize', '11')
    field.fill('nothing like it')
    expect(page.locator('.transcript-search')).to_contain_text(f'0 of {MESSAGES} messages')
    field.fill('')
    expect(page.locator('.transcript-search')).to_have_text(f'{MESSAGES} messages')
    assert page.evaluate(SAID) == list(range(1, MESSAGES + 1))


def test_keys_move_from_message_to_message(talk):
    page, articles = talk, talk.get_by_role('feed').locator('article')
    page.get_by_label('Find messages that contain this text').focus()
    page.keyboard.press('Tab')
    expect(articles.last).to_be_focused()
    for _ in range(3):
        page.keyboard.press('PageUp')
    expect(articles.nth(MESSAGES - 4)).to_be_focused()
    expect(articles.nth(MESSAGES - 4)).to_be_in_viewport()
    page.keyboard.press('PageDown')
    expect(articles.nth(MESSAGES - 3)).to_be_focused()


def test_the_transcript_ends_at_the_shown_step(page, run):
    page.goto(f'{run}?at=500')
    page.get_by_role('tab', name='Transcript').click()
    note = page.locator('.transcript-list .block:visible header span').last
    expect(note).to_have_text(re.compile(r'step 500$|step 499$'))
    expect(page.get_by_role('feed')).to_have_attribute('aria-busy', 'false', timeout=30_000)
    before = page.evaluate(SAID)
    assert before == list(range(1, before[-1] + 1))
    page.get_by_role('tab', name='Agents').click()
    page.get_by_role('slider', name='Step').press('End')
    page.get_by_role('tab', name='Transcript').click()
    expect(page.locator('.transcript-search')).to_contain_text(f'{MESSAGES} messages', timeout=30_000)
    assert page.evaluate(SAID) == list(range(1, MESSAGES + 1))
