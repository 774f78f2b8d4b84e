"""The run page in low windows, such as a laptop's at 200 % zoom: it scrolls, and agents have room."""

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OVERFLOW

SMALL = ((720, 450), (512, 384))
"""Windows of 1440 x 900 and 1024 x 768 at 200 %."""
SCROLLED = """() => {
    const last = [...document.querySelectorAll(".agent .block")].at(-1);
    last?.scrollIntoView({ block: "nearest" });
    return last && last.getBoundingClientRect().top < innerHeight;
}"""
"""Scrolls and checks in one call, since panes may be redrawn in between."""


@pytest.fixture(scope='module')
def run(server) -> str:
    return server.sample('supervisor', 'Four tasks')


def test_at_200_percent_the_page_scrolls_and_panes_keep_their_height(page, run):
    page.goto(f'{run}?at=12')
    for width, height in SMALL:
        page.set_viewport_size({'width': width, 'height': height})
        pane = page.locator('.panel.middle')
        expect(pane).to_be_visible()
        assert pane.bounding_box()['height'] >= 400
        assert page.evaluate(OVERFLOW) <= 0
        assert page.locator('.player').bounding_box()['height'] <= 84
        expect(page.get_by_role('slider', name='Step')).to_be_in_viewport()
        page.wait_for_function(SCROLLED)
        expect(page.locator('.agent .block').last).to_be_in_viewport()


def test_the_header_and_the_timeline_leave_room_for_agents(page, server):
    page.goto(server.launch('time-bounded', primary_goal='Do two things', options={'paused': True}))
    expect(page.get_by_role('button', name='Replan')).to_be_visible()
    for (width, height), least in zip(SMALL, (228, 162), strict=True):
        page.set_viewport_size({'width': width, 'height': height})
        assert page.evaluate(OVERFLOW) <= 0
        tabs, player = (page.locator(selector).bounding_box() for selector in ('.middle > .tabs', '.player'))
        assert player['y'] - tabs['y'] - tabs['height'] >= least
        step = page.locator('.run-switch').get_by_role('button', name='Step')
        assert step.bounding_box()['x'] + step.bounding_box()['width'] <= width
        expect(page.locator('.no-agents')).to_be_in_viewport(ratio=0.3)


def test_finished_tasks_take_one_line_and_leave_the_reply_in_view(open_page, run):
    page = open_page(512, 384)
    page.goto(f'{run}?at=12')
    card = page.locator('.task-card').first
    expect(card.get_by_text('Find out what a cargo bike')).to_be_visible()
    assert card.bounding_box()['height'] <= 34
    expect(page.locator('.agent .block').last).to_be_in_viewport()


def test_a_form_opens_at_its_top_with_its_first_field_ready(open_page, server):
    page = open_page(720, 450)
    page.goto(f'{server.url}/launch/pipeline')
    expect(page.get_by_label('Task', exact=True)).to_be_focused()
    assert page.evaluate('window.scrollY') == 0


def test_a_paused_run_shows_its_time_next_to_the_step_buttons(open_page, server):
    page = open_page(1024, 768)
    page.goto(server.launch('pipeline', task='Tea or coffee?', options={'paused': True}))
    expect(page.get_by_role('button', name='Step over')).to_be_visible()
    facts = page.locator('.run-facts')
    assert facts.evaluate('(one) => one.scrollWidth <= one.clientWidth')


SHOW_TEXT = """(pane, [part, text]) => {
    const note = pane.querySelector(part);
    note.classList.replace("hidden", "shown");
    note.textContent = text;
}"""
LATE_TEXTS = {
    'silent': ('.agent-facts > .quiet', 'silent 12:34'),
    'retried': ('.agent-facts > .wait:not(.quiet)', 'attempt 12'),
    'in trouble': ('.agent-problem', 'Retrying in 45 s (attempt 2): the provider has broken off. ' * 4),
}
"""What a pane shows for an agent that has been silent for 15 seconds or whose call failed."""


