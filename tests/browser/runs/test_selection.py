"""Selecting runs in the list by mouse and keyboard, and acting on several at once."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.bench.servers.processes import free_port
from tests.browser.runs.test_home import rows
from tests.browser.server import Server

CLOSED_AND_CLICKED = """() => {
    for (const type of ['keydown', 'keyup'])
        document.activeElement.dispatchEvent(
            new KeyboardEvent(type, { key: 'Escape', keyCode: 27, bubbles: true }));
    document.querySelector('.run-menu').click();
}"""
"""Presses Escape, and clicks the button again before the menu has closed."""


NAMES = ('Zebras are striped', 'Apples are red', 'Horses are fast')


@pytest.fixture(scope='module')
def listed(tmp_path_factory, port) -> Iterator[Server]:
    """A server with three runs, of which the last test deletes one."""
    server = Server(tmp_path_factory.mktemp('listed'), port=free_port(port))
    server.start()
    for name in NAMES:
        server.launch('pipeline', task=name, ended=True, options={'tags': ['sample']})
    yield server
    server.stop()


def three_runs(page, server):
    page.goto(f'{server.url}/runs')
    expect(page.locator('.run .pill')).to_have_text(['Done'] * 3)


def test_a_list_is_sorted_totaled_and_compacted_and_its_bar_covers_no_run(page, listed, axe):
    three_runs(page, listed)
    titles = page.locator('.run-title')
    expect(titles).to_have_text(NAMES[::-1])
    expect(page.locator('.run-totals')).to_contain_text('3 runs · ')
    expect(page.locator('.run-columns')).to_contain_text('Status')
    page.get_by_role('button', name='Run', exact=True).click()
    expect(titles).to_have_text(sorted(NAMES))
    expect(page).to_have_url(re.compile('sort=title&up=1$'))
    page.reload()
    expect(titles).to_have_text(sorted(NAMES))
    page.get_by_role('button', name='Run ↑').click()
    expect(titles).to_have_text(sorted(NAMES, reverse=True))
    page.emulate_media(forced_colors='active')
    script = '(one) => [getComputedStyle(one).color, getComputedStyle(one).backgroundColor]'
    current = page.locator('.topbar nav a[aria-current]').evaluate(script)
    assert page.get_by_role('button', name='Run ↓').evaluate(script) == current
    page.emulate_media(forced_colors='none')
    tall = page.locator('.run').first.bounding_box()['height']
    page.get_by_role('button', name='Compact rows').click()
    expect(page.get_by_role('button', name='Compact rows')).to_have_attribute('aria-pressed', 'true')
    expect(page.locator('.runs.dense')).to_be_visible()
    assert page.locator('.run').first.bounding_box()['height'] < tall - 10
    before = page.locator('.run').last.bounding_box()
    page.locator('.run-tick').last.check()
    bar = page.get_by_role('toolbar', name='Selected runs')
    expect(bar).to_be_visible()
    assert page.locator('.run').last.bounding_box() == before
    assert (
        bar.bounding_box()['y'] + bar.bounding_box()['height']
        <= page.locator('.run').first.bounding_box()['y']
    )
    axe(page)


def test_the_list_is_one_tab_stop_and_has_one_menu_at_a_time(page, listed):
    three_runs(page, listed)
    focused = page.locator(':focus')

    def press(*keys):
        for key in keys:
            page.keyboard.press(key)
        return focused

    page.set_viewport_size({'width': 1440, 'height': 300})
    page.get_by_role('link', name='Skip to runs').focus()
    press('Enter')
    expect(page).to_have_url(re.compile('/runs$'))  # no fragment is added
    expect(press('ArrowDown')).to_have_class('run-link')
    head = page.locator('.run-top').bounding_box()
    assert focused.bounding_box()['y'] >= head['y'] + head['height'] - 1  # not hidden by the header
    expect(press('Alt+ArrowRight')).to_have_class('run-link')  # left to the browser
    expect(press('ArrowRight')).to_have_accessible_name(re.compile('^Star'))
    press('ArrowDown', 'ArrowDown', 'ArrowDown')
    expect(page.get_by_role('grid', name='Runs').get_by_role('row').last.locator('.run-star')).to_be_focused()
    expect(press('Home', 'ArrowRight', 'ArrowRight')).to_have_class(re.compile('run-menu'))
    expect(page.locator('.run').first.locator('.run-menu')).to_be_focused()
    press('ArrowLeft', 'ArrowLeft', 'ArrowLeft')
    expect(page.locator('.run-tick').first).to_be_focused()
    expect(press('Shift+Tab')).to_have_accessible_name('Compact rows')
    expect(press('Tab')).to_have_class('run-tick')
    press('Tab')
    expect(page.locator('.run-list :focus')).to_have_count(0)
    page.set_viewport_size({'width': 1440, 'height': 900})

    buttons, menu = page.locator('.run-menu'), page.get_by_role('menu')
    buttons.nth(2).click()
    expect(menu).to_be_visible()
    first = menu.element_handle()
    buttons.nth(0).click()
    first.wait_for_element_state('hidden')
    expect(menu).to_have_count(1)
    expect(menu).to_be_visible()
    first = menu.element_handle()
    page.evaluate(CLOSED_AND_CLICKED)
    first.wait_for_element_state('hidden')
    expect(menu).to_have_count(1)
    expect(menu).to_be_visible()
    buttons.nth(0).click()
    expect(menu).to_have_count(0)


def test_runs_are_selected_by_keyboard_tagged_starred_and_pinned(page, listed, axe):
    three_runs(page, listed)
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

    last = rows(page).nth(2).get_attribute('href')
    page.locator('.run').nth(2).get_by_role('button', name='Star').click()
    expect(page.locator('.run-star').nth(2)).to_have_attribute('aria-pressed', 'true')
    page.get_by_label('Marked').select_option('Starred')
    expect(rows(page)).to_have_count(1)
    expect(page).to_have_url(re.compile(r'marked=starred'))
    ticks.check()
    bar.get_by_role('button', name='Pin').click()
    expect(page.locator('.chip.pinned')).to_have_count(1)
    page.get_by_label('Marked').select_option('Any mark')
    expect(rows(page)).to_have_count(3)
    expect(rows(page).first).to_have_attribute('href', last)
    page.goto(listed.url)
    expect(page.locator('.result-small-title').first).to_have_attribute('href', last)


@pytest.mark.long
def test_several_runs_are_deleted_and_restored_at_once(page, listed, axe):
    three_runs(page, listed)
    page.locator('.run-tick').nth(1).check()
    bar = page.get_by_role('toolbar', name='Selected runs')
    bar.get_by_role('button', name='Delete').click()
    expect(rows(page)).to_have_count(2)
    page.keyboard.press('Control+z')
    expect(rows(page)).to_have_count(3)
    expect(page.get_by_role('button', name='Undo')).to_have_count(0)
    page.locator('.run-tick').nth(0).check()
    page.locator('.run-tick').nth(2).check()
    bar.get_by_role('button', name='Delete').click()
    expect(rows(page)).to_have_count(1)
    expect(bar).to_be_hidden()
    expect(rows(page)).to_be_focused()  # it took the place of a deleted one
    page.get_by_role('button', name='Undo').press('Enter')
    expect(rows(page)).to_have_count(3)
    expect(rows(page).first).to_be_focused()  # the restored run
    expect(page.get_by_role('button', name='Undo')).to_have_count(0)
    page.locator('.run-tick').nth(1).check()
    bar.get_by_role('button', name='Delete').click()
    expect(rows(page)).to_have_count(2)
    page.get_by_role('link', name='Recently deleted').click()
    expect(rows(page)).to_have_count(1)
    page.locator('.run-tick').check()
    bar.get_by_role('button', name='Delete permanently').click()
    page.get_by_role('dialog').get_by_role('button', name='Delete permanently').click()
    expect(page.get_by_text('The trash is empty.')).to_be_visible()
