"""A whole run of a team, to its end: nothing on its page shifts or opens on its own."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.run.patterns.test_review import PATIENCE, wait_while_it_runs
from tests.browser.run.test_stepping import start_paused
from tests.browser.server import Server

RECORDER = """() => {
    const record = (window.still = { shifts: [], changes: [], frames: 0, restyled: 0 });
    new PerformanceObserver((list) => {
        for (const one of list.getEntries())
            if (!one.hadRecentInput && one.value > 0)
                for (const { node, previousRect: from, currentRect: to } of one.sources)
                    // Inside a pane, streaming text moves down as the text above it gets its final form.
                    if (node && !(node.closest ? node : node.parentElement)?.closest(".agent"))
                        record.shifts.push(`${node?.className || node?.parentElement?.className}: ` +
                            `${from.x} ${from.y} -> ${to.x} ${to.y}`);
    }).observe({ type: "layout-shift" });
    new MutationObserver(() => (record.restyled += 1)).observe(
        document.getElementById("nicegui-color-scheme"), { attributes: true });
    const box = (one) => {
        const place = one.getBoundingClientRect();
        return [place.x, place.y, place.width, place.height].map(Math.round).join(" ");
    };
    const all = (selector) => [...document.querySelectorAll(selector)];
    const look = () => ({
        panels: all(".run-head, .run-grid > *, .tabs, .stage, .diagram, .player").map(box).join(" | "),
        minimap: document.querySelector(".minimap").dataset.corner,
        tabs: all('[role="tab"][aria-selected="true"]').map((tab) => tab.textContent).join(" | "),
        selection: String(getSelection()),
        focus: document.activeElement.getAttribute("aria-label") ?? document.activeElement.className,
        scroll: window.scrollY,
    });
    let before = look();
    (function frame() {
        const now = look();
        for (const key in now)
            if (now[key] !== before[key]) record.changes.push(`${key}: ${before[key]} -> ${now[key]}`);
        before = now;
        record.frames += 1;
        requestAnimationFrame(frame);
    })();
}"""
DRAWN = 'new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))'
PLACES = """() => ['.run-grid', '.run-controls > :last-child'].map((one) => {
    const { x, y } = document.querySelector(one).getBoundingClientRect();
    return `${one}: ${Math.round(x)}, ${Math.round(y)}`;
})"""
TEXT = """[...document.querySelectorAll(".stage .talk .block:not(.streaming) .body")]
    .find((one) => one.checkVisibility() && one.textContent.length > 20)"""
SELECT = f"""() => {{
    const text = {TEXT};
    text.closest(".panel-body").focus();
    getSelection().selectAllChildren(text);
    return String(getSelection());
}}"""


@pytest.fixture(scope='module')
def paced(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server whose model writes 60 pieces of text a second."""
    server = Server(tmp_path_factory.mktemp('paced'), pace=60)
    server.start()
    yield server
    server.stop()


def follow(page: Page, url: str) -> Page:
    """Open a run, and wait for its first text."""
    page.goto(url)
    page.wait_for_function(f'() => {TEXT}', timeout=PATIENCE)
    return page


def select(page: Page) -> str:
    """Select some text, and wait until the server knows; retry if the text was just replaced."""
    while True:
        selected = str(page.evaluate(SELECT))
        expect(page.locator('.stage.read')).to_be_visible()
        if page.evaluate('String(getSelection())') == selected:
            return selected


def test_nothing_shifts_during_a_whole_run(page, paced):
    follow(page, paced.sample('supervisor', 'Side by side', ended=False)).evaluate(RECORDER)
    wait_while_it_runs(page, '.run-head .pill.done')
    page.evaluate(DRAWN)
    changes = page.evaluate('still')
    assert changes['frames'] > 20  # on a busy machine, few are drawn
    assert changes['changes'] == []
    assert changes['restyled'] == 0  # setting the colour scheme again would restyle the whole page
    assert changes['shifts'] == [], '\n'.join(changes['shifts'])


@pytest.mark.long
def test_selected_text_of_one_worker_stays_while_the_next_one_works(page, paced):
    follow(page, paced.sample('supervisor', 'Four tasks', ended=False))
    selected = select(page)
    pane = page.locator('.agent:visible')
    first, turn = (
        pane.locator('.agent-name').text_content(),
        page.get_by_role('button', name=re.compile('^Show (?!the)')),
    )
    expect(turn).to_be_visible(timeout=PATIENCE)
    assert page.evaluate('String(getSelection())') == selected
    expect(pane.locator('.agent-name')).to_have_text(first)
    turn.click()
    expect(pane.locator('.agent-name')).not_to_have_text(first)
    expect(pane).not_to_contain_text(selected)


@pytest.mark.long
def test_a_pane_being_read_keeps_its_size_as_other_agents_start(page, paced):
    follow(page, paced.sample('time-bounded', 'other currencies', ended=False))
    select(page)
    pane = page.locator('.agent:visible')
    before = pane.first.bounding_box()
    turn = page.get_by_role('button', name=re.compile('^Show Supervisor'))
    expect(turn.or_(pane.nth(1))).to_be_visible(timeout=PATIENCE)
    assert pane.first.bounding_box() == before
    turn.click()
    expect(pane.first).to_contain_text('Supervisor')


@pytest.mark.parametrize('width', [1440, 390])
def test_drafts_and_the_end_of_a_run_shift_nothing(open_page, server, width):
    page = open_page(width=width)
    start_paused(page, server, 'pipeline', task='Tea or coffee?')
    page.keyboard.press('c')  # continue
    expect(page.get_by_role('button', name='Cancel', exact=True)).to_be_visible()
    before = page.evaluate(PLACES)
    wait_while_it_runs(page, '.run-head .pill.done')
    expect(page.locator('.run-progress')).to_contain_text('Revision')
    expect(page.locator('.strip-actions')).to_be_hidden()  # no buttons that text could push
    expect(page.get_by_role('button', name='Cancel', exact=True)).to_be_hidden()
    assert page.evaluate(PLACES) == before
