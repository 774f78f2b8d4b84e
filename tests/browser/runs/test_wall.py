"""The wall in a real browser: panes follow the newest text unless a person reads older text."""

import re

import pytest
from playwright.sync_api import expect

SOURCE = '''
"""Two agents that talk until they are stopped."""
from engine import Memory, Pattern
from engine.agents.chart import agent
from engine.models.scripted.model import Scripted
from engine.models.prepared_replies import Turn

known = Scripted._turn
Scripted._turn = lambda self, request: (
    Turn(text='\\n\\n'.join(f'Paragraph {number} of many.' for number in range(20_000)))
    if request.hints.pattern == 'talkers'
    else known(self, request)
)


class Talkers(Pattern):
    """Two agents that talk."""

    initial = 'talking'
    states = [
        {'name': 'talking', 'parallel': [agent('ann', prompt='ask'), agent('bob', prompt='ask')]},
        {'name': 'over', 'final': True},
    ]
    transitions = [['done', 'talking', 'over']]

    def ask(self, memory):
        return 'Talk.'
'''
BODY = '.wall-pane:nth-child({}) .panel-body'
AT_END = """(body) => { const box = document.querySelector(body);
    return box.scrollHeight > box.clientHeight + 200
        && box.scrollHeight - box.scrollTop - box.clientHeight < 60; }"""
GROWN = '([body, height]) => document.querySelector(body).scrollHeight > height + 60'


def test_a_pane_follows_its_end_unless_scrolled_up(open_page, new_server, tmp_path):
    new_server.pace, new_server.patterns = 1_000, tmp_path / 'patterns'
    new_server.patterns.mkdir()
    (new_server.patterns / 'talkers.py').write_text(SOURCE)
    new_server.start()
    page = open_page(width=600, height=700)  # the page scrolls, too
    page.goto(f'{new_server.url}/wall')
    new_server.launch('talkers')
    expect(page.locator('.wall-pane section.agent')).to_have_count(2)
    first, second = BODY.format(1), BODY.format(2)
    for body in (first, second):
        page.wait_for_function(AT_END, arg=body)
    page.evaluate('(body) => { document.querySelector(body).scrollTop = 0; }', first)
    height = page.evaluate('(body) => document.querySelector(body).scrollHeight', first)
    page.wait_for_function(GROWN, arg=[first, height])
    assert page.evaluate('(body) => document.querySelector(body).scrollTop', first) == 0
    page.wait_for_function(AT_END, arg=second)
    # The pane is enlarged, stopped and restored on the wall itself.
    panes = page.locator('.wall-pane')
    panes.first.get_by_role('button', name='Enlarge pane').click()
    expect(panes.nth(1)).to_be_hidden()
    panes.first.get_by_role('button', name='Stop this agent').click()
    page.get_by_role('button', name='Stop agent').click()
    expect(panes.first.locator('section.agent')).to_have_class(re.compile('failed'))
    page.get_by_role('button', name='Restore size').click()
    expect(panes.nth(1)).to_be_visible()


WORKERS = '''
"""Two agents that use tools for hours."""
from engine import Pattern, ToolContext, agent, tool
from engine.models.scripted.model import Scripted
from engine.models.prepared_replies import Call, Turn

known = Scripted._turn
NOTES = tuple(Call(tool='note') for _ in range(5))
Scripted._turn = lambda self, request: (
    Turn(text=f'Reply {request.hints.turn}.', calls=NOTES, seconds=0.3)
    if request.hints.pattern == 'workers'
    else known(self, request)
)


@tool(category='general')
async def note(context: ToolContext) -> str:
    """Take a note."""
    return 'noted'


def busy(name):
    return agent(name, prompt='ask', tools=('note',), turns=1_000)


class Workers(Pattern):
    """Two agents that use tools."""

    initial = 'working'
    states = [
        {'name': 'working', 'parallel': [busy('ann'), busy('bob')]},
        {'name': 'over', 'final': True},
    ]
    transitions = [['done', 'working', 'over']]

    def ask(self, memory):
        return 'Work.'
'''
MAX_BLOCKS = 4 * 12
READ = """([read, other]) => { document.querySelector(read).scrollTop = 0;
    for (const body of [read, other]) document.querySelector(`${body} .block`).classList.add('known'); }"""
KEPT = """([body, most]) => document.querySelectorAll(`${body} .block`).length > most
    && document.querySelector(`${body} .block.known`) !== null"""
FORGOTTEN = """([body, most]) => { const blocks = document.querySelectorAll(`${body} .block`);
    return blocks.length > 5 && blocks.length <= most && !document.querySelector(`${body} .known`); }"""


@pytest.mark.long
def test_a_wall_left_open_drops_old_text_that_nobody_reads(open_page, new_server, tmp_path):
    new_server.patterns = tmp_path / 'patterns'
    new_server.patterns.mkdir()
    (new_server.patterns / 'workers.py').write_text(WORKERS)
    new_server.start()
    page = open_page(width=1200, height=800)
    page.goto(f'{new_server.url}/wall')
    new_server.launch('workers')
    expect(page.locator('.wall-pane section.agent')).to_have_count(2)
    first, second = BODY.format(1), BODY.format(2)
    page.wait_for_function(AT_END, arg=first)
    page.evaluate(READ, [first, second])
    page.wait_for_function(FORGOTTEN, arg=[second, MAX_BLOCKS])
    page.wait_for_function(KEPT, arg=[first, MAX_BLOCKS])
    assert page.evaluate('(body) => document.querySelector(body).scrollTop', first) == 0
    page.evaluate(
        '(body) => { const box = document.querySelector(body); box.scrollTop = box.scrollHeight; }', first
    )
    page.wait_for_function(FORGOTTEN, arg=[first, MAX_BLOCKS])
    page.wait_for_function(AT_END, arg=first)
