"""Parts that Quasar draws have the colours of the page, and can be read, in the light and in the dark."""

import pytest
from playwright.sync_api import expect

ACCENT = {'light': 'rgb(63, 79, 208)', 'dark': 'rgb(147, 161, 255)'}
NOTIFY = """(type) => Quasar.Notify.create({
  ...(type && { type }), message: `This is ${type || 'plain'}`, timeout: 0, closeBtn: 'Close',
})"""


@pytest.mark.parametrize('scheme', ['light', 'dark'])
def test_boxes_and_messages_have_colours_of_ours_that_can_be_read(open_page, server, axe, scheme):
    page = open_page(scheme=scheme)
    page.goto(f'{server.url}/launch/parallel-review')
    page.locator('summary', has_text='Project and tests').click()
    box = page.locator('.q-checkbox__inner--truthy').first
    expect(box).to_have_css('color', ACCENT[scheme])
    for number, kind in enumerate((None, 'negative', 'positive', 'warning'), start=1):
        page.evaluate(NOTIFY, kind)
        expect(page.locator('.q-notification')).to_have_count(number)
    axe(page)
