"""The focus when what has it goes away: to what comes in its place or is around it; never to `body`."""

import pytest
from playwright.sync_api import Page, expect

CONTROLS = """() => {
    const section = document.createElement('section');
    section.id = 'controls';
    section.innerHTML = `<div role="toolbar"><button>Retry</button><button>Cancel</button>
        <div class="debug-actions going"><button class="debug-action">Pause</button></div>
        <div class="debug-actions held"><button class="debug-action">Continue</button>
        <button class="debug-action">Step over</button></div><button>Fork</button></div>
        <p>Some text</p><div class="pager"><button>Next</button></div>`;
    document.querySelector('main').prepend(section);
}"""
HIDE = """(names) => {
    for (const one of document.querySelectorAll('#controls button'))
        one.hidden = names.includes(one.textContent);
}"""


@pytest.fixture
def controls(home: Page):
    """The controls of a run, without a run: buttons that come and go."""
    home.evaluate(CONTROLS)
    yield home.locator('#controls')
    home.evaluate('document.getElementById("controls").remove()')


def hide(controls, *names: str) -> None:
    controls.evaluate(f'() => ({HIDE})({list(names)})')


def named(controls, name: str):
    return controls.get_by_role('button', name=name)


def test_a_step_button_has_it_again_after_its_step(controls):
    hide(controls, 'Pause', 'Retry')
    named(controls, 'Step over').focus()
    hide(controls, 'Continue', 'Step over', 'Retry')
    expect(named(controls, 'Pause')).to_be_focused()
    hide(controls, 'Pause', 'Retry')
    expect(named(controls, 'Step over')).to_be_focused()


def test_a_run_that_ends_moves_it_along_the_toolbar(controls):
    hide(controls, 'Continue', 'Step over', 'Retry')
    named(controls, 'Cancel').focus()
    hide(controls, 'Continue', 'Step over', 'Cancel', 'Pause')
    expect(named(controls, 'Retry')).to_be_focused()


def test_a_button_that_is_disabled_gives_it_to_its_section(controls):
    named(controls, 'Next').focus()
    named(controls, 'Next').evaluate('one => one.disabled = true')
    expect(controls).to_be_focused()


def test_who_clicks_elsewhere_has_left(controls):
    named(controls, 'Fork').focus()
    controls.get_by_text('Some text').click()
    hide(controls, 'Fork')
    controls.page.wait_for_function('new Promise((done) => setTimeout(() => done(true), 250))')
    assert not controls.evaluate('one => one.matches(":focus-within")')
