"""A walk through a chart in the browser: by mouse and keys, an answer changed as JSON, saved as stubs."""

from __future__ import annotations

from pathlib import Path

import yaml
from playwright.sync_api import Page, expect

from tests.browser.server import Server


def test_a_walk_is_taken_by_mouse_and_keys_and_saved(page: Page, server: Server) -> None:
    page.goto(f'{server.url}/launch/pipeline')
    page.get_by_role('link', name='Simulate').click()
    step, steps = page.get_by_role('button', name='Take this step'), page.locator('.walk-step')
    step.click()
    page.get_by_role('button', name='Analyzer answers').wait_for()
    page.get_by_label('Answer').fill('Buy tea.')
    page.keyboard.press('Control+Enter')
    page.get_by_role('button', name='Reviewer answers').wait_for()
    page.get_by_text('As JSON').click()
    page.get_by_label('JSON').fill('{"approved": true, "score": 70, "summary": "Good."}')
    expect(page.locator('.walk-outcome')).to_contain_text('The run is done.')
    step.click()
    expect(page.locator('.diagram .state.active, .diagram .state.done').first).to_contain_text('complete')
    expect(steps).to_have_count(4)
    page.keyboard.press('ArrowLeft')
    expect(page.locator('[aria-current="step"]')).to_contain_text('Analyzer')
    page.keyboard.press('ArrowRight')
    with page.expect_download() as saved:
        page.get_by_role('button', name='Save stubs').click()
    stubs = yaml.safe_load(Path(saved.value.path()).read_text('utf-8'))
    assert saved.value.suggested_filename == 'pipeline.stubs.yaml'
    assert (stubs['analyzing'], stubs['reviewing'][0]['score']) == (['Buy tea.'], 70)
