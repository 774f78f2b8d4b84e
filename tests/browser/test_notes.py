"""Notes on steps, and what a person says of a run, on its page."""

import re

from playwright.sync_api import expect

from tests.browser.test_home import rows, run_sample


def test_a_note_on_a_step_is_written_marked_found_changed_and_taken_back(page, new_server, axe):
    new_server.start()
    path = run_sample(page, new_server.url)
    page.goto(f'{new_server.url}{path}?at=7')
    notes = page.get_by_role('region', name='Notes on this step')
    notes.get_by_role('button', name='Add a note').click()
    editor = notes.get_by_label('Note on step 7')
    expect(editor).to_be_focused()
    editor.fill('why <b>twice</b>?')
    page.keyboard.press('ArrowRight')  # moves the cursor, and not the run
    page.keyboard.press('Control+Enter')
    expect(notes.locator('.note-text')).to_have_text('why <b>twice</b>?')
    expect(page).to_have_url(re.compile(r'at=7$'))
    mark = page.get_by_role('button', name=re.compile('Step 7: note'))
    expect(mark).to_be_visible()
    axe(page)
    page.goto(f'{new_server.url}{path}?at=3')
    expect(notes.locator('.note-text')).to_have_count(0)
    mark.click()
    expect(notes.locator('.note-text')).to_have_count(1)
    notes.get_by_role('button', name='Change this note').click()
    editor.fill('a zebra')
    notes.get_by_role('button', name='Save').click()
    expect(notes.locator('.note-text')).to_have_text('a zebra')
    expect(notes).to_contain_text('edited')
    notes.get_by_role('button', name='Delete this note').click()
    expect(notes.locator('.note-text')).to_have_count(0)
    page.get_by_role('button', name='Undo').click()
    expect(notes.locator('.note-text')).to_have_text('a zebra')
    page.goto(f'{new_server.url}/runs?text=zebra')
    expect(rows(page)).to_have_count(1)


def test_a_run_is_renamed_starred_and_restored_on_its_page(page, new_server, axe):
    new_server.start()
    path = run_sample(page, new_server.url)
    expect(page.locator('.run-facts .pill')).to_have_text('Done')
    page.get_by_role('button', name='Rename the run').click()
    title = page.get_by_label('Title of the run')
    expect(title).to_be_focused()
    title.fill('A <i>better</i> name')
    page.keyboard.press('Enter')
    expect(page.locator('.run-naming h1')).to_have_text('A <i>better</i> name')
    star = page.get_by_role('button', name='Star', exact=True)
    star.click()
    expect(star).to_have_attribute('aria-pressed', 'true')
    page.get_by_role('button', name='Pin', exact=True).click()
    expect(page.get_by_role('button', name='Pin', exact=True)).to_have_attribute('aria-pressed', 'true')
    expect(page.locator('.run-weight')).to_contain_text('kB')
    axe(page)
    page.goto(f'{new_server.url}/runs?marked=starred')
    expect(page.locator('.run-title')).to_have_text('A <i>better</i> name')
    expect(page.locator('.chip.pinned')).to_be_visible()
    page.locator('.run-menu').click()
    page.get_by_role('menuitem', name='Delete the run').click()
    expect(rows(page)).to_have_count(0)
    page.goto(new_server.url + path)
    page.get_by_role('button', name='Restore').click()
    expect(page.get_by_role('button', name='Restore')).to_have_count(0)
    page.goto(f'{new_server.url}/runs')
    expect(rows(page)).to_have_count(1)
