"""An experiment in the browser: from one click on the sample to the answer, the cases and a comparison."""

import re

from playwright.sync_api import expect


def test_the_sample_leads_from_one_click_to_an_answer_and_to_where_two_runs_part(page, new_server, axe):
    new_server.start()
    page.goto(f'{new_server.url}/experiments')
    page.get_by_role('button', name='Run the sample').click()
    page.wait_for_url(re.compile('/experiments/[0-9a-f]+$'))
    expect(page.locator('.verdict-words')).to_have_text(
        re.compile('“stricter reviewer” is better than “as it is” by .* on 8 cases'), timeout=60_000
    )
    expect(page.locator('.verdict-line')).to_have_count(3)
    axe(page)

    page.get_by_role('tab', name='Cases').click()
    rows = page.locator('.cells-all > .cells-row')
    expect(rows).to_have_count(8)
    page.get_by_role('button', name=re.compile('stricter reviewer mean')).click()
    expect(page.locator('.cells-head[aria-sort="descending"]')).to_contain_text('stricter reviewer')
    axe(page)
    page.get_by_role('grid').focus()
    for key in ('ArrowDown', 'ArrowRight', 'ArrowRight', 'Enter'):
        page.keyboard.press(key)
    dialog = page.get_by_role('dialog')
    expect(dialog).to_contain_text('stricter reviewer')
    expect(dialog).to_contain_text('Repeat 2')
    dialog.get_by_role('link', name='Compare with as it is').first.click()
    page.wait_for_url(re.compile('/compare'))
    expect(page.locator('.compare-summary')).to_contain_text('B went to analyzing')

    page.go_back()
    page.get_by_role('tab', name='Diagram').click()
    expect(page.locator('[id="e:reviewing>analyzing"]')).to_have_class(re.compile(r'\bpath-b\b.*\bparting\b'))
    expect(page.locator('.paths-line').first).to_contain_text('apart')
