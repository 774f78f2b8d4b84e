"""Two windows on one run: each shows where the other is."""

import re

import pytest
from playwright.sync_api import expect


@pytest.mark.long
def test_another_window_is_shown_and_its_step_can_be_opened(open_page, server, axe):
    run = server.sample('supervisor', 'Four tasks')
    first = open_page(1440, 900)
    first.goto(f'{run}?at=2')
    group = first.get_by_role('group', name='Also viewing')
    expect(first.locator('.step-number')).to_have_text('Step 2')
    expect(group).to_be_hidden()
    second = open_page(390, 844)
    second.goto(run)
    expect(group.get_by_role('button')).to_have_accessible_name('Another window: at the newest step')
    second.goto(f'{run}?at=5')
    other = group.get_by_role('button', name='Another window: at step 5')
    expect(other).to_contain_text('5')
    axe(first)
    element = second.get_by_role('group', name='Also viewing').get_by_role('button')
    expect(element).to_have_accessible_name('Another window: at step 2')
    other.click()
    expect(first.locator('.step-number')).to_have_text('Step 5')
    expect(first).to_have_url(re.compile(r'at=5'))
    expect(element).to_have_accessible_name('Another window: at step 5')
    second.close()
    expect(group).to_be_hidden()
