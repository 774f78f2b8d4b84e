"""Ticking runs in the list, with the mouse and from the keyboard, and what is done with several at once."""

import re

from playwright.sync_api import expect

from tests.browser.test_home import rows, run_sample


def three_runs(page, server):
    server.start()
    for _ in range(3):
        run_sample(page, server.url)
    page.goto(f'{server.url}/runs')
    expect(page.locator('.run .pill')).to_have_text(['Done'] * 3)


def test_runs_are_ticked_from_the_keyboard_and_tagged_together(page, new_server, axe):
    three_runs(page, new_server)
    ticks, bar = page.locator('.run-tick'), page.get_by_role('toolbar', name='Selected runs')
    expect(bar).to_be_hidden()
    rows(page).first.focus()
    page.keyboard.press('Space')
    expect(ticks.first).to_be_checked()
    expect(bar).to_contain_text('1 run selected')
    page.keyboard.press('Shift+ArrowDown')
    expect(rows(page).nth(1)).to_be_focused()
    expect(bar).to_contain_text('2 runs selected')
    page.keyboard.press('ArrowDown')
    page.keyboard.press('Shift+Space')
    expect(bar).to_contain_text('3 runs selected')
    axe(page)
    page.keyboard.press('Escape')
    expect(bar).to_be_hidden()
    expect(page.locator('.run-tick:checked')).to_have_count(0)
    expect(page).to_have_url(re.compile('/runs$'))
    ticks.first.click()
    ticks.nth(2).click(modifiers=['Shift'])
    bar.get_by_role('button', name='Tag').click()
    dialog = page.get_by_role('dialog', name='Tag 3 runs')
    dialog.get_by_label('Add tags').fill('weekly')
    dialog.get_by_label('Remove tags').fill('sample')
    dialog.get_by_role('button', name='Save').click()
    expect(page.locator('.run .tag')).to_have_text(['weekly'] * 3)


def test_several_runs_are_deleted_at_once(page, new_server):
    three_runs(page, new_server)
    page.locator('.run-tick').nth(0).check()
    page.locator('.run-tick').nth(2).check()
    bar = page.get_by_role('toolbar', name='Selected runs')
    bar.get_by_role('button', name='Delete').click()
    page.get_by_role('dialog', name='Delete 2 runs?').get_by_role('button', name='Delete them').click()
    expect(rows(page)).to_have_count(1)
    expect(bar).to_be_hidden()
