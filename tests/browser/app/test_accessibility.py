"""Every page in both themes and at three widths: no axe findings, one `main`, headings in order."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import check_page, unfold
from tests.browser.filled import Filler, add_account, session
from tests.browser.server import Server
from tests.browser.windows import Window, Windows

PAGES = {
    'home': '/',
    'tools': '/tools',
    'tool': '/tools/notes',
    'traffic': '/patterns/pipeline/traffic',
    'simulator': '/patterns/pipeline/simulate',
    'charts': '/charts',
    'editor': '/charts/toast?new=1',
    'workers': '/workers',
    'missing': '/nothing',
    'run': '{run}',
    'transcript': '{run}/transcript?at=9',
    'messages': '{run}/messages',
    'drafts': '{run}/drafts',
    'past': '{run}?at=9&inspect=memory',
    'fork': '{run}/fork?at=9',
    'test': '{run}/test',
    'family': '{run}/family',
    'compare': '/compare?a={id}&b={id}',
    'style': '/style',
}
"""The launch form and the settings are checked in their own tests, with problems on them."""
UNFOLDED = {
    '/tools': 'main',
    '/tools/notes': 'main',
    '{run}/test': 'main',
    '{run}/fork?at=9': '.values .fold',
}
"""Pages whose folds are opened, each with a selector of what is drawn only then."""
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


@pytest.mark.parametrize('path', PAGES.values(), ids=PAGES.keys())
def test_axe_finds_nothing(open_page, server, console, run, path):
    console.expect('404')  # from the missing page
    page = open_page()
    page.goto(server.url + path.format(run=run, id=run.rpartition('/')[2]))
    if path in UNFOLDED:
        unfold(page)
        expect(page.locator(UNFOLDED[path]).first).to_be_visible()
        unfold(page)
    check_page(page)


@pytest.fixture(scope='module')
def team_window(windows: Windows, team: tuple[Server, Any, dict]) -> Iterator[Window]:
    """A window of somebody who is logged in; it keeps the scripts that it has loaded."""
    _, state, _ = team
    window = windows.open(1440, 900, 'light', storage_state=state)
    yield window
    windows.close(window)


@pytest.mark.parametrize('path', TEAM_PAGES.values(), ids=TEAM_PAGES.keys())
def test_axe_finds_nothing_on_the_pages_of_a_team(team_window, team, path):
    server, _, filled = team
    team_window.prepare({'width': 1440, 'height': 900})
    team_window.page.goto(server.url + path.format(**filled))
    check_page(team_window.page)
    assert team_window.errors == []


def test_axe_finds_nothing_on_the_login_page(open_page, console, team):
    server, _, _ = team
    console.expect('401')
    page = open_page()
    page.goto(f'{server.url}/login')
    page.get_by_label('Name').fill('ada')
    page.get_by_label('Password').fill('a wrong password')
    page.get_by_role('button', name='Log in').click()
    expect(page.get_by_role('alert')).to_be_visible()
    check_page(page)


def test_a_listed_runs_figures_fit_on_one_line_on_a_phone(team_window, team):
    server, _, _ = team
    team_window.prepare({'width': 390, 'height': 844})
    page = team_window.page
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