def test_names_are_whole_and_late_agents_are_marked_in_narrow_panes(open_page, server):
    page = open_page(1280, 800)
    run = server.launch('parallel-review', task='Add two', coders='4', options={'paused': True})
    server.ask(f'/runs/{run.rpartition("/")[2]}/step', {'how': 'in'})
    page.goto(run)
    panes, names = page.locator('.agent:visible'), page.locator('.agent:visible .agent-name')
    expect(panes).to_have_count(4)
    expect(names).to_have_count(4)
    for name in names.all():
        who, rest = (name.locator(f'.agent-{part}').bounding_box() for part in ('who', 'rest'))
        assert who['width'] + 1 >= name.locator('.agent-stem').evaluate('(one) => one.scrollWidth')
        assert rest['y'] > who['y'], 'shown whole or not at all'
    for pane, (how, late) in zip(panes.all(), LATE_TEXTS.items(), strict=False):
        pane.evaluate(SHOW_TEXT, late)
        facts, talk = pane.locator('.agent-facts'), pane.locator('.panel-body')
        assert facts.bounding_box()['width'] < 320, how
        assert facts.evaluate('(one) => one.scrollWidth <= one.clientWidth'), how
        assert talk.bounding_box()['height'] >= 48, how


def test_the_step_number_takes_one_line_that_the_slider_does_not_cover(open_page, run):
    page = open_page(480, 384)
    page.goto(f'{run}?face=watch')  # opens at its last step
    count = page.locator('.player-count')
    expect(count).to_contain_text('32 / 32')
    assert count.bounding_box()['height'] < 20
    expect(page.get_by_role('heading', name='Result', exact=True)).to_be_in_viewport(ratio=1)
    assert page.evaluate(OVERFLOW) <= 0
    page.set_viewport_size({'width': 720, 'height': 450})
    expect(page.locator('.thumb')).to_be_visible()
    thumb, count_box = (page.locator(selector).bounding_box() for selector in ('.thumb', '.player-count'))
    assert count_box['x'] - thumb['x'] - thumb['width'] >= 6


def test_in_a_low_window_the_plan_is_collapsed(open_page, run):
    page = open_page(1024, 768)
    page.goto(f'{run}?at=12')
    plan = page.get_by_role('region', name='Plan')
    expect(plan.get_by_role('listitem').first).to_be_hidden()
    expect(plan).to_contain_text('1 of 4')
    assert page.locator('.panel.diagram-panel .panel-body').bounding_box()['height'] >= 150
    plan.get_by_text('Plan', exact=True).click()
    expect(plan.get_by_role('listitem').first).to_be_visible()
    page.reload()
    expect(plan.get_by_role('listitem').first).to_be_visible()


def test_the_inspectors_tab_is_in_the_address(open_page, run):
    page = open_page()
    page.goto(f'{run}?at=12')
    page.get_by_role('tab', name='Memory').click()
    expect(page).to_have_url(f'{run}?at=12&inspect=memory')
    page.reload()
    expect(page.get_by_role('tab', name='Memory')).to_have_attribute('aria-selected', 'true')
    expect(page.locator('.tree')).to_be_visible()
    page.get_by_role('tab', name='Step').click()
    expect(page).to_have_url(f'{run}?at=12')


def test_the_header_of_a_running_run_is_never_cut_off(open_page, new_server):
    new_server.pace = 20
    new_server.start()
    page = open_page(1024, 768)
    page.goto(new_server.sample('time-bounded', ended=False))
    tokens = page.locator('.spent > .num')
    expect(tokens).to_contain_text('call', timeout=30_000)  # once the first call has ended
    assert tokens.evaluate('(one) => one.scrollWidth <= one.clientWidth')
    facts, controls = page.locator('.run-facts'), page.locator('.run-controls')
    assert facts.evaluate('(one) => one.scrollWidth <= one.clientWidth')
    assert facts.bounding_box()['x'] + facts.bounding_box()['width'] <= controls.bounding_box()['x']
    pause = page.get_by_role('group', name='Pause').get_by_role('button').first
    assert pause.evaluate('(one) => getComputedStyle(one).borderTopRightRadius') == '8px'
