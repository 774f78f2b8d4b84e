"""The launch form in a real browser: problems at the field, keys, drafts, samples."""

import re

import pytest
from playwright.sync_api import expect

RUN = re.compile(r'/runs/\w+')
TASK = 'Should we “move” to <event sourcing>?'


@pytest.fixture
def form(page, server):
    page.goto(f'{server.url}/launch/pipeline')
    return page


def run_paused_from_its_checkbox(form, modifier):
    """Start the run with the shortcut while the box is ticked and focused, which it must leave so."""
    box = form.get_by_role('checkbox', name='Start paused')
    box.click()
    expect(box).to_be_checked()
    box.focus()
    form.keyboard.down(modifier)
    form.keyboard.down('Enter')
    form.keyboard.up(modifier)  # the modifier is released first
    form.keyboard.up('Enter')
    form.wait_for_url(RUN)
    expect(form.locator('.run-head .pill')).to_have_text('Paused')


def test_problems_are_shown_at_their_fields_until_the_options_are_applied(form, server):
    form.get_by_role('button', name='Run').click()
    expect(form.get_by_text('Enter at least 3 characters.')).to_be_visible()
    expect(form.get_by_label('Task')).to_be_focused()
    expect(form).to_have_url(re.compile('/launch/pipeline$'))

    field = form.get_by_label('Revision limit')
    field.fill('11')
    expect(form.get_by_text('Enter 10 or less.')).to_be_visible()
    expect(field).to_have_attribute('aria-invalid', 'true')
    field.fill('2.5')
    expect(form.get_by_text('Enter a whole number.')).to_be_visible()
    field.fill('2')
    expect(form.get_by_text('Enter a whole number.')).to_be_hidden()
    expect(field).to_have_attribute('aria-invalid', 'false')

    form.get_by_label('Task').fill('x' * 20_001)
    expect(form.get_by_text('Enter at most 20,000 characters (now 20,001).')).to_be_visible()
    form.get_by_role('button', name='Run').click()
    assert len(form.get_by_label('Task').input_value()) == 20_001
    form.get_by_label('Task').fill('x' * 300)
    expect(form.get_by_text('Enter at most 20,000')).to_be_hidden()

    form.get_by_label('Task').fill('What does a tram cost?')
    form.get_by_text('Options').click()
    form.get_by_label('Seed').fill('-1')
    expect(form.get_by_text('Enter 0 or more.')).to_be_visible()
    form.get_by_text('Options').click()
    form.get_by_role('button', name='Run').click()
    expect(form.get_by_label('Seed')).to_be_focused()

    form.get_by_label('Title').fill('Trams')
    form.get_by_label('Tags').fill('city, city, transport')
    form.get_by_label('Seed').fill('7')
    form.get_by_role('button', name='Run').dblclick()
    form.wait_for_url(RUN)
    assert [run['title'] for run in server.ask('/runs?tag=transport')['items']] == ['Trams']


def test_checkboxes_are_ticked_by_keys_and_an_example_fills_the_form(form):
    form.locator('.fold > summary', has_text='Options').click()
    record = form.get_by_role('checkbox', name='Record model replies')
    form.keyboard.press('Tab')
    record.focus()
    for forced in ('none', 'active'):
        form.emulate_media(forced_colors=forced)
        expect(record.locator('.q-checkbox__bg')).to_have_css('outline', re.compile('solid 2px'))
    form.emulate_media(forced_colors='none')

    form.locator('summary', has_text='Debugging').click()
    box = form.get_by_role('checkbox', name='Start paused')
    box.focus()
    form.keyboard.press('Enter')
    expect(box).to_be_checked()
    form.keyboard.press('Space')
    expect(box).not_to_be_checked()

    form.get_by_role('button', name='Samples').click()
    form.get_by_role('menuitem').first.click()
    expect(form.get_by_label('Task')).not_to_have_value('')
    form.get_by_role('button', name='Reset form').click()
    expect(form.get_by_label('Task')).to_have_value('')
    form.get_by_role('button', name='Insert example').click()
    expect(form.get_by_label('Task')).not_to_have_value('')
    run_paused_from_its_checkbox(form, 'Control')


