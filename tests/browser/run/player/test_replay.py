"""Replay in a real browser: keys, jumps, marks, speeds, addresses; why an edge was taken or not."""

import re

import pytest
from playwright.sync_api import Page, expect

from tests.browser.run.player.test_lanes import EQUAL_STEPS
from tests.browser.run.test_run import STEPS, TASK, count, open_run

BACK = '[id="e:reviewing>analyzing"]'
"""The edge that sends work back: considered at the last step, and taken twice before."""


@pytest.fixture(scope='module')
def finished(server) -> str:
    return server.launch('pipeline', task=TASK, ended=True)


def at(page: Page, step: int) -> None:
    expect(count(page)).to_contain_text(f'{step} / {STEPS}')
    expect(page.locator('.step-number')).to_have_text(f'Step {step}')


def test_arrow_keys_move_between_marks_and_letters_jump_and_wrap_around(page, finished):
    open_run(page, finished, 1)
    page.evaluate(EQUAL_STEPS)
    marks = page.locator('.mark')
    expect(page.locator('.mark[tabindex="0"]')).to_have_count(1)  # one tab stop
    page.locator('.mark[tabindex="0"]').focus()
    page.keyboard.press('ArrowRight')
    expect(marks.nth(1)).to_be_focused()
    at(page, 1)  # the arrow keys did not step
    expect(marks.nth(1)).to_have_attribute('aria-label', re.compile(r'Step \d+'))
    step = re.search(r'Step (\d+)', marks.nth(1).get_attribute('aria-label') or '')
    assert step
    page.keyboard.press('Enter')
    at(page, int(step[1]))
    page.get_by_role('slider', name='Step').press('Home')
    at(page, 1)

    revisions = page.locator('.mark.revision')
    expect(revisions).to_have_count(2)
    steps = [int(text) for text in revisions.evaluate_all(STEPS_OF)]
    for step in steps:
        page.keyboard.press('r')
        at(page, step)
    page.keyboard.press('r')
    expect(page.get_by_role('status').filter(has_text='Wrapped around')).to_be_attached()
    at(page, steps[0])
    toast = page.locator('.q-notification')
    expect(toast).to_have_text(f'Wrapped around: revision at step {steps[0]}, one of 2.')
    box, player = toast.bounding_box(), page.locator('.player').bounding_box()
    assert box['y'] + box['height'] <= player['y']  # the buttons below stay reachable
    page.keyboard.press('Shift+R')
    at(page, steps[1])
    page.keyboard.press('n')
    expect(page.get_by_role('status').filter(has_text='No note')).to_be_attached()
    expect(toast).to_have_count(1)  # the newest replaces the previous one
    at(page, steps[1])


def test_a_key_scrolls_the_focused_pane_or_moves_through_the_run_but_never_both(open_page, finished):
    page = open_page(height=560)  # low enough that the page itself scrolls
    open_run(page, finished, 12)
    pane = page.locator('.agent:visible .panel-body')
    assert pane.evaluate('one => one.scrollHeight - one.clientHeight') > 100
    pane.locator('summary').first.press('Space')
    expect(pane.locator('details').first).to_have_attribute('open', '')
    pane.focus()
    for key, placed in (
        ('Home', 'one.scrollTop === 0'),
        ('Space', 'one.scrollTop > 20'),
        ('End', 'one.scrollTop > 100'),
    ):
        page.keyboard.press(key)
        page.wait_for_function(f'() => {{ const one = document.activeElement; return {placed}; }}')
    page.keyboard.press('ArrowRight')  # handled after those keys: none of them moved the run
    at(page, 13)
    expect(page.get_by_role('button', name='Play')).to_be_visible()
    page.get_by_role('slider', name='Step').focus()
    scrolled = page.evaluate('scrollY')
    page.keyboard.press('Home')
    at(page, 1)
    assert page.evaluate('scrollY') == scrolled


FIGURES = """() => ['.where', '.run-progress', '.spent .num', '.run-facts > .num'].map((one) =>
    document.querySelector(one).textContent).join(' | ')"""
