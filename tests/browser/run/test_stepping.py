"""Step mode and breakpoints in a real browser: keys, regions, the diagram's menu, conditions, two windows."""

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OVERFLOW
from tests.browser.server import Server

TASK = 'Should a small team adopt event sourcing for its order system?'


def start_paused(page: Page, server: Server, pattern: str, **parameters: Any) -> None:
    """Start a run that is paused from the start."""
    page.goto(server.launch(pattern, options={'paused': True}, **parameters))
    expect(page.locator('.run-head .pill')).to_have_text('Paused')


def stop_notice(page: Page):
    return page.locator('.run-stopped')


def active(page: Page, path: str):
    return page.locator(f'.diagram [id="s:{path}"].active')


def unfold_all(page: Page) -> None:
    """Unfold all states: parallel agents are too wide for the column, and are folded at first."""
    page.get_by_role('button', name='Expanded states').click()
    page.get_by_role('dialog', name='Expanded states').get_by_role('button', name='All', exact=True).click()
    page.keyboard.press('Escape')
    expect(page.get_by_role('dialog')).to_have_count(0)


def breakpoints(page: Page):
    page.get_by_role('tab', name='Breakpoints').click()
    return page.get_by_role('list', name='Breakpoints').get_by_role('listitem')


@pytest.mark.long
def test_a_breakpoint_holds_one_region_while_the_other_continues(page, crew_server, axe):
    start_paused(page, crew_server, 'crew', workers=2)
    unfold_all(page)
    page.locator('[id="s:working.worker_2.using_tools"]').click(button='right')
    menu = page.get_by_role('menu', name='State working')
    menu.get_by_role('menuitem', name='Break when it is entered').click()
    spot = page.locator('.diagram .overlay-badge-breakpoints')
    expect(spot).to_contain_text('→●')
    row = breakpoints(page)
    expect(row).to_contain_text('worker 2')
    row.get_by_role('button', name='Edit breakpoint 1').click()
    form = page.get_by_role('dialog', name='Breakpoint 1')
    form.get_by_label('Pauses').select_option('region')
    form.get_by_role('button', name='Save').click()
    expect(row).to_contain_text('pauses only its region')
    page.keyboard.press('c')
    expect(stop_notice(page)).to_contain_text('Stopped at breakpoint 1 at step', timeout=30_000)
    expect(row).to_contain_text('paused here')
    expect(row).to_contain_text('hit once')
    expect(spot).to_contain_text('◉')
    second = page.get_by_role('region', name='worker 2')
    expect(second.locator('.chip.held')).to_be_visible()
    expect(active(page, 'working.worker_1.done')).to_be_visible(timeout=30_000)  # the other worker continued
    expect(active(page, 'working.worker_2.using_tools')).to_be_visible()
    axe(page)
    second.get_by_role('button', name='Step in: working').click()
    expect(active(page, 'working.worker_2.thinking')).to_be_visible()
    expect(stop_notice(page)).not_to_contain_text('breakpoint')
    expect(second.locator('.chip.held')).to_be_visible()


@pytest.mark.long
def test_one_region_is_stepped_while_others_wait_or_continue(page, crew_server):
    start_paused(page, crew_server, 'crew', workers=2)
    first, second = (page.get_by_role('region', name=f'worker {number}') for number in (1, 2))
    unfold_all(page)
    first.get_by_role('button', name='Step in: working').click()
    expect(active(page, 'working.worker_1.using_tools')).to_be_visible(timeout=30_000)
    expect(active(page, 'working.worker_2.thinking')).to_be_visible()
    second.get_by_role('button', name='Others: paused').click()
    expect(first.get_by_role('button', name='Others: running')).to_be_visible()  # one switch for all regions
    first.get_by_role('button', name='Step in: working').click()
    expect(active(page, 'working.worker_2.done')).to_be_visible(timeout=30_000)  # the other worker continues
    expect(first.locator('.chip.held')).to_be_visible()


def test_steps_in_out_and_over_by_keys(page, server):
    start_paused(page, server, 'pipeline', task=TASK)
    unfold_all(page)
    page.locator('[id="e:analyzing>reviewing"]').focus()
    page.keyboard.press('Enter')
    why = page.get_by_role('dialog', name='Transition from analyzing to reviewing')
    why.get_by_role('button', name='Break when it is taken').first.click()
    why.get_by_role('button', name='Remove breakpoint 1').first.click()
    expect(why.get_by_role('button', name='Break when it is taken').first).to_be_visible()
    page.keyboard.press('Escape')
    expect(why).to_be_hidden()
    page.keyboard.press('i')
    expect(active(page, 'researching.using_tools')).to_be_visible()
    page.keyboard.press('u')
    expect(stop_notice(page)).to_contain_text('Stepped out of researching at step')
    expect(active(page, 'analyzing.thinking')).to_be_visible()
    page.keyboard.press('o')
    expect(stop_notice(page)).to_contain_text('Stepped over at step')
    expect(page.locator('.step-title')).to_contain_text('Stepped over at step')
    expect(active(page, 'reviewing.thinking')).to_be_visible()
    page.keyboard.press('c')
    expect(page.locator('.run-head .pill')).to_have_text('Done', timeout=30_000)
    expect(page.get_by_role('button', name='Step in', exact=True)).to_be_hidden()


