"""Models in the launch form, in a real browser: the list, keys, free text, drafts, a live run."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import check_page, unfold
from tests.browser.provider import KEY, provider
from tests.browser.server import Server

RUN = re.compile(r'/runs/\w+')
BOX = '.combo-list'


@pytest.fixture(scope='module')
def server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp('server'))
    with provider() as url, pytest.MonkeyPatch.context() as patch:
        patch.setenv('WORK_KEY', KEY)
        server.endpoints.write_text(f'[endpoints.work]\nurl = "{url}"\nkey = "env:WORK_KEY"\n')
        server.start()
        yield server
        server.stop()


@pytest.fixture
def form(page, server):
    page.goto(f'{server.url}/launch/pipeline')
    page.locator('.models-fold > summary').click()
    return page


def test_model_options_are_collapsed_at_first(page, server):
    page.goto(f'{server.url}/launch/pipeline')
    expect(page.locator('.models-fold > summary')).to_have_text('Modelsscripted, simulated')
    expect(page.get_by_label('Model for all roles')).to_be_hidden()
    expect(page.get_by_text('Simulated: the scripted model answers.')).to_be_visible()


def test_the_list_is_navigated_by_keys_and_filtered_by_typing(form):
    line = form.get_by_label('Model for all roles')
    line.click()
    expect(form.locator(BOX).get_by_role('option', name='work/large')).to_be_visible()
    line.press_sequentially('larg')
    expect(form.locator(BOX).get_by_role('option')).to_have_text(['work/large'])
    line.press('ArrowDown')
    expect(form.locator(BOX).get_by_role('option')).to_have_attribute('aria-selected', 'true')
    line.press('Enter')
    expect(line).to_have_value('work/large')
    expect(form.locator(BOX)).to_be_hidden()
    expect(form.get_by_text('Live: researcher, analyzer, reviewer by work/large.')).to_be_visible()
    line.press('End')
    line.press_sequentially(', sma')
    line.press('ArrowDown')
    line.press('Enter')
    expect(line).to_have_value('work/large, work/small')
    line.press('ArrowDown')
    line.press('Escape')
    expect(form.locator(BOX)).to_be_hidden()


def test_an_unknown_model_is_reported_on_blur_and_opens_its_section(form):
    form.get_by_label('Task').fill('What does a tram cost?')
    line = form.get_by_label('Reviewer', exact=True)
    line.press_sequentially('nowhere/large')
    expect(form.get_by_text('Unknown model')).to_be_hidden()
    form.get_by_label('Analyzer', exact=True).focus()
    expect(form.get_by_text('Unknown model “nowhere/large”.')).to_be_visible()
    form.locator('.models-fold > summary').click()
    form.get_by_role('button', name='Run', exact=True).click()
    expect(line).to_be_focused()
    line.fill('work/one-that-is-not-listed')
    expect(form.get_by_text('Unknown model')).to_be_hidden()
    line.fill('')


@pytest.mark.long
def test_a_draft_keeps_its_models_and_the_run_marks_live_ones(form, server):
    form.get_by_label('Task').fill('What does a tram cost?')
    form.get_by_label('Analyzer', exact=True).fill('work/small')
    form.get_by_text('Options').click()
    form.get_by_label('Tool approval').select_option('Never')
    server.wait_until_kept('work/small')
    server.wait_until_kept('"approvals":"none"')
    form.reload()
    expect(form.locator('.models-fold > summary')).to_contain_text('work/small')
    expect(form.get_by_label('Task')).to_be_focused()  # from now on the form handles the keys
    form.keyboard.press('Control+Enter')
    form.wait_for_url(RUN)
    expect(form.get_by_text('A live answer.').first).to_be_visible()
    form.goto(f'{server.url}/launch/pipeline')
    form.get_by_role('button', name='Earlier inputs').click()
    form.get_by_role('menuitem', name='What does a tram cost?').click()
    expect(form.get_by_text('Live: analyzer by work/small.')).to_be_visible()
    form.get_by_role('button', name='Reset form').click()
    expect(form.get_by_text('Simulated: the scripted model answers.')).to_be_visible()


def test_lists_that_load_late_shift_nothing(page, server):
    page.goto(f'{server.url}/launch/pipeline')
    page.locator('.models-fold > summary').click()
    run = page.get_by_role('button', name='Run', exact=True)
    before = run.bounding_box()
    page.get_by_label('Model for all roles').click()
    expect(page.locator(BOX).get_by_role('option', name='work/small')).to_be_visible()
    assert run.bounding_box() == before


def test_it_is_accessible_and_fits(page, server, axe):
    page.goto(f'{server.url}/launch/parallel-review')
    page.get_by_role('button', name='Samples').click()
    expect(page.get_by_role('menu')).to_be_visible()
    axe(page, dark=True, within='[role=menu]')
    page.keyboard.press('Escape')
    unfold(page)
    page.get_by_label('Revision limit').fill('99')
    page.get_by_label('Fallback').fill('nothing')
    reviewer = page.get_by_role('group', name='Models').get_by_label('Reviewer 1', exact=True)
    reviewer.click()
    reviewer.press('ArrowDown')
    expect(page.locator(BOX).get_by_role('option').first).to_be_visible()
    expect(page.get_by_text('Enter 10 or less.')).to_be_visible()
    expect(page.get_by_text('Unknown model “nothing”')).to_be_visible()
    check_page(page)
    expect(page.locator(BOX).get_by_role('option').first).to_be_visible()
