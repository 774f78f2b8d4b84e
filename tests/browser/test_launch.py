"""The launch form in a real browser: problems at the field, keys, drafts, samples, accessibility."""

import re

import pytest
from playwright.sync_api import expect

RUN = re.compile(r'/runs/\w+')
WIDER = 'document.documentElement.scrollWidth - window.innerWidth'
TASK = 'Should we “move” to <event sourcing>?'


@pytest.fixture
def form(page, server):
    page.goto(f'{server.url}/launch/pipeline')
    return page


def test_a_problem_is_said_at_its_field_as_one_types(form):
    field = form.get_by_label('Revisions at most')
    field.fill('11')
    expect(form.get_by_text('Must be 10 or less.')).to_be_visible()
    expect(field).to_have_attribute('aria-invalid', 'true')
    field.fill('2.5')
    expect(form.get_by_text('Must be a whole number.')).to_be_visible()
    field.fill('2')
    expect(form.get_by_text('Must be a whole number.')).to_be_hidden()
    expect(field).to_have_attribute('aria-invalid', 'false')


def test_an_empty_form_is_refused_at_the_field_that_gets_the_focus(form):
    form.get_by_role('button', name='Run').click()
    expect(form.get_by_text('Fill this in: at least 3 characters.')).to_be_visible()
    expect(form.get_by_label('Task')).to_be_focused()
    expect(form).to_have_url(re.compile('/launch/pipeline$'))


def test_a_text_beyond_its_limit_is_refused_and_kept(form):
    form.get_by_label('Task').fill('x' * 20_001)
    expect(form.get_by_text('At most 20,000 characters are allowed; here are 20,001.')).to_be_visible()
    form.get_by_role('button', name='Run').click()
    assert len(form.get_by_label('Task').input_value()) == 20_001
    form.get_by_label('Task').fill('x' * 300)
    expect(form.get_by_text('At most 20,000')).to_be_hidden()


def test_ctrl_enter_runs_what_was_just_typed(form, server):
    form.get_by_label('Task').press_sequentially(TASK)
    form.keyboard.press('Control+Enter')
    form.wait_for_url(RUN)
    form.goto(server.url)
    expect(form.locator('.run-title').first).to_have_text(TASK)


def test_options_are_taken(form, server):
    form.get_by_label('Task').fill('What does a tram cost?')
    form.get_by_text('Options').click()
    form.get_by_label('Title').fill('Trams')
    form.get_by_label('Tags').fill('city, city, transport')
    form.get_by_label('Seed').fill('7')
    form.get_by_role('button', name='Run').dblclick()
    form.wait_for_url(RUN)
    form.goto(f'{server.url}/runs?tag=transport')
    expect(form.locator('.run-title')).to_have_text(['Trams'])


def test_a_problem_in_a_fold_opens_it(form):
    form.get_by_label('Task').fill('What does a tram cost?')
    form.get_by_text('Options').click()
    form.get_by_label('Seed').fill('-1')
    expect(form.get_by_text('Must be 0 or more.')).to_be_visible()
    form.get_by_text('Options').click()
    form.get_by_role('button', name='Run').click()
    expect(form.get_by_label('Seed')).to_be_focused()


def test_a_draft_survives_a_reload_and_a_start_clears_it(form, server):
    form.get_by_label('Task').fill('A draft of a task')
    form.get_by_label('Revisions at most').fill('11')
    form.wait_for_timeout(800)  # until it is kept
    form.reload()
    expect(form.get_by_label('Task')).to_have_value('A draft of a task')
    expect(form.get_by_label('Revisions at most')).to_have_value('11')
    form.get_by_label('Revisions at most').fill('1')
    form.get_by_role('button', name='Run').click()
    form.wait_for_url(RUN)
    form.goto(f'{server.url}/launch/pipeline')
    expect(form.get_by_label('Task')).to_have_value('')


def test_an_earlier_input_is_recalled(form, server):
    form.get_by_label('Task').fill('What is the tallest bridge?')
    form.get_by_label('Revisions at most').fill('1')
    form.keyboard.press('Control+Enter')
    form.wait_for_url(RUN)
    form.goto(f'{server.url}/launch/pipeline')
    form.get_by_role('button', name='Use an earlier input').click()
    form.get_by_role('menuitem', name='What is the tallest bridge?').click()
    expect(form.get_by_label('Task')).to_have_value('What is the tallest bridge?')
    expect(form.get_by_label('Revisions at most')).to_have_value('1')


def test_a_sample_and_an_example_fill_the_form(form):
    form.get_by_role('button', name='Use a sample').click()
    form.get_by_role('menuitem').first.click()
    expect(form.get_by_label('Task')).not_to_have_value('')
    form.get_by_role('button', name='Start afresh').click()
    expect(form.get_by_label('Task')).to_have_value('')
    form.get_by_role('button', name='Use an example').click()
    expect(form.get_by_label('Task')).not_to_have_value('')


def test_an_unknown_pattern_has_a_page_with_the_known_ones(page, server, axe, console):
    console.expect('status of 404')
    answer = page.goto(f'{server.url}/launch/nothing')
    assert answer.status == 404
    expect(page.get_by_role('heading', name='There is no pattern “nothing”')).to_be_visible()
    expect(page.get_by_role('link', name='Pipeline')).to_be_visible()
    axe(page)


@pytest.mark.parametrize('scheme', ['light', 'dark'])
@pytest.mark.parametrize(('width', 'height'), [(1440, 900), (390, 844)])
def test_it_is_accessible_and_fits(open_page, server, axe, scheme, width, height):
    page = open_page(width, height, scheme)
    page.goto(f'{server.url}/launch/pipeline')
    page.get_by_text('Options').click()
    page.get_by_label('Revisions at most').fill('99')
    expect(page.get_by_text('Must be 10 or less.')).to_be_visible()
    assert page.evaluate(WIDER) <= 0
    axe(page)
    page.get_by_role('button', name='Use a sample').click()
    expect(page.get_by_role('menu')).to_be_visible()
    axe(page)