@pytest.mark.long
def test_a_condition_is_corrected_and_another_window_shows_its_breakpoint(page, open_page, server, axe):
    start_paused(page, server, 'pipeline', task=TASK)
    other = open_page(width=390, height=844, scheme='dark')
    other.goto(page.url)
    page.get_by_role('tab', name='Breakpoints').click()
    page.get_by_role('button', name='Add breakpoint').click()
    form = page.get_by_role('dialog', name='New breakpoint')
    form.get_by_label('Where').select_option('')
    form.get_by_role('button', name='Add', exact=True).click()
    expect(form).to_contain_text('Enter a condition, or choose a state or transition.')
    line = form.get_by_label('Condition', exact=True)
    line.fill('step > 3 and cots > 1')
    expect(form.locator('.condition .problem')).to_contain_text("Column 14: there is no 'cots'")
    expect(line).to_have_attribute('aria-invalid', 'true')
    axe(page)
    line.fill('step > 3 and ')
    expect(form.locator('.condition .problem')).not_to_contain_text('cots')  # its length may move the fold
    form.get_by_text('Names and examples').click()
    form.get_by_role('button', name='error != null').click()
    expect(line).to_have_value('step > 3 and error != null')
    expect(form.locator('.condition-now')).to_contain_text('it is false: error is null')
    line.fill('tokens > 100')
    expect(form.locator('.condition-now')).to_contain_text('it is false: tokens is 0')
    form.get_by_role('button', name='Add', exact=True).click()
    rows = breakpoints(page)
    expect(rows).to_have_count(1)
    other.locator('.run-switch').get_by_role('button', name='Step', exact=True).click()
    theirs = breakpoints(other)
    expect(theirs).to_contain_text('tokens > 100')  # another window shows it at once
    assert other.evaluate(OVERFLOW) <= 0
    page.reload()
    expect(page.locator('.run-head .pill')).to_have_text('Paused')
    expect(breakpoints(page)).to_contain_text('tokens > 100')
    page.keyboard.press('c')
    expect(stop_notice(page)).to_contain_text('Stopped at breakpoint 1')
    page.get_by_role('slider', name='Step').press('Home')
    expect(page.locator('.breakpoints-note')).to_contain_text('as they are now')
    page.get_by_role('button', name='Remove breakpoint 1').click()
    expect(breakpoints(page)).to_have_count(0)


def test_the_diagram_menu_opens_by_keyboard_and_by_a_long_press(open_page, server, axe):
    page = open_page(width=390, height=844, has_touch=True)
    start_paused(page, server, 'pipeline', task=TASK)
    page.locator('.run-switch').get_by_role('button', name='Diagram', exact=True).click()
    page.locator('.diagram-panel .diagram').focus()
    page.keyboard.press('Enter')
    menu = page.get_by_role('menu')
    expect(menu.get_by_role('menuitem', name='thinking is left')).to_be_visible()
    axe(page, within='[role=menu]')
    menu.get_by_role('menuitem', name='Add breakpoint').click()
    expect(page.get_by_role('dialog', name='New breakpoint')).to_be_visible()
    page.keyboard.press('Escape')
    expect(page.get_by_role('dialog')).to_have_count(0)  # what is behind it can be clicked
    place = page.locator('[id="s:reviewing"]').bounding_box()
    at = {'x': place['x'] + 20, 'y': place['y'] + 8}
    touch = page.context.new_cdp_session(page)
    touch.send('Input.dispatchTouchEvent', {'type': 'touchStart', 'touchPoints': [at]})
    menu = page.get_by_role('menu', name='State reviewing')
    expect(menu).to_be_visible()
    touch.send('Input.dispatchTouchEvent', {'type': 'touchEnd', 'touchPoints': []})
    menu.get_by_role('menuitem', name='Break when it is entered').click()
    expect(page.locator('.diagram .overlay-badge-breakpoints')).to_be_visible()
    assert page.evaluate(OVERFLOW) <= 0


@pytest.mark.long
def test_a_state_is_found_by_typing_a_part_of_its_name(page, server, axe):
    start_paused(page, server, 'pipeline', task=TASK)
    page.get_by_role('tab', name='Breakpoints').click()
    page.get_by_role('button', name='Add breakpoint').click()
    form = page.get_by_role('dialog', name='New breakpoint')
    state = form.get_by_role('combobox', name='State')
    state.click()
    state.press_sequentially('rev think')
    listed = form.get_by_role('listbox', name='States')
    expect(listed.get_by_role('option')).to_have_text(['reviewing \u203a thinking'])
    axe(page)
    state.press('Enter')
    expect(state).to_have_value('reviewing \u203a thinking')
    state.press('ArrowDown')
    expect(listed.get_by_role('option', selected=True)).to_have_text('reviewing \u203a thinking')
    state.press('ArrowDown')
    expect(listed.get_by_role('option', selected=True)).to_have_text('reviewing \u203a using tools')
    state.press('Escape')
    state.fill('nowhere')
    form.get_by_role('button', name='Add').click()
    expect(form.get_by_role('alert')).to_have_text('Choose one of the listed states.')
    expect(state).to_be_focused()
    state.fill('reviewing \u203a thinking')
    state.press('Enter')
    expect(page.get_by_role('list', name='Breakpoints')).to_contain_text('reviewing \u203a thinking')