WATCH = f"""() => {{
    const step = document.querySelector('.step');
    window.seen = [];
    new MutationObserver(() => {{
        const number = step.querySelector('.step-number')?.textContent;
        if (number && number !== seen.at(-1)?.[0]) seen.push([number, ({FIGURES})()]);
    }}).observe(step, {{ childList: true, subtree: true, characterData: true }});
}}"""


def test_figures_match_the_shown_step_even_when_stepping_fast(page, finished):
    open_run(page, finished, 4)
    figures = {}
    for step in range(5, 11):
        page.keyboard.press('ArrowRight')
        at(page, step)
        expect(page).to_have_url(re.compile(rf'at={step}$'))  # the whole page shows this step
        figures[f'Step {step}'] = page.evaluate(FIGURES)
    assert len(set(figures.values())) > 3
    page.evaluate(WATCH)
    for _ in range(5):
        page.keyboard.press('ArrowLeft', delay=20)
    at(page, 5)
    figures_seen = dict(page.evaluate('seen'))
    assert figures_seen == {step: figures[step] for step in figures_seen}


STEPS_OF = "marks => marks.map(mark => /Step (\\d+)/.exec(mark.getAttribute('aria-label'))[1])"


def test_back_returns_from_a_jump_but_not_from_a_step(page, finished):
    open_run(page, finished, 3)
    page.keyboard.press('e')
    expect(page.locator('.step-title.failing')).to_be_visible()
    expect(page).to_have_url(re.compile(r'\?at=(?!3$)\d+$'))
    step = int(page.url.rpartition('=')[2])
    page.keyboard.press('ArrowRight')
    page.keyboard.press('ArrowRight')
    at(page, step + 2)
    where = f'{finished}?at={step + 2}'
    expect(page).to_have_url(where)
    page.get_by_role('tab', name='Transcript').click()
    expect(page).to_have_url(re.compile(r'/transcript\?at='))
    page.go_back()
    expect(page.get_by_role('tab', name='Agents')).to_have_attribute('aria-selected', 'true')
    page.go_back()
    at(page, 3)
    page.go_forward()
    expect(page).to_have_url(where)
    at(page, step + 2)


def test_a_link_opens_its_tab_at_its_step(page, finished):
    page.goto(f'{finished}/messages?at=20')
    for _ in range(2):
        at(page, 20)
        expect(page.get_by_role('tab', name='Messages')).to_have_attribute('aria-selected', 'true')
        page.reload()


LIT = """() => [...document.querySelectorAll('.diagram .graph > [id]')].map((one) => [
    one.id,
    ...['active', 'inside', 'visited', 'traversed', 'taken']
      .filter((how) => one.matches('.' + how))].join())"""


def test_the_diagram_follows_the_slider_without_delay(page, finished):
    open_run(page, finished, 2)
    page.evaluate(EQUAL_STEPS)
    place = page.locator('.rail').bounding_box()
    y = place['y'] + place['height'] / 2
    page.mouse.move(place['x'] + 0.1 * place['width'], y)
    page.mouse.down()
    page.mouse.move(place['x'] + 0.12 * place['width'], y)
    thumb, drawing = page.locator('.thumb'), page.locator('.diagram svg')
    for part in (0.3, 0.5, 0.9, 22 / (STEPS - 1)):  # the reviewer sends the draft back
        page.mouse.move(place['x'] + part * place['width'], y)
        step = thumb.get_attribute('data-step')
        expect(drawing).to_have_attribute('data-step', step)
    expect(page.locator('[id="s:analyzing.thinking"]')).to_be_attached()  # the server expands what is active
    quick = page.evaluate(LIT)
    page.locator('.diagram').first.evaluate('(box) => getElement(Number(box.id.slice(1))).draw()')
    expect(drawing).to_have_attribute('data-step', step)  # even if the layout changes meanwhile
    assert page.evaluate(LIT) == quick
    not_taken = page.locator('.diagram .not-taken')
    expect(not_taken).to_have_count(0)  # reasons are shown once the slider is released
    page.mouse.up()
    at(page, int(step))
    expect(not_taken).not_to_have_count(0)
    open_run(page, finished, int(step))
    page.wait_for_function('document.querySelectorAll(".diagram .active").length')
    assert page.evaluate(LIT) == quick