def test_a_draft_is_kept_until_its_run_starts_and_never_overwrites_newer_typing(form, server):
    form.get_by_label('Task').fill('The draft of yesterday')
    form.get_by_label('Revision limit').fill('11')
    server.wait_until_kept('"The draft of yesterday"')
    server.wait_until_kept('"11"')
    messages, typed = [], []

    def socket(route):
        upstream = route.connect_to_server()

        def hold_or_send(message):
            if typed or not str(message).startswith('42'):  # 42: an event of socket.io
                route.send(message)
            else:
                messages.append(lambda: route.send(message))

        upstream.on_message(hold_or_send)

    form.route_web_socket('**/_nicegui_ws/**', socket)
    form.reload()
    expect(form.get_by_label('Task')).to_have_value('The draft of yesterday')
    expect(form.get_by_label('Revision limit')).to_have_value('11')
    form.get_by_label('Task').fill('What I type today')
    typed.append(True)
    for send in messages:
        send()
    expect(form.get_by_text('Enter 10 or less.')).to_be_visible()
    expect(form.get_by_text('Insert example')).to_be_visible()
    server.wait_until_kept('"What I type today"')
    expect(form.get_by_label('Task')).to_have_value('What I type today')

    form.get_by_label('Revision limit').fill('1')
    form.get_by_label('Task').fill('')
    form.get_by_label('Task').press_sequentially(TASK)
    form.keyboard.press('Control+Enter')
    form.wait_for_url(RUN)
    expect(form.locator('.run-title-bar h1')).to_have_text(TASK)
    form.goto(f'{server.url}/launch/pipeline')
    expect(form.get_by_label('Task')).to_have_value('')
    form.get_by_role('button', name='Earlier inputs').click()
    form.get_by_role('menuitem', name=TASK).click()
    expect(form.get_by_label('Task')).to_have_value(TASK)
    expect(form.get_by_label('Revision limit')).to_have_value('1')
    form.locator('summary', has_text='Debugging').click()
    run_paused_from_its_checkbox(form, 'Meta')


def test_the_run_button_and_the_cost_stay_visible_and_cover_no_field_in_use(page, server):
    page.goto(f'{server.url}/launch/parallel-review')
    for fold in ('Models', 'Reasoning effort', 'Options'):
        page.locator('.fold > summary', has_text=fold).click()
    run = page.get_by_role('button', name='Run', exact=True)
    with_keyboard = (390, 500)
    for width, height in ((1440, 900), (1024, 768), (390, 844), with_keyboard):
        page.set_viewport_size({'width': width, 'height': height})
        if (width, height) != with_keyboard:  # where it follows the last field instead
            expect(run).to_be_in_viewport(ratio=1)
            expect(page.get_by_text('Simulated: the scripted model answers')).to_be_in_viewport()
        page.get_by_label('Task').fill('ab')
        run.click()
        expect(page.get_by_text('Enter at least 3 characters.')).to_be_in_viewport(ratio=1)
        for part in page.locator('.launch-form :is(input, textarea, select, .problem):visible').all():
            part.evaluate('(part) => part.matches(".problem") || part.focus()')
            covered = part.evaluate(
                """(part) => part.getBoundingClientRect().bottom
                    - document.querySelector('.form-foot').getBoundingClientRect().top"""
            )
            assert covered <= 0, (width, height)
    page.get_by_label('Task').focus()
    expect(run).not_to_be_in_viewport()


def test_a_field_is_shown_only_where_it_has_an_effect(page, server):
    page.goto(f'{server.url}/launch/supervisor')
    workers = page.get_by_label('Worker limit')
    expect(page.get_by_label('Workers', exact=True)).to_be_visible()
    expect(workers).to_be_hidden()
    page.get_by_label('Workers', exact=True).select_option('side by side')
    expect(workers).to_be_visible()
    page.get_by_label('Workers', exact=True).select_option('one after another')
    expect(workers).to_be_hidden()


def test_dates_have_a_picker_and_paths_no_spell_check(page, server):
    page.goto(f'{server.url}/launch/blog')
    expect(page.get_by_label('Events from')).to_have_attribute('type', 'date')
    page.get_by_label('Events from').fill('2026-12-01')
    expect(page.get_by_label('Events from')).to_have_value('2026-12-01')
    expect(page.get_by_label('Calendar', exact=True)).to_have_attribute('spellcheck', 'false')
