"""A page that loses its connection and reconnects."""

import json
import re

from playwright.sync_api import Page, expect

OFFLINE = re.compile(r'\boffline\b')
WAITS = 10_000
"""Milliseconds between pings: NiceGUI waits a quarter longer than this for a browser to come back."""


def test_a_brief_disconnection_keeps_typed_text(page: Page, server):
    handshake = page.request.get(f'{server.url}/_nicegui_ws/socket.io/?EIO=4&transport=polling').text()
    assert json.loads(handshake[1:])['pingInterval'] >= WAITS
    page.goto(f'{server.url}/launch/pipeline')
    page.get_by_label('Task', exact=True).fill('Words that nobody has sent yet')
    page.evaluate('window.before = true; window.socket.disconnect();')
    expect(page.locator('#popup')).to_be_visible()
    expect(page.locator('body')).to_have_class(OFFLINE)  # makes room for the popup
    page.evaluate('window.socket.connect()')
    expect(page.locator('#popup')).to_be_hidden()
    expect(page.locator('body')).not_to_have_class(OFFLINE)
    assert page.evaluate('window.before')  # the page was not reloaded
    page.get_by_role('button', name='Run', exact=True).click()
    expect(page.locator('.run-head h1')).to_contain_text('Words that nobody has sent yet')
