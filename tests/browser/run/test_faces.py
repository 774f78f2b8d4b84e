"""The two faces of the run page: Watch tells the story, Debug has everything; and the past as a mode."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import OVERFLOW, findings, recolour
from tests.browser.run.test_run import STEPS, TASK, status
from tests.browser.server import Server

IN_SIGHT = """(() => {
    const shown = (one) => {
        const { width, height, bottom, right, top, left } = one.getBoundingClientRect();
        return one.checkVisibility({ opacityProperty: true, visibilityProperty: true })
            && !one.closest(".diagram svg") && width > 1 && height > 1
            && bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
    };
    const holdsText = (one) => [...one.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
    const texts = all("body :not(.q-icon)").filter(holdsText).map((one) => getComputedStyle(one));
    return {
        controls: all("a[href], button, input, select, textarea, summary, [role=slider], [role=button]")
            .filter((one) => !one.closest(".player"))
            .map((one) => one.ariaLabel || one.textContent.trim() || one.className),
        sizes: [...new Set(texts.map((style) => style.fontSize))],
        weights: [...new Set(texts.map((style) => style.fontWeight))],
    };
})()"""


@pytest.fixture(scope='module')
def finished(server: Server) -> str:
    return server.launch('pipeline', task=TASK, ended=True)


def test_watch_of_an_ended_run_has_few_controls_sizes_and_weights(page, finished):
    page.goto(f'{finished}?face=watch')
    expect(page.locator('.story .decision')).to_have_count(3)
    expect(page.locator('.inspector')).to_be_hidden()
    expect(page.locator('.diagram .state.active')).to_have_attribute('id', 's:complete')
    page.mouse.move(700, 60)
    seen = page.evaluate(IN_SIGHT)
    # Of 24 on the whole page, the player may have eight.
    assert len(seen['controls']) <= 16, '; '.join(seen['controls'])
    assert len(seen['sizes']) <= 5, seen['sizes']
    assert len(seen['weights']) <= 3, seen['weights']


@pytest.mark.parametrize('face', ['watch', 'debug'])
def test_axe_finds_nothing_in_either_face(page, finished, face):
    page.goto(f'{finished}?face={face}')
    expect(page.locator('.mark').first).to_be_attached()
    for scheme in ('light', 'dark'):
        recolour(page, scheme)
        for width in (1440, 768, 390):
            page.set_viewport_size({'width': width, 'height': 844})
            assert page.evaluate(OVERFLOW) <= 0, width
            assert findings(page) == [], (scheme, width)
    head = page.locator('.run-head').bounding_box()
    assert head['height'] <= 120


def test_a_key_turns_to_the_other_face_which_is_kept(page, finished):
    page.goto(f'{finished}?face=watch')
    expect(page.locator('.story .decision')).to_have_count(3)
    page.keyboard.press('d')
    expect(page.locator('.inspector')).to_be_visible()
    expect(page.locator('.story .decision').first).to_be_hidden()
    expect(page.get_by_role('region', name='Result')).to_be_hidden()
    page.reload()
    expect(page.locator('.run-grid')).to_have_attribute('data-face', 'debug')
    page.get_by_role('button', name='Watch').click()
    expect(page.locator('.inspector')).to_be_hidden()


def test_the_past_is_a_mode_with_one_way_back(page, finished):
    page.goto(f'{finished}?face=watch')
    head = page.locator('.run-head')
    page.locator('.story .decision', has_text='sent back · 14').click()
    expect(head).to_have_class(re.compile(r'\bpast\b'))
    expect(head).to_contain_text(f'Step 14 of {STEPS}')
    expect(head).to_contain_text('5,655 tokens')
    expect(head.get_by_role('button', name='Fork from 14')).to_be_visible()
    status(page, 'Running')
    head.get_by_role('button', name='Back to the end').click()
    expect(head).not_to_have_class(re.compile(r'\bpast\b'))
    status(page, 'Done')


def test_a_jump_to_a_verdict_opens_the_agent_that_gave_it(page, finished):
    page.goto(finished)
    expect(page.locator('.mark').first).to_be_attached()
    page.keyboard.press('Home')
    expect(page.locator('.run-step')).to_have_text(f'Step 1 of {STEPS}')
    for step in (14, 22):
        page.keyboard.press('v')
        expect(page.locator('.run-step')).to_have_text(f'Step {step} of {STEPS}')
        expect(page.get_by_role('region', name='Reviewer')).to_be_visible()
        expect(page.get_by_role('region', name='Analyzer')).to_be_hidden()


def test_messages_are_those_of_the_moment(page, finished):
    page.goto(f'{finished}/messages?at=14')
    total = page.locator('.messages-filters [role=status]')
    expect(total).to_have_text(re.compile(r'^(\d+) of \1$'))
    then = int(total.inner_text().split()[0])
    page.keyboard.press('l')
    expect(total).not_to_have_text(f'{then} of {then}')
    assert int(total.inner_text().split()[0]) > then


def test_a_live_run_tells_who_works_and_then_what_came_out(page, server):
    url = server.launch('pipeline', task=TASK, options={'paused': True})
    page.goto(f'{url}?face=watch')
    status(page, 'Paused')
    expect(page.locator('.story-item')).to_contain_text('Researcher')
    page.keyboard.press('c')  # continue
    status(page, 'Done')
    expect(page.locator('.story-item.outcome.done')).to_contain_text('Done: Decision')
