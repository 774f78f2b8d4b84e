"""Approvals in a real browser: calls are shown, edited, approved and denied, and nothing gets lost.

Also questions of MCP servers: a form from their schema, and three ways to answer.
"""

import re

from playwright.sync_api import Page, expect

from tests.browser.server import Server

COVERED = """() => {
    const box = (one) => one.getBoundingClientRect(), bar = box(document.querySelector('.approval-bar'));
    const over = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const all = (names) => [...document.querySelectorAll(names)];
    const head = '.topbar :is(nav a, .attention), .run-head :is(h1, .pill), .run-controls .btn';
    const seen = all(`${head}, .run-switch .btn, .player`)
        .filter((one) => one.checkVisibility({ visibilityProperty: true }) && box(one).width);
    const [title, pill] = ['h1', '.pill'].map((name) => box(document.querySelector(`.run-head ${name}`)));
    const text = document.querySelector('.run-head h1 > *');
    return [
        ...seen.filter((one) => over(bar, box(one))).map((one) => one.className + one.textContent),
        ...(title.width < 40 && text.scrollWidth > text.clientWidth ? ['no room for the title'] : []),
        ...all('.run-facts > .chip').filter((one) => over(pill, box(one))).map((one) => one.textContent),
    ];
}"""
"""Parts of the page's head and player that the bar covers, and a title or status without enough room."""


def launch(page: Page, server: Server, workers: int = 0) -> None:
    page.goto(server.launch('crew', workers=workers))


def wait_for_approval(page: Page):
    expect(page.get_by_text('Allow deployer to use deploy?')).to_be_visible(timeout=30_000)
    return page.get_by_role('group', name='Approval')


def wait_for_tool(page: Page):
    expect(page.locator('.run-facts .pill')).to_have_text('Done', timeout=30_000)
    page.locator('.stage-chip', has_text='Deployer').click()
    return page.get_by_role('region', name='Deployer').locator('.tool')


def test_a_waiting_call_shows_what_would_run_and_outlives_the_server(page, crew_server, console, axe):
    console.expect(r'ERR_CONNECTION|WebSocket|Failed to load resource|handshake|502')
    launch(page, crew_server)
    group = wait_for_approval(page)
    runs = group.get_by_role('group', name='Will run')
    expect(runs.locator('div', has_text='target')).to_have_text('targetproduction')
    expect(runs).not_to_contain_text('{')
    expect(page.locator('.tool.waiting')).to_be_visible()
    expect(page.locator('.tool.waiting .tool-arguments')).to_be_hidden()  # shown only in the approval
    expect(group).to_contain_text('side effects')
    axe(page)
    url = page.url
    page.reload()
    wait_for_approval(page)
    page.evaluate('window.before = true')
    crew_server.restart()
    page.wait_for_function('!window.before && window.did_handshake')  # the page reloads by itself
    wait_for_approval(page)
    page.goto(crew_server.url)
    waiting = page.get_by_role('link', name=re.compile('Allow deployer to use deploy'))
    expect(waiting).to_have_attribute('href', url.removeprefix(crew_server.url))
    page.goto(url)
    wait_for_approval(page).get_by_role('button', name='Allow once').click()
    tool = wait_for_tool(page)
    expect(tool).to_contain_text('deployed to production, 3 times')
    expect(tool).to_contain_text('done')


def test_usage_is_shown_and_changed_arguments_are_checked_before_they_are_sent(page, crew_server, axe):
    launch(page, crew_server)
    group = wait_for_approval(page)
    page.locator('.btn.spent').click()
    table = page.get_by_role('dialog', name='Tokens and cost')
    expect(table.get_by_role('row', name=re.compile(r'Deployer 80 13 1 \$0'))).to_be_visible()
    expect(table.get_by_role('row', name=re.compile('scripted'))).to_be_visible()
    axe(page)
    page.keyboard.press('Escape')
    expect(table).to_be_hidden()
    page.get_by_role('tab', name='Usage').click()
    expect(page.locator('.inspector .usage-table')).to_contain_text('Total')
    expect(page.get_by_role('region', name='Deployer').get_by_text('Simulated')).to_be_visible()

    group.get_by_role('button', name='Edit arguments').click()
    field = group.get_by_label('Arguments of deploy')
    expect(field).to_be_focused()
    for text, problem in (
        ('{"target": "x"', 'Invalid JSON'),
        ('[1]', 'Enter a JSON object'),
        ('{"target": "east", "replicas": 33}', 'replicas: Enter 9 or less.'),
    ):
        field.fill(text)
        group.get_by_role('button', name='Allow once').click()
        expect(group).to_contain_text(problem)
    expect(page.locator('.run-facts .pill')).to_have_text('Waiting for you')
    field.fill('{"target": "east", "replicas": 2}')
    expect(group).not_to_contain_text('Enter 9')
    field.press('Control+Enter')
    expect(wait_for_tool(page)).to_contain_text('deployed to east, 2 times')


