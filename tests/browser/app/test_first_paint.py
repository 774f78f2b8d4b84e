"""What a page shows before its scripts arrive, and how large it is."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

KILOBYTES = 220
"""Compressed, with an empty cache; it was 490."""
REQUESTS = 9
"""The page, its styles, icons and fonts, Vue and bundles of scripts; there were 31."""
RUN_KILOBYTES = 300
"""A run of the pipeline with its result; it was 588."""
RUN_REQUESTS = 11
"""With the scripts of charts and of runs; there were 48."""
SHIFTS = """window.shifts = [];
new PerformanceObserver((list) => {
    for (const { hadRecentInput, value, sources } of list.getEntries())
        if (!hadRecentInput)
            shifts.push(`${value}: ` + sources.map(({ node, previousRect: from, currentRect: to }) =>
                `${(node?.closest ? node : node?.parentElement)?.className} ` +
                `${from.x} ${from.y} -> ${to.x} ${to.y}`).join("; "));
}).observe({ type: "layout-shift", buffered: true });"""
SLOW = {'offline': False, 'downloadThroughput': 50_000, 'uploadThroughput': 50_000, 'latency': 100}
FIRST = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def test_the_first_text_needs_no_script_and_no_style_sheet(page, server):
    for glob in ('**/*.js*', '**/*.mjs*', '**/*.css*', '**/*.woff2*'):
        page.route(glob, lambda route: None)
    page.context.add_init_script('window.did_handshake = true')  # no script connects, so do not wait for it
    page.goto(f'{server.url}/settings', wait_until='commit')
    expect(page.get_by_role('heading', name='Settings')).to_be_visible()
    expect(page.get_by_role('link', name='Runs')).to_be_visible()
    expect(page.get_by_role('status')).to_have_text('Loading…')


def record_sizes(page: Page) -> list[int]:
    """Record the transferred bytes of everything loaded from now on, and layout shifts."""
    page.add_init_script(SHIFTS)
    session = page.context.new_cdp_session(page)
    session.send('Network.enable')
    session.send('Network.setCacheDisabled', {'cacheDisabled': True})
    sizes: list[int] = []
    ours: set[str] = set()

    def note_request(event: dict[str, Any]) -> None:
        if not event['request']['url'].startswith('data:'):  # part of the style sheet
            ours.add(event['requestId'])

    def add_size(event: dict[str, Any]) -> None:
        if event['requestId'] in ours:
            sizes.append(event['encodedDataLength'])

    session.on('Network.requestWillBeSent', note_request)
    session.on('Network.loadingFinished', add_size)
    return sizes


def test_the_first_text_appears_quickly_on_a_slow_connection(page, server):
    page.goto(f'{server.url}/settings')  # warm up: the connection is measured, not a server's first page
    session = page.context.new_cdp_session(page)
    session.send('Network.enable')
    session.send('Network.setCacheDisabled', {'cacheDisabled': True})
    session.send('Network.emulateNetworkConditions', SLOW)
    page.goto(f'{server.url}/settings', wait_until='commit')
    page.wait_for_function(FIRST)
    assert page.evaluate(FIRST) < 3_000
    expect(page.locator('#first-words')).to_have_count(0, timeout=30_000)


def test_the_page_of_an_ended_run_is_small_and_does_not_shift(page, server):
    url = server.sample('pipeline', 'Event sourcing')
    sizes = record_sizes(page)
    page.goto(f'{url}?face=watch')
    expect(page.locator('.result-card.shown')).to_be_visible()
    page.wait_for_load_state('networkidle')
    assert sum(sizes) < RUN_KILOBYTES * 1000
    assert len(sizes) <= RUN_REQUESTS
    assert page.evaluate('shifts') == []


def test_loaded_files_are_cached(page, server):
    page.goto(f'{server.url}/launch/pipeline')
    expect(page.locator('.diagram svg')).to_be_visible()
    loaded = page.evaluate('performance.getEntriesByType("resource").map((one) => one.name)')
    assert [url for url in loaded if '/components/' in url] == []
    page.goto(f'{server.url}/launch/pipeline')
    expect(page.locator('.diagram svg')).to_be_visible()
    requested = page.evaluate("""performance.getEntriesByType("resource")
        .filter((one) => one.name.includes(".bundle.js")).map((one) => one.transferSize)""")
    assert requested == [0, 0, 0, 0]


@pytest.mark.parametrize(('path', 'heading'), [('/settings', 'Settings'), ('/', 'Home')])
def test_a_page_is_small_and_does_not_shift(page, server, path, heading):
    server.sample('pipeline')
    sizes = record_sizes(page)
    page.goto(server.url + path)
    expect(page.get_by_role('heading', name=heading)).to_be_visible()
    expect(page.locator('#first-words')).to_have_count(0)
    page.wait_for_load_state('networkidle')
    assert sum(sizes) < KILOBYTES * 1000
    assert len(sizes) <= REQUESTS
    assert page.evaluate('shifts') == []
    fonts = page.evaluate('[...document.fonts].map((font) => `${font.family} ${font.status}`)')
    assert {'Material Icons loaded', 'Inter loaded'} <= {font.replace('"', '') for font in fonts}


def test_the_question_mark_lists_the_pages_shortcuts(page, server, axe):
    page.goto(f'{server.url}/launch/pipeline')
    expect(page.get_by_label('Task', exact=True)).to_be_focused()  # by the page itself, once it is ready
    page.get_by_label('Task', exact=True).press('?')
    expect(page.get_by_label('Task', exact=True)).to_have_value('?')
    keys = page.get_by_role('dialog', name='Keyboard shortcuts')
    expect(keys).to_be_hidden()  # the key was typed into the field
    page.get_by_role('heading', name='Configure Pipeline').click()
    page.keyboard.press('?')
    expect(keys).to_be_visible()
    expect(keys).to_contain_text('Ctrl Enter')
    axe(page)
    page.keyboard.press('Escape')
    expect(keys).to_be_hidden()


def test_a_lost_connection_covers_nothing(open_page, server):
    for width in (390, 1440):
        page = open_page(width=width, height=844)
        page.goto(f'{server.url}/tools')
        page.evaluate('window.socket.disconnect()')
        element = page.locator('#popup')
        expect(element).to_be_visible()
        element_box = element.bounding_box()
        for part in page.locator('.topbar a, .topbar button, h1').all():
            if not part.is_visible():
                continue
            box = part.bounding_box()
            apart = (
                box['x'] >= element_box['x'] + element_box['width']
                or box['x'] + box['width'] <= element_box['x']
                or box['y'] >= element_box['y'] + element_box['height']
                or box['y'] + box['height'] <= element_box['y']
            )
            assert apart, part.inner_text()
