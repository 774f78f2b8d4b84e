"""Adding a schedule with the keyboard: a problem is explained at its field, which gets the focus."""

from playwright.sync_api import expect


def test_a_schedule_is_added_with_the_keyboard(page, server, axe):
    page.goto(f'{server.url}/schedules')
    page.get_by_role('button', name='New schedule').press('Enter')
    dialog = page.get_by_role('dialog', name='New schedule')
    expect(dialog.get_by_label('Name')).to_be_focused()
    expect(dialog.get_by_label('Catch up')).to_have_value('3600')
    page.keyboard.type('Nightly')
    page.keyboard.press('Tab')
    expect(dialog.get_by_label('Pattern')).to_be_focused()  # the parameters depend on it
    dialog.get_by_label('Pattern').select_option('pipeline')
    page.keyboard.press('Tab')
    parameters = dialog.get_by_label('Parameters')
    expect(parameters).to_be_focused()
    parameters.fill('{}Tea or coffee?')
    cron = dialog.get_by_label('Cron expression')
    cron.fill('30 2 * * *')
    cron.press('Enter')
    expect(dialog.get_by_text('Invalid JSON: extra data (line 1, column 3).')).to_have_count(1)
    expect(parameters).to_be_focused()
    axe(page)
    parameters.fill('{"task": "Tea or coffee?"}')
    cron.press('Enter')
    expect(dialog).to_be_hidden()
    expect(page.get_by_text('Nightly')).to_be_visible()