def test_a_denial_gives_its_reason_to_the_agent(page, crew_server):
    launch(page, crew_server)
    group = wait_for_approval(page)
    group.get_by_label('Reason').fill('unfinished')
    # An Enter of an input method, as most browsers report it and as WebKit does, denies nothing.
    for composing in (True, False):
        key = {'key': 'Enter', 'keyCode': 229, 'isComposing': composing, 'bubbles': True, 'cancelable': True}
        group.get_by_label('Reason').evaluate(
            '(it, key) => it.dispatchEvent(new KeyboardEvent("keydown", key))', key
        )
    group.get_by_label('Reason').fill('not on a Friday')
    group.get_by_label('Reason').press('Enter')
    tool = wait_for_tool(page)
    expect(tool).to_contain_text('denied')
    expect(tool).to_contain_text('not on a Friday')


def test_a_question_is_a_form_that_is_checked_and_sent(page, crew_server, axe):
    page.goto(crew_server.launch('hotel'))
    group = page.get_by_role('group', name='Question')
    expect(group).to_contain_text('small asks: Who stays?', timeout=60_000)
    axe(page)
    expect(page.locator('.run-facts .pill')).to_have_text('Waiting for you')
    page.get_by_role('tab', name='Files').click()
    page.get_by_role('region', name='Needs you').get_by_role('button', name='Answer').press('Enter')
    expect(group.get_by_label('Guest')).to_be_focused()
    group.get_by_label('Guest').fill('A')
    group.get_by_role('button', name='Send answer').click()
    expect(group).to_contain_text('at least 2')
    group.get_by_label('Guest').fill('Ada')
    group.get_by_label('Nights').fill('3')
    group.get_by_label('Nights').press('Enter')
    expect(page.locator('.stage', has_text='The server said:').first).to_contain_text(
        '"nights": 3', timeout=30_000
    )
    expect(group).to_be_hidden()


def test_a_question_is_found_on_the_home_page_and_declined(page, crew_server):
    url = crew_server.launch('hotel')
    crew_server.wait_until_asked()
    page.goto(crew_server.url)
    page.get_by_role('link', name=re.compile('small asks: Who stays')).first.click()
    page.wait_for_url(url)
    page.get_by_role('group', name='Question').get_by_role('button', name='Decline').click()
    expect(page.locator('.stage', has_text='The server said:').first).to_contain_text(
        '"decline"', timeout=30_000
    )


def test_the_attention_bar_asks_without_shifting_the_page(page, crew_server):
    launch(page, crew_server)
    wait_for_approval(page)
    page.get_by_role('tab', name='Transcript').click()  # hides the pane that asks
    bar = page.get_by_role('region', name='Needs you')
    expect(bar).to_contain_text('Deployer waits for your approval: deploy')
    for width, height in ((390, 844), (820, 700), (1024, 768), (1440, 900)):
        page.set_viewport_size({'width': width, 'height': height})
        assert page.evaluate(COVERED) == [], width
    top = page.locator('.run-head').bounding_box()['y']
    bar.get_by_role('button', name='Allow').press('Enter')
    expect(bar).to_be_hidden()
    expect(page.get_by_role('main')).to_be_focused()
    assert page.locator('.run-head').bounding_box()['y'] == top
    expect(page.locator('.run-facts .pill')).to_have_text('Done', timeout=30_000)
