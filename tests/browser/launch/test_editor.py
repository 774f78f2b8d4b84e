"""A chart is written in the browser: by text and by clicks, with undo, saved, and run."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.server import Server


def test_a_chart_is_written_by_text_and_clicks_saved_and_run(page: Page, server: Server) -> None:
    page.goto(f'{server.url}/charts')
    page.get_by_role('button', name='New chart').click()
    dialog = page.get_by_role('dialog', name='New chart')
    dialog.get_by_role('textbox', name='Name').fill('toast')
    dialog.get_by_role('button', name='New chart').click()
    text, states = page.locator('.cm-content'), page.locator('.diagram .state')
    expect(states.filter(has_text='judging')).to_be_visible()

    page.locator('.cm-line', has_text='from: writing, to: judging').click()
    page.keyboard.press('End')
    page.keyboard.press('Enter')
    page.keyboard.type('- {on: failed, from: judging, to: nowhere')  # the bracket closes itself
    problem = page.locator('.editor-problem')
    expect(problem).to_contain_text("There is no state 'nowhere'")
    expect(page.locator('.editor-chart.stale')).to_be_visible()
    expect(page.locator('.chart-mark.level-error')).to_have_attribute(
        'title', re.compile("There is no state 'nowhere'")
    )

    for _ in 'nowhere':
        page.keyboard.press('Backspace')
    page.keyboard.type('fai')
    page.get_by_role('option', name='failed').click()
    expect(problem).to_have_count(0)
    expect(page.locator('.editor-chart.stale')).to_have_count(0)
    before = text.inner_text()
    assert 'from: judging, to: failed}' in before

    states.filter(has_text='judging').click(button='right')
    page.get_by_role('menuitem', name='Add transition from here').click()
    page.get_by_role('dialog').get_by_role('button', name='Cancel').click()
    page.get_by_role('button', name='Change', exact=True).click()
    page.get_by_role('menuitem', name='Add state').click()
    dialog = page.get_by_role('dialog', name='Add state')
    dialog.get_by_role('textbox', name='Name').fill('asking')
    dialog.get_by_role('button', name='Add state').click()
    expect(states.filter(has_text='asking')).to_be_visible()
    page.get_by_role('button', name='Undo (Ctrl Z)').click()
    expect(states.filter(has_text='asking')).to_have_count(0)
    assert text.inner_text() == before, 'one click is one step of undo'

    page.keyboard.press('Control+s')
    expect(page.locator('.editor-head')).to_contain_text('Version 1')
    page.get_by_role('button', name='Run', exact=True).click()
    page.get_by_label('Task').fill('A toast to Ada')
    page.get_by_role('button', name='Run', exact=True).click()
    expect(page.locator('.pill').first).to_contain_text('Done', timeout=30_000)


def test_a_click_on_the_diagram_leads_to_the_line_and_back(page: Page, server: Server) -> None:
    page.goto(f'{server.url}/charts/looked-at?new=1')
    judging = page.locator('.diagram .state').filter(has_text='judging')
    judging.click()
    expect(page.locator('.cm-activeLine')).to_contain_text('judging:')
    expect(judging).to_have_class(re.compile('picked'))
    page.locator('.cm-line', has_text='writer: {title').click()
    expect(page.locator('.diagram .state.picked')).to_have_count(0)
    page.locator('.cm-line', has_text='from: judging, to: writing').click()
    expect(page.locator('.diagram .edge.picked')).to_have_count(1)
