"""Every page in both themes and at three widths: no axe findings, one `main`, headings in order."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import COLOUR_RULES, findings, recolour
from tests.browser.filled import Filler, add_account, session
from tests.browser.server import Server

ZOOMED = 720
"""A window of 1440 pixels at 200 %."""
WIDTHS = (1440, 1024, ZOOMED, 390)
OVERFLOW = 'document.documentElement.scrollWidth - window.innerWidth'
PAGES = {
    'home': '/',
    'launch': '/launch/parallel-review',
    'tools': '/tools',
    'tool': '/tools/calculator',
    'settings': '/settings',
    'traffic': '/patterns/pipeline/traffic',
    'workers': '/workers',
    'missing': '/nothing',
    'run': '{run}',
    'past': '{run}?at=9',
    'transcript': '{run}/transcript?at=9',
    'messages': '{run}/messages',
    'drafts': '{run}/drafts',
    'memory': '{run}?inspect=memory',
    'fork': '{run}/fork?at=9',
    'family': '{run}/family',
    'compare': '/compare?a={id}&b={id}',
}
TEAM_PAGES = {
    'runs': '/runs',
    'inbox': '/inbox',
    'question': '/inbox/{question}',
    'notifications': '/notifications',
    'schedules': '/schedules',
    'trash': '/trash',
    'wall': '/wall',
    'variants': '/variants/{group}',
    'account': '/account',
    'accounts': '/accounts',
    'audit': '/audit',
}
"""Pages of a server that requires a login, all of them with content."""


@pytest.fixture(scope='module')
def run(server) -> str:
    return server.sample('pipeline', 'Event sourcing').removeprefix(server.url)


@pytest.fixture(scope='module')
def team(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Any, dict]]:
    """A server, the storage state of a login, and the ids of what its pages show."""
    server = Server(tmp_path_factory.mktemp('team'))
    add_account(server)
    server.start()
    state = session(browser, server)
    context = browser.new_context(storage_state=state)
    filled = Filler(context.new_page(), server).fill()
    context.close()
    yield server, state, filled
    server.stop()


def check(page: Page) -> None:
    """Check a page, loaded only once, at each width and in both themes."""
    expect(page.get_by_role('heading', level=1)).to_have_count(1)
    expect(page.get_by_role('main')).to_have_count(1)
    expect(page.locator('.skeleton:visible')).to_have_count(0)
    for width in WIDTHS:
        page.set_viewport_size({'width': width, 'height': 844})
        assert page.evaluate(OVERFLOW) <= 0, width
        if width == ZOOMED:
            continue
        assert findings(page) == [], width
        recolour(page, 'dark')
        assert findings(page, runOnly=COLOUR_RULES) == [], width
        recolour(page, 'light')


@pytest.mark.parametrize('path', PAGES.values(), ids=PAGES.keys())
def test_axe_finds_nothing(open_page, server, console, run, path):
    console.expect('404')  # from the missing page
    page = open_page()
    page.goto(server.url + path.format(run=run, id=run.rpartition('/')[2]))
    check(page)


@pytest.mark.parametrize('path', TEAM_PAGES.values(), ids=TEAM_PAGES.keys())
def test_axe_finds_nothing_on_the_pages_of_a_team(open_page, team, path):
    server, state, filled = team
    page = open_page(storage_state=state)
    page.goto(server.url + path.format(**filled))
    check(page)


def test_axe_finds_nothing_on_the_login_page(open_page, console, team):
    server, _, _ = team
    console.expect('401')
    page = open_page()
    page.goto(f'{server.url}/login')
    page.get_by_label('Name').fill('ada')
    page.get_by_label('Password').fill('a wrong password')
    page.get_by_role('button', name='Log in').click()
    expect(page.get_by_role('alert')).to_be_visible()
    check(page)


def test_a_listed_runs_figures_fit_on_one_line_on_a_phone(open_page, team):
    server, state, _ = team
    page = open_page(width=390, height=844, storage_state=state)
    page.goto(f'{server.url}/runs')
    waits = page.locator('.run').filter(has_text='Waiting for you')
    expect(waits.locator('.run-ago')).to_be_visible()
    waits.locator('.run-duration').evaluate('one => one.textContent = "12:34:56"')
    waits.locator('.run-ago').evaluate('one => one.textContent = "59 min ago"')
    lines = waits.locator('.run-link > :is(.run-status, .num)').evaluate_all(
        'all => all.filter(one => one.checkVisibility()).map(one => one.getBoundingClientRect().bottom)'
    )
    assert len(lines) == 3 and max(lines) - min(lines) < 12


def test_the_chart_has_a_text_list_of_states_that_follows_the_run(page, server, run):
    page.goto(f'{server.url}{run}?at=9')
    listed = page.get_by_role('list', name='States of Pipeline')
    researching = listed.locator(':scope > li').filter(has_text='researching')
    expect(researching.locator('li').first).to_be_attached()
    expect(listed.get_by_text(', active')).to_have_count(1)
    drawn = page.locator('.diagram svg').get_by_role('img', name='in researching')
    expect(drawn).not_to_have_count(0)
    before = listed.inner_text()
    page.get_by_role('slider', name='Step').press('End')
    expect(listed.get_by_text('complete, active')).to_be_attached()
    assert listed.inner_text() != before
    expect(page.locator('.diagram svg').get_by_role('img', name='complete, active')).to_be_attached()
