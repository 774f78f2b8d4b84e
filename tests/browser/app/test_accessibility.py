"""Every page in both themes and three widths: nothing for axe to find, one `main`, headings in order."""

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import COLOURS, findings, recolour
from tests.browser.run.test_artifacts import launch

WIDTHS = (1440, 1024, 390)
WIDER = 'document.documentElement.scrollWidth - window.innerWidth'
PAGES = {
    'home': '/',
    'runs': '/runs',
    'trash': '/trash',
    'launch': '/launch/parallel-review',
    'tools': '/tools',
    'tool': '/tools/calculator',
    'settings': '/settings',
    'traffic': '/patterns/pipeline/traffic',
    'schedules': '/schedules',
    'wall': '/wall',
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


@pytest.fixture(scope='module')
def run(browser: Browser, server) -> str:
    return launch(browser, server, 'pipeline', 'Event sourcing').removeprefix(server.url)


@pytest.mark.parametrize('path', PAGES.values(), ids=PAGES.keys())
def test_axe_finds_nothing(open_page, server, console, run, path):
    console.expect('404')  # of the page that is missing
    page = open_page()
    page.goto(server.url + path.format(run=run, id=run.rpartition('/')[2]))
    expect(page.get_by_role('heading', level=1)).to_have_count(1)
    expect(page.get_by_role('main')).to_have_count(1)
    expect(page.locator('.skeleton:visible')).to_have_count(0)
    for width in WIDTHS:
        page.set_viewport_size({'width': width, 'height': 844})
        assert page.evaluate(WIDER) <= 0, width
        assert findings(page) == [], width
        recolour(page, 'dark')
        assert findings(page, runOnly=COLOURS) == [], width
        recolour(page, 'light')


def test_the_chart_is_also_a_list_of_states_that_follows_the_run(page, server, run):
    page.goto(f'{server.url}{run}?at=9')
    listed = page.get_by_role('list', name='States of the State diagram of Pipeline')
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
