"""A schedule made with the fields of the launch form: problems, next times, a run now, and its form again."""

import re

from playwright.sync_api import expect


def test_a_schedule_is_made_by_form_and_run_now(open_page, server, axe):
    page = open_page(timezone_id='Asia/Kolkata')
    page.goto(f'{server.url}/schedules')
    page.get_by_role('button', name='New schedule').press('Enter')
    dialog = page.get_by_role('dialog', name='New schedule')
    expect(dialog.get_by_label('Name')).to_be_focused()
    page.keyboard.type('Weekly news')
    dialog.get_by_label('Repeat').select_option('On some days of the week')
    dialog.get_by_role('button', name='Thu').click()
    expect(dialog.get_by_role('button', name='Thu')).to_have_attribute('aria-pressed', 'true')
    dialog.get_by_label('Time', exact=True).fill('09:45')
    zone = dialog.get_by_role('combobox', name='Time zone')
    zone.fill('york')
    zone.press('Enter')
    expect(zone).to_have_value('America/New_York')
    expect(dialog.get_by_text('Every Mon and Thu at 09:45 in New York')).to_be_visible()
    times = dialog.locator('.next-list > li')
    expect(times).to_have_text([re.compile(r'^\w+.*, \d\d:\d\d.*09:45 in New York$')] * 5)
    dialog.get_by_label('Pattern', exact=True).select_option('Pipeline')
    task = dialog.get_by_label('Task')
    task.fill('ab')
    dialog.get_by_role('button', name='Save').click()
    expect(dialog.get_by_text('Enter at least 3 characters.')).to_be_visible()
    expect(task).to_be_focused()
    axe(page)
    task.fill('Tea or coffee?')
    task.press('Tab')
    dialog.get_by_role('button', name='Save').press('Enter')
    expect(dialog).to_be_hidden()
    expect(page.get_by_text('Every Mon and Thu at 09:45 in New York')).to_be_visible()
    page.get_by_role('button', name='Run now: Weekly news').click()
    page.get_by_role('link', name='Started').click()
    expect(page.locator('.run-title-bar h1')).to_have_text('Weekly news')

    page.goto(f'{server.url}/schedules')
    page.get_by_role('button', name='Edit: Weekly news').click()
    edit = page.get_by_role('dialog', name='Edit Weekly news')
    expect(edit.get_by_role('combobox', name='Time zone')).to_have_value('America/New_York')
    expect(edit.get_by_label('Time', exact=True)).to_have_value(re.compile('^09:45'))
    expect(edit.get_by_role('button', name='Thu')).to_have_attribute('aria-pressed', 'true')
    expect(edit.get_by_label('Task')).to_have_value('Tea or coffee?')
