"""From one sentence to a finished run of a new chart, in a real browser."""

import re

from playwright.sync_api import expect

from engine import Catalog

SENTENCE = Catalog.load().pattern('author').Parameters.model_fields['request'].examples[0]
COUNT = """addEventListener('click', (event) => {
    if (event.isTrusted) sessionStorage.clicks = Number(sessionStorage.clicks || 0) + 1;
}, true)"""


def test_six_clicks_lead_from_a_sentence_to_a_finished_run_of_the_chart(page, server, axe):
    page.add_init_script(COUNT)
    page.goto(server.url)
    page.get_by_role('link', name='Describe a workflow').click()
    expect(page.get_by_label('What you need')).to_be_focused()
    page.keyboard.type(SENTENCE)
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))
    draft = page.get_by_role('region', name='Draft of a chart')
    expect(draft.get_by_role('heading', name='Draft 3: toast-contest')).to_be_visible(timeout=60_000)
    expect(draft).to_contain_text('4 to 624 model calls.')
    expect(draft.get_by_role('img', name='State diagram of Toast contest')).to_be_visible()
    axe(page)
    draft.get_by_role('button', name='Approve and save').click()
    expect(draft.get_by_text('Saved', exact=True)).to_be_visible()
    author = page.url
    draft.get_by_role('button', name='Try it with its stubs').click()
    page.wait_for_url(lambda url: '/runs/' in url and url != author)
    expect(page.locator('.run-facts .pill')).to_have_text('Done', timeout=60_000)
    expect(page.get_by_role('region', name='Result')).to_contain_text('found the bug')
    assert int(page.evaluate('sessionStorage.clicks')) == 4
    page.goto(f'{server.url}/charts')
    expect(page.get_by_role('link', name='Toast contest')).to_be_visible()
