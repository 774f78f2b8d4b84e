"""Approvals in a real browser: what would run is seen, changed, allowed, refused, and not lost."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.crew import crew
from tests.browser.serving import Server


@pytest.fixture
def crewed(new_server: Server, tmp_path) -> Server:
    new_server.patterns = crew(tmp_path)
    new_server.start()
    return new_server


def launch(page: Page, server: Server, workers: int = 0) -> None:
    page.goto(f'{server.url}/launch/crew')
    page.get_by_label('Workers').fill(str(workers))
    page.get_by_role('button', name='Run', exact=True).click()
    page.wait_for_url(re.compile(r'/runs/\w+$'))


def asked(page: Page):
    expect(page.get_by_text('May deployer use deploy?')).to_be_visible(timeout=30_000)
    return page.get_by_role('group', name='Approval')


def ended(page: Page):
    expect(page.locator('.run-facts .pill')).to_have_text('Done', timeout=30_000)
    page.locator('.agent-toggle', has_text='Deployer').click()
    return page.get_by_role('region', name='Deployer').locator('.tool')


def test_a_waiting_call_shows_what_would_run_and_outlives_the_server(page, crewed, console, axe):
    console.expect(r'ERR_CONNECTION|WebSocket|Failed to load resource|handshake|502')
    launch(page, crewed)
    group = asked(page)
    expect(group.locator('.approval-runs')).to_contain_text('"target": "production"')
    expect(group).to_contain_text('changes things')
    axe(page)
    url = page.url
    page.reload()
    asked(page)
    page.evaluate('window.before = true')
    crewed.restart()
    page.wait_for_function('!window.before && window.did_handshake')  # it comes back by itself
    asked(page)
    page.goto(crewed.url)
    waiting = page.get_by_role('link', name=re.compile('approval'))
    expect(waiting).to_have_attribute('href', url.removeprefix(crewed.url))
    page.goto(url)
    asked(page).get_by_role('button', name='Allow once').click()
    tool = ended(page)
    expect(tool).to_contain_text('deployed to production, 3 times')
    expect(tool).to_contain_text('done')


def test_changed_arguments_are_checked_before_they_are_sent(page, crewed):
    launch(page, crewed)
    group = asked(page)
    group.get_by_role('button', name='Edit the arguments').click()
    field = group.get_by_label('Arguments of deploy')
    expect(field).to_be_focused()
    for text, problem in (
        ('{"target": "x"', 'It is not JSON'),
        ('[1]', 'It must be a JSON object'),
        ('{"target": "east", "replicas": 33}', 'replicas: Must be 9 or less.'),
    ):
        field.fill(text)
        group.get_by_role('button', name='Allow once').click()
        expect(group).to_contain_text(problem)
    expect(page.locator('.run-facts .pill')).to_have_text('Waiting for you')
    field.fill('{"target": "east", "replicas": 2}')
    expect(group).not_to_contain_text('Must be')
    field.press('Control+Enter')
    expect(ended(page)).to_contain_text('deployed to east, 2 times')


def test_a_refusal_gives_its_reason_to_the_agent(page, crewed):
    launch(page, crewed)
    group = asked(page)
    group.get_by_label('Reason').fill('not on a Friday')
    group.get_by_label('Reason').press('Enter')
    tool = ended(page)
    expect(tool).to_contain_text('not allowed')
    expect(tool).to_contain_text('not on a Friday')


def test_the_head_says_what_each_agent_and_model_has_used(page, crewed, axe):
    launch(page, crewed)
    asked(page)
    page.locator('.btn.spent').click()
    table = page.get_by_role('dialog', name='Tokens and cost')
    expect(table.get_by_role('row', name=re.compile(r'Deployer 80 13 1 \$0'))).to_be_visible()
    expect(table.get_by_role('row', name=re.compile('scripted'))).to_be_visible()
    axe(page)
    page.keyboard.press('Escape')
    expect(table).to_be_hidden()
    page.get_by_role('tab', name='Spending').click()
    expect(page.locator('.inspector .spending')).to_contain_text('The whole run')
    expect(page.get_by_role('region', name='Deployer').get_by_text('Simulated')).to_be_visible()
