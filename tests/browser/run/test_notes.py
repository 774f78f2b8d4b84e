"""Notes on steps, and a person's annotations of a run, on its page."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.runs.test_home import rows


def test_a_note_is_written_marked_found_changed_and_removed(page, server, axe):
    run = server.sample('pipeline')
    page.goto(f'{run}?at=7')
    notes = page.get_by_role('region', name='Notes on this step')
    notes.get_by_role('button', name='Add note').click()
    editor = notes.get_by_label('Note on step 7')
    expect(editor).to_be_focused()
    editor.fill('why <b>twice</b>?')
    page.keyboard.press('ArrowRight')  # moves the text cursor, not the run
    page.keyboard.press('Control+Enter')
    expect(notes.locator('.note-text')).to_have_text('why <b>twice</b>?')
    expect(page).to_have_url(re.compile(r'at=7$'))
    mark = page.get_by_role('button', name=re.compile('Step 7: note'))
    expect(mark).to_be_visible()
    axe(page)
    page.goto(f'{run}?at=3')
    expect(notes.locator('.note-text')).to_have_count(0)
    mark.click()
    expect(notes.locator('.note-text')).to_have_count(1)
    notes.get_by_role('button', name='Edit note').click()
    editor.fill('a zebra')
    notes.get_by_role('button', name='Save').click()
    expect(notes.locator('.note-text')).to_have_text('a zebra')
    expect(notes).to_contain_text('edited')
    notes.get_by_role('button', name='Delete note').click()
    expect(notes.locator('.note-text')).to_have_count(0)
    page.get_by_role('button', name='Undo').click()
    expect(notes.locator('.note-text')).to_have_text('a zebra')
    assert [item['id'] for item in server.ask('/runs?text=zebra')['items']] == [run.rpartition('/')[2]]


@pytest.mark.long
def test_a_run_is_renamed_starred_deleted_and_restored_on_its_page_and_in_the_list(page, new_server, axe):
    new_server.start()
    run = new_server.sample('pipeline')
    page.goto(run)
    expect(page.locator('.run-facts .pill')).to_have_text('Done')
    rename = page.get_by_role('button', name='Rename the run')
    rename.press('Enter')
    title = page.get_by_label('Title of the run')
    expect(title).to_be_focused()
    title.press_sequentially('A <i>better</i> name')  # replaces the old title, which is selected
    page.keyboard.press('Enter')
    expect(rename).to_be_focused()
    expect(page.locator('.run-title-bar h1')).to_have_text('A <i>better</i> name')
    expect(page).to_have_title('A <i>better</i> name · Hemicycle')
    star = page.get_by_role('button', name='Star', exact=True)
    star.click()
    expect(star).to_have_attribute('aria-pressed', 'true')
    page.get_by_role('button', name='Pin', exact=True).click()
    expect(page.get_by_role('button', name='Pin', exact=True)).to_have_attribute('aria-pressed', 'true')
    expect(page.locator('.run-weight')).to_contain_text('kB')
    page.goto(f'{new_server.url}/runs?marked=starred')
    expect(page.locator('.run-title')).to_have_text('A <i>better</i> name')
    expect(page.locator('.chip.pinned')).to_be_visible()
    page.locator('.run-menu').click()
    page.get_by_role('menuitem', name='Delete run').click()
    expect(rows(page)).to_have_count(0)
    page.goto(run)
    page.get_by_role('button', name='Restore').click()
    expect(page.get_by_role('button', name='Restore')).to_have_count(0)
    assert len(new_server.ask('/runs')['items']) == 1
    more = page.get_by_role('button', name='More', exact=True)
    more.focus()
    page.keyboard.press('Enter')
    delete = page.get_by_role('dialog').get_by_role('button', name='Delete run')
    delete.focus()
    page.keyboard.press('Enter')
    page.wait_for_url(f'{new_server.url}/runs')  # a reload does not repeat the message
    toast = page.locator('.toast')
    expect(toast).to_contain_text('Deleted “')
    expect(rows(page)).to_have_count(0)
    axe(page)
    toast.get_by_role('button', name='Undo').click()
    expect(rows(page)).to_have_count(1)
    expect(toast).to_have_count(0)
    rows(page).first.click()
    page.wait_for_url(run)
    more.click()
    delete.click()
    page.wait_for_url(f'{new_server.url}/runs')
    page.go_back()
    page.get_by_role('button', name='Restore').wait_for()
    more.click()
    expect(page.get_by_role('button', name='Compare with…')).to_be_visible()
    expect(delete).to_have_count(0)
    page.goto(f'{new_server.url}/runs?deleted=nobody')
    expect(page.get_by_text('No runs yet.')).to_be_visible()
    expect(toast).to_have_count(0)