@pytest.mark.long
def test_changes_of_a_field_are_followed_from_the_tree_and_playback_starts_over(page, finished):
    open_run(page, finished, 1)
    page.get_by_role('tab', name='Memory').click()
    page.locator('.tree summary', has_text='memory').first.click()
    follow = page.get_by_role('button', name='Next change of status')
    follow.press('Enter')
    expect(page.locator('.tree .changed', has_text='status')).to_be_visible()
    expect(follow).to_be_focused()  # in the redrawn tree
    page.get_by_role('button', name='Marks and options').click()
    expect(page.get_by_label('Memory field to follow')).to_have_value('/memory/status')
    expect(page.locator('.jump', has_text='Verdict')).to_contain_text('3')
    expect(page.get_by_text('no model is called')).to_be_visible()
    page.keyboard.press('Escape')
    expect(page.get_by_label('Memory field to follow')).to_be_hidden()  # it gives the focus back first
    page.get_by_role('slider', name='Step').press('Home')
    at(page, 1)
    page.get_by_label('Speed').select_option('64×')
    page.get_by_role('button', name='Play').click()
    at(page, STEPS)
    expect(page.get_by_role('button', name='Play')).to_be_visible()
    page.get_by_role('button', name='Play').click()
    at(page, STEPS)  # plays again from the first step to the last


@pytest.mark.long
def test_an_edge_explains_itself_to_the_mouse(page, finished):
    open_run(page, finished)
    expect(page.locator(BACK)).to_have_class(re.compile('not-taken'))
    page.locator(f'{BACK} .hit').dispatch_event('pointerover', {'bubbles': True, 'pointerType': 'mouse'})
    why = page.get_by_role('dialog', name='Transition from reviewing to analyzing')
    expect(why).to_contain_text(f'At step {STEPS} (done): not checked: an earlier one applied.')
    expect(why).to_contain_text('Taken 2 times up to this step')
    page.locator('.diagram').dispatch_event('pointerleave')
    expect(why).to_be_hidden()
    page.locator(f'{BACK} .hit').dispatch_event('click')
    why.get_by_role('button', name='Previous').click()
    expect(why).to_contain_text(': taken.')  # it stays open, and explains the step that it opened
    expect(page.locator(BACK)).to_have_class(re.compile('taken'))
    expect(why.locator('.guard')).to_have_count(0)
    why.get_by_role('button', name='Close').click()
    expect(why).to_be_hidden()


def test_an_edge_explains_itself_to_the_keyboard(page, finished, axe):
    open_run(page, finished)
    page.locator('.diagram').focus()
    edge = page.locator('[id="e:reviewing>complete"]')
    for _ in range(page.locator('.diagram .edge[id]').count()):
        page.keyboard.press(',')
        if edge.evaluate('edge => edge === document.activeElement'):
            break
    expect(edge).to_be_focused()
    why = page.get_by_role('dialog', name='Transition from reviewing to complete')
    expect(why).to_contain_text('Approved: yes')
    expect(why.locator('.guard-saw')).to_have_text('approved = true')
    expect(why.locator('.guard').nth(1)).to_contain_text('No revisions left: not checked')
    page.keyboard.press('Enter')
    expect(why.get_by_role('button', name='Close')).to_be_focused()
    axe(page)
    why.get_by_role('button', name='Close').focus()
    page.keyboard.press('Escape')
    expect(why).to_be_hidden()
    expect(edge).to_be_focused()
    at(page, STEPS)
    page.keyboard.press(',')
    why = page.locator('.why')
    expect(why).to_be_visible()
    page.get_by_role('tab', name='Agents').focus()
    expect(why).to_be_hidden()


@pytest.mark.long
def test_the_list_of_jumps_is_accessible(open_page, finished, axe):
    page = open_page()
    open_run(page, finished, 13)
    page.get_by_role('button', name='Marks and options').click()
    expect(page.get_by_role('dialog', name='Marks and options')).to_be_visible()
    axe(page, dark=True)
