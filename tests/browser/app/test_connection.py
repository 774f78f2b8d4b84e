"""A page that loses its connection and reconnects."""

import re

from playwright.sync_api import Page, expect

OFFLINE = re.compile(r'\boffline\b')
AWAY = 5_000
"""Milliseconds: longer than NiceGUI waits by default, shorter than a laptop's lid stays closed."""


def test_a_brief_disconnection_keeps_typed_text(page: Page, server):
    page.goto(f'{server.url}/launch/pipeline')
    page.get_by_label('Task', exact=True).fill('Words that nobody has sent yet')
    page.evaluate('window.before = true; window.socket.disconnect();')
    expect(page.locator('#popup')).to_be_visible()
    expect(page.locator('body')).to_have_class(OFFLINE)  # makes room for the popup
    page.wait_for_timeout(AWAY)  # time has to pass in the browser and the server
    page.evaluate('window.socket.connect()')
    expect(page.locator('#popup')).to_be_hidden()
    expect(page.locator('body')).not_to_have_class(OFFLINE)
    assert page.evaluate('window.before')  # the page was not reloaded
    page.get_by_role('button', name='Run', exact=True).click()
    expect(page.locator('.run-head h1')).to_contain_text('Words that nobody has sent yet')
