"""The bar of time in a real browser: drag, keys, zoom, blocks, flags that group, one line on a phone."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.run.test_run import STEPS, TASK, count, open_run

BAR = "document.querySelector('.timeline').timeline"
EQUAL_STEPS = f'{BAR}.set({{ equal: true }})'
VIEW = f'[{BAR}.from, {BAR}.to]'
MANY = """async (steps) => {
    const bar = document.querySelector('.timeline').timeline, blocks = [], flags = [], times = [];
    for (let seq = 1; seq <= steps; seq += 1) {
        times.push(seq * 100);
        if (seq > 1) blocks.push([seq % 4, seq % 2, seq - 1, seq, 0]);
        if (seq % 5 === 0) flags.push([seq, seq % 4, 'approved', 'approved']);
    }
    bar.add({ times, blocks, words: [''], flags }, true);
    bar.setSteps(steps, steps);
    await new Promise((done) => setTimeout(done, 200));
    return [bar.marks.children.length, bar.width];
}"""
"""Gives the bar a long history; returns how many flags are drawn, and its width."""


@pytest.fixture(scope='module')
def finished(server) -> str:
    return server.launch('pipeline', task=TASK, ended=True)


def at(page: Page, step: int) -> None:
    expect(count(page)).to_contain_text(f'{step} / {STEPS}')
    expect(page.locator('.step-number')).to_have_text(f'Step {step}')


def test_the_bar_is_dragged_and_moved_by_keys_and_the_page_follows(page, finished):
    open_run(page, finished)
    page.evaluate(EQUAL_STEPS)
    rail = page.get_by_role('slider', name='Step')
    box, play = rail.bounding_box(), page.get_by_role('button', name='Play').bounding_box()
    y = box['y'] + 5
    page.mouse.move(box['x'] + box['width'] - 2, y)
    page.mouse.down()
    for part in (0.8, 0.6, 0.5, 9 / (STEPS - 1)):
        page.mouse.move(box['x'] + box['width'] * part, y)
    expect(count(page)).to_contain_text(f'10 / {STEPS}')
    page.mouse.up()
    at(page, 10)
    expect(rail).to_have_attribute('aria-valuenow', '10')
    expect(rail).to_have_attribute(
        'aria-valuetext',
        re.compile(rf'Step 10 of {STEPS}, after .+: researching → analyzing: the researcher finished'),
    )
    expect(page.locator('.diagram .state.active')).to_have_attribute('id', 's:analyzing.thinking')
    expect(page).to_have_url(f'{finished}?at=10')
    assert rail.bounding_box() == box  # the bar did not move under the pointer
    assert all(page.evaluate(f'Object.values({BAR}.colours)'))
    readout = count(page).bounding_box()
    assert abs(readout['y'] + readout['height'] / 2 - play['y'] - play['height'] / 2) < 1
    for key, step in (('ArrowRight', 11), ('ArrowLeft', 10), ('Home', 1), ('End', STEPS)):
        rail.press(key)
        at(page, step)
    for key, kind in (('v', 'rejected'), ('v', 'rejected'), ('v', 'approved'), ('e', 'error')):
        page.keyboard.press(key)
        steps = page.evaluate(f"{BAR}.runFlags.filter((flag) => flag[2] === '{kind}').map((flag) => flag[0])")
        expect(count(page)).to_contain_text(re.compile(rf'^({"|".join(map(str, steps))}) / '))


def test_a_wheel_zooms_around_the_pointer_and_a_double_click_shows_everything(page, finished):
    open_run(page, finished)
    box = page.locator('.rail').bounding_box()
    page.mouse.move(box['x'] + box['width'] / 4, box['y'] + 5)
    held = f'{BAR}.partAt({box["width"] / 4})'
    before = page.evaluate(held)
    page.mouse.wheel(0, -300)
    page.wait_for_function(f'{BAR}.to - {BAR}.from < 0.9')
    assert abs(page.evaluate(held) - before) < 0.001
    page.mouse.dblclick(box['x'] + box['width'] / 4, box['y'] + 5)
    page.wait_for_function(f'{BAR}.to - {BAR}.from === 1')


def test_a_click_on_a_block_opens_its_agent_at_that_moment(page, finished):
    open_run(page, finished)
    page.evaluate(EQUAL_STEPS)
    box = page.locator('.rail').bounding_box()
    lane, first, last = page.evaluate(f'[0, 2, 3].map((place) => {BAR}.blocks[1].list.at(-1)[place])')
    part = ((first + last) / 2 - 1) / (STEPS - 1)
    x, y = box['x'] + box['width'] * part, box['y'] + page.evaluate(f'{BAR}.gap + {BAR}.row * ({lane} + 0.5)')
    page.mouse.move(x, y)
    expect(page.locator('.lane-tip')).to_contain_text('Analyzer · ')
    page.mouse.click(x, y)
    expect(page.get_by_role('region', name='Analyzer')).to_be_visible()
    assert first <= int(count(page).inner_text().split()[0]) <= last


def test_ten_thousand_steps_group_their_flags_and_a_phone_has_one_line(open_page, finished):
    page = open_page(width=390, height=844)
    page.goto(finished)
    expect(count(page)).to_contain_text(f'{STEPS} / {STEPS}')
    several = page.locator('.mark', has=page.locator('sup')).first
    expect(several).to_have_attribute('aria-label', re.compile(r'^\d+ marks, steps \d+ to \d+: '))
    drawn, width = page.evaluate(MANY, 10_000)
    assert 1 < drawn <= width / 17 + 1
    assert page.locator('.timeline').bounding_box()['height'] < 50
    page.get_by_role('button', name='Fold or unfold the lanes').click()
    page.wait_for_function(f'!{BAR}.folded')
