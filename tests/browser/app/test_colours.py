"""Elements drawn by Quasar use the page's colours and are legible, in light and in dark mode."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import recolour

ACCENT = {'light': 'rgb(63, 79, 208)', 'dark': 'rgb(147, 161, 255)'}
NOTIFY = """(type) => Quasar.Notify.create({
  ...(type && { type }), message: `This is ${type || 'plain'}`, timeout: 0, closeBtn: 'Close',
})"""


def test_boxes_and_messages_have_readable_colours(page, server, axe):
    page.goto(f'{server.url}/launch/parallel-review')
    page.locator('summary', has_text='Project and tests').click()
    box = page.locator('.q-checkbox__inner--truthy').first
    for number, kind in enumerate((None, 'negative', 'positive', 'warning'), start=1):
        page.evaluate(NOTIFY, kind)
        expect(page.locator('.q-notification')).to_have_count(number)
    for scheme, colour in ACCENT.items():
        recolour(page, scheme)
        expect(box).to_have_css('color', colour)
    recolour(page, 'light')
    axe(page, dark=True)


BACKGROUND = 'getComputedStyle(document.documentElement).backgroundColor'


@pytest.mark.parametrize('choice', ['system', 'chosen'])
def test_a_dark_page_is_dark_before_its_scripts_run(open_page, server, choice):
    page = open_page(scheme='dark' if choice == 'system' else 'light')
    page.goto(f'{server.url}/tools')
    if choice == 'chosen':
        page.get_by_role('button', name='Dark or light').click()
        expect(page.locator('body.body--dark')).to_be_attached()
        server.wait_until_kept('"dark":')
    bare = page.context.new_page()
    bare.route(lambda url: url.endswith('.js') or 'socket' in url, lambda route: route.abort())
    bare.goto(f'{server.url}/tools', wait_until='domcontentloaded')
    assert bare.evaluate(BACKGROUND) == 'rgb(14, 17, 23)'
    assert 'dark' in bare.evaluate('getComputedStyle(document.documentElement).colorScheme')


def test_the_current_page_and_ticked_boxes_stand_out_in_forced_colours(page, server):
    page.emulate_media(forced_colors='active')
    page.goto(f'{server.url}/settings')
    link = page.locator('.topbar nav a[aria-current]')
    other = page.locator('.topbar nav a:not([aria-current])').first
    look = 'one => getComputedStyle(one).backgroundColor'
    assert link.evaluate(look) != other.evaluate(look)
    page.goto(f'{server.url}/launch/parallel-review')
    page.locator('summary', has_text='Project and tests').click()
    ticked = page.locator('.q-checkbox__inner--truthy .q-checkbox__bg').first
    expect(ticked).to_have_css('forced-color-adjust', 'none')  # otherwise it looks unselected


def test_the_favicon_is_ours(page, server):
    page.goto(server.url)
    icon = page.locator('link[rel~="icon"]').get_attribute('href')
    answer = page.request.get(f'{server.url}{icon}')
    assert 'svg' in answer.headers['content-type']
    assert 'M4 24a12 12' in answer.text()
