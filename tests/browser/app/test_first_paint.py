"""What a page shows before its scripts arrive, and how large it is."""

from playwright.sync_api import Page, expect

from tests.browser.run.test_artifacts import launch

KILOBYTES = 240
"""Compressed, with an empty cache; it was 490."""
REQUESTS = 18
"""It was 31."""
RUN_KILOBYTES = 320
"""A run of the pipeline with its result; it was 588."""
SLOW = {'offline': False, 'downloadThroughput': 50_000, 'uploadThroughput': 50_000, 'latency': 100}
FIRST = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def test_the_first_words_need_no_script_and_no_style_sheet(page, server):
    for held in ('**/*.js*', '**/*.mjs*', '**/*.css*', '**/*.woff2*'):
        page.route(held, lambda route: None)
    page.context.add_init_script('window.did_handshake = true')  # nothing answers: do not wait for it
    page.goto(f'{server.url}/settings', wait_until='commit')
    expect(page.get_by_role('heading', name='Settings')).to_be_visible()
    expect(page.get_by_role('link', name='Runs')).to_be_visible()
    expect(page.get_by_role('status')).to_have_text('Loading…')


def weighed(page: Page) -> list[int]:
    """The sizes of what is loaded from now on, in bytes as transferred."""
    session = page.context.new_cdp_session(page)
    session.send('Network.enable')
    session.send('Network.setCacheDisabled', {'cacheDisabled': True})
    sizes: list[int] = []
    session.on('Network.loadingFinished', lambda event: sizes.append(event['encodedDataLength']))
    return sizes


def test_the_first_words_are_there_soon_on_a_slow_line(page, server):
    page.goto(f'{server.url}/settings')  # what is measured is the line, not a server's first page
    session = page.context.new_cdp_session(page)
    session.send('Network.enable')
    session.send('Network.setCacheDisabled', {'cacheDisabled': True})
    session.send('Network.emulateNetworkConditions', SLOW)
    page.goto(f'{server.url}/settings', wait_until='commit')
    page.wait_for_function(FIRST)
    assert page.evaluate(FIRST) < 3_000
    expect(page.locator('#first-words')).to_have_count(0, timeout=30_000)


def test_a_run_is_light(page, browser, server):
    url = launch(browser, server, 'pipeline', 'Event sourcing')
    sizes = weighed(page)
    page.goto(url)
    expect(page.locator('.agent.result')).to_be_visible()
    page.wait_for_load_state('networkidle')
    assert sum(sizes) < RUN_KILOBYTES * 1000


def test_a_page_is_light_and_nothing_moves_when_it_is_drawn(page, server):
    sizes = weighed(page)
    page.goto(f'{server.url}/settings')
    expect(page.get_by_role('heading', name='Settings')).to_be_visible()
    expect(page.locator('#first-words')).to_have_count(0)
    page.wait_for_load_state('networkidle')
    assert sum(sizes) < KILOBYTES * 1000
    assert len(sizes) <= REQUESTS
    assert page.evaluate('[...document.fonts].map((font) => font.status)') == ['loaded']


def test_the_question_mark_shows_the_keys_of_the_page(page, server, axe):
    page.goto(f'{server.url}/launch/pipeline')
    page.get_by_label('Task', exact=True).press('?')
    expect(page.get_by_label('Task', exact=True)).to_have_value('?')
    keys = page.get_by_role('dialog', name='Keyboard shortcuts')
    expect(keys).to_be_hidden()  # it was typed
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
        said = page.locator('#popup')
        expect(said).to_be_visible()
        shown = said.bounding_box()
        for part in page.locator('.topbar a, .topbar button, h1').all():
            if not part.is_visible():
                continue
            box = part.bounding_box()
            apart = (
                box['x'] >= shown['x'] + shown['width']
                or box['x'] + box['width'] <= shown['x']
                or box['y'] >= shown['y'] + shown['height']
                or box['y'] + box['height'] <= shown['y']
            )
            assert apart, part.inner_text()
