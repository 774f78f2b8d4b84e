"""The wall in a real browser: each pane shows the newest words, unless somebody reads the older ones."""

from playwright.sync_api import expect

SOURCE = '''
"""Two agents that talk until they are stopped."""
from engine import Memory, Pattern
from engine.agents.chart import agent
from engine.models.scripted.model import Scripted
from engine.models.scripted.scenario import Turn

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


def test_a_pane_stays_at_its_end_and_one_that_is_read_stays_where_it_is(open_page, new_server, tmp_path):
    new_server.pace, new_server.patterns = 1_000, tmp_path / 'patterns'
    new_server.patterns.mkdir()
    (new_server.patterns / 'talkers.py').write_text(SOURCE)
    new_server.start()
    page = open_page(width=600, height=700)  # the page scrolls, too
    page.goto(f'{new_server.url}/wall')
    own = {'Origin': new_server.url}
    answer = page.request.post(f'{new_server.url}/api/v1/runs', data={'pattern': 'talkers'}, headers=own)
    assert answer.ok, answer.text()
    expect(page.locator('.wall-pane section.agent')).to_have_count(2)
    first, second = BODY.format(1), BODY.format(2)
    for body in (first, second):
        page.wait_for_function(AT_END, arg=body)
    page.evaluate('(body) => { document.querySelector(body).scrollTop = 0; }', first)
    height = page.evaluate('(body) => document.querySelector(body).scrollHeight', first)
    page.wait_for_function(GROWN, arg=[first, height])
    assert page.evaluate('(body) => document.querySelector(body).scrollTop', first) == 0
    page.wait_for_function(AT_END, arg=second)
