"""Agents' panes side by side in a real browser: one per region; resize, enlarge, stop, join."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import OVERFLOW
from tests.browser.server import Server


def launch(page: Page, server: Server, workers: int, pattern: str = 'crew') -> None:
    page.goto(server.launch(pattern, workers=workers))


def launch_paused(page: Page, server: Server, workers: int):
    """Open a run that pauses once each agent has its pane, and return the visible panes."""
    run = server.launch('crew', workers=workers, options={'paused': True})
    server.ask(f'/runs/{run.rpartition("/")[2]}/step', {'how': 'in'})
    page.goto(run)
    expect(page.locator('.agent.region')).to_have_count(workers, timeout=30_000)
    expect(page.locator('.run-head .pill')).to_have_text('Paused')
    return page.locator('.agent.region:visible')


@pytest.mark.parametrize(('workers', 'columns'), [(2, 2), (6, 3)])
def test_a_parallel_state_gets_a_pane_for_each_region(page, crew_server, axe, workers, columns):
    panes = launch_paused(page, crew_server, workers)
    page.get_by_role('button', name='Hide the diagram').click()
    expect(page.locator('.diagram-panel')).to_be_hidden()
    boxes = [panes.nth(index).bounding_box() for index in range(workers)]
    assert len({round(box['x']) for box in boxes}) == columns
    assert len({round(box['y']) for box in boxes}) == workers // columns
    assert len({round(box['width']) for box in boxes}) == 1
    expect(page.locator('.stage').get_by_role('separator')).to_have_count(
        columns - 1 + workers // columns - 1
    )
    if workers > 3:  # test_stepping.py checks two panes, and a narrow window three
        axe(page)


def test_panes_are_resized_by_key_and_mouse_and_maximized(page, crew_server):
    panes = launch_paused(page, crew_server, 2)
    before = panes.first.bounding_box()['width']
    split = page.locator('.stage').get_by_role('separator')
    split.focus()
    page.keyboard.press('Home')
    expect(split).not_to_have_attribute('aria-valuenow', '50')
    assert panes.first.bounding_box()['width'] < before - 24 and '?at=' not in page.url
    page.keyboard.press('Enter')
    expect(split).to_have_attribute('aria-valuenow', '50')
    page.keyboard.press('ArrowRight')
    expect(split).not_to_have_attribute('aria-valuenow', '50')
    assert panes.first.bounding_box()['width'] == pytest.approx(before + 24, abs=2)
    place = split.bounding_box()
    page.mouse.move(place['x'] + 4, place['y'] + 50)
    page.mouse.down()
    page.mouse.move(place['x'] + 64, place['y'] + 50, steps=4)
    page.mouse.up()
    assert panes.first.bounding_box()['width'] == pytest.approx(before + 84, abs=4)
    panes.first.get_by_role('button', name='Enlarge pane').click()
    expect(panes).to_have_count(1)
    page.get_by_role('button', name='Restore size').click()
    expect(panes).to_have_count(2)


def test_a_region_is_paused_stepped_and_resumed_from_the_keyboard(page, crew_server):
    launch(page, crew_server, 2, 'talkative')
    pane = page.get_by_role('region', name='worker 1')
    stop, go, step = (
        pane.get_by_role('button', name=re.compile(f'^{name}')) for name in ('Pause', 'Continue', 'Step in')
    )
    stop.press('Enter', timeout=30_000)
    expect(go).to_be_focused()
    page.keyboard.press('Tab')
    expect(step).to_be_focused()
    page.keyboard.press('Enter')
    expect(step).to_be_focused()
    page.keyboard.press('Shift+Tab')
    page.keyboard.press('Enter')
    expect(stop).to_be_focused()


def test_one_agent_is_stopped_and_the_others_are_joined(page, crew_server):
    launch(page, crew_server, 3, 'talkative')
    expect(page.locator('.agent.region')).to_have_count(3, timeout=30_000)
    third = page.get_by_role('region', name='worker 3')
    third.get_by_role('button', name='Stop this agent').click()
    page.get_by_role('button', name='Stop agent').click()
    expect(page.locator('.run-facts .pill')).not_to_have_text('Running', timeout=30_000)
    page.get_by_role('button', name='Working: done').click()
    expect(page.locator('.stage-caption')).to_contain_text('of 3 answered · 1 failed')
    expect(third).to_have_class(re.compile('failed'))
    expect(page.locator('.mark.error').last).to_have_attribute(
        'aria-label', re.compile('a person stopped it')
    )


def test_a_retry_counts_down(page, crew_server):
    launch(page, crew_server, 2, 'stumbling')
    second = page.get_by_role('region', name='worker 2')
    trouble = second.locator('.agent-problem')
    expect(trouble).to_have_text(re.compile(r'Retrying in \d s \(attempt 2\): .*too many requests'))
    expect(second.get_by_text('attempt 2', exact=True)).to_be_visible()
    talk = second.locator('.panel-body')
    top = talk.bounding_box()['y']
    expect(trouble).to_be_hidden(timeout=20_000)
    assert talk.bounding_box()['y'] == top


def test_a_narrow_window_stacks_the_panes(open_page, crew_server, axe):
    page = open_page(width=390, height=844)
    panes = launch_paused(page, crew_server, 3)
    boxes = [panes.nth(index).bounding_box() for index in range(3)]
    assert len({round(box['x']) for box in boxes}) == 1
    assert all(box['x'] + box['width'] < 390 for box in boxes)
    assert page.evaluate(OVERFLOW) <= 0
    axe(page)


@pytest.mark.long
def test_folded_agents_are_remembered_by_the_browser(page, crew_server, axe):
    launch_paused(page, crew_server, 6)  # the diagram follows the active states
    agents = page.locator('.diagram .cluster.region')
    expect(page.locator('.diagram .region')).to_have_count(6)
    expect(agents).to_have_count(0)  # six agents are folded at first
    page.locator('[id="s:working.worker_2"]').dblclick()
    expect(agents).to_have_count(1)
    page.reload()
    expect(agents).to_have_count(1)
    page.get_by_role('button', name='Expanded states').click()
    page.get_by_role('dialog', name='Expanded states').get_by_role('button', name='All', exact=True).click()
    expect(agents).to_have_count(6)
    axe(page)
    page.keyboard.press('Escape')
    expect(page.get_by_role('dialog')).to_have_count(0)  # the dialog returns the focus when it closes
    box = page.locator('.diagram svg')
    page.emulate_media(reduced_motion='reduce')  # the contents have arrived
    page.locator('.diagram').focus()

    def move_and_fit() -> str:
        near = box.get_attribute('viewBox')
        page.keyboard.press('+')
        expect(box).not_to_have_attribute('viewBox', near)
        page.keyboard.press('Shift+ArrowDown')
        moved = box.get_attribute('viewBox')
        page.keyboard.press('0')
        expect(box).not_to_have_attribute('viewBox', moved)
        return box.get_attribute('viewBox')

    assert move_and_fit() == move_and_fit()


def test_the_diagram_can_fill_the_page(page, crew_server):
    launch_paused(page, crew_server, 2)
    larger = page.get_by_role('button', name='Enlarge the diagram')
    expect(page.locator('.panel.middle')).to_be_visible()
    width = page.locator('.diagram-panel').bounding_box()['width']
    larger.click()
    expect(page.locator('.panel.middle')).to_be_hidden()
    page.wait_for_function(f'document.querySelector(".diagram-panel").clientWidth > {2 * width}')
    expect(larger).to_have_attribute('aria-pressed', 'true')
    larger.click()
    expect(page.locator('.panel.middle')).to_be_visible()
