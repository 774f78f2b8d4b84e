"""The registry of tools in a real browser: search, trying tools by hand, keys."""

import re

from playwright.sync_api import Page, expect


def use(page: Page, **fields: str) -> None:
    for name, value in fields.items():
        page.get_by_label(name, exact=True).fill(value)
        page.keyboard.press('Tab')  # closes the field's menu, which covers the button
    page.get_by_role('button', name='Run tool').click()


def test_a_tool_is_opened_from_the_list_and_tried(page, server):
    page.goto(server.url)
    page.get_by_role('navigation').get_by_role('link', name='Settings').click()
    page.get_by_role('link', name='Tools', exact=True).click()
    page.get_by_label('Search tools').fill('arithmetic')
    expect(page.locator('.tool-card')).to_have_count(1)
    expect(page).to_have_url(re.compile(r'text=arithmetic'))
    page.locator('.tool-card').click()
    page.wait_for_url('**/tools/calculator')
    use(page, Expression='2 ** 10')
    expect(page.get_by_label('Output')).to_contain_text('1024')
    expect(page.locator('.try-result .pill')).to_have_text('Done')


def test_files_stay_in_the_scratch_folder_from_one_tool_to_the_next(page, open_page, server):
    page.goto(f'{server.url}/tools/write_file')
    use(page, Path='a.txt', Text='one\ntwo')
    expect(page.locator('.scratch')).to_contain_text('a.txt')
    page.goto(f'{server.url}/tools/read_file')
    expect(page.locator('.scratch')).to_contain_text('a.txt')
    use(page, Path='a.txt')
    expect(page.get_by_label('Output')).to_have_text('one\ntwo')
    other = open_page()
    other.goto(f'{server.url}/tools/read_file')
    expect(other.locator('.scratch')).to_contain_text('Empty.')
    page.get_by_role('button', name='Empty folder').click()
    expect(page.locator('.scratch')).to_contain_text('Empty.')


def test_a_call_is_stopped(page, server):
    page.goto(f'{server.url}/tools/run_command')
    page.get_by_label('Command', exact=True).fill('sleep 300')
    page.keyboard.press('Control+Enter')
    expect(page.get_by_role('button', name='Run tool')).to_be_disabled()
    page.get_by_role('button', name='Stop').click()
    expect(page.locator('.try-result .pill')).to_have_text('Stopped')
    expect(page.get_by_role('button', name='Run tool')).to_be_enabled()


def test_a_tool_that_needs_a_model_is_tried_with_one(page, server, axe):
    page.goto(f'{server.url}/tools/generate_outline')
    expect(page.get_by_text('Simulated: the scripted model answers.')).to_be_visible()
    use(page, Topic='Bees on city roofs', Model='nothing/large')
    expect(page.get_by_text('Unknown model “nothing/large”.')).to_be_visible()
    use(page, Model='scripted')
    expect(page.get_by_label('Output')).to_contain_text('"title": "Bees on city roofs"')
    expect(page.locator('.try-result .pill')).to_have_text('Done')
    expect(page.locator('.try-result-head')).to_contain_text('tokens')
    axe(page)
