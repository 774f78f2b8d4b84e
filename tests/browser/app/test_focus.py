"""Where the focus goes when its element disappears: to a replacement or a container, never to `body`."""

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
    """A run's controls without a run: buttons that can be hidden."""
    home.evaluate(CONTROLS)
    yield home.locator('#controls')
    home.evaluate('document.getElementById("controls").remove()')


def hide(controls, *names: str) -> None:
    controls.evaluate(f'() => ({HIDE})({list(names)})')


def button(controls, name: str):
    return controls.get_by_role('button', name=name)


def test_a_step_button_regains_the_focus_after_its_step(controls):
    hide(controls, 'Pause', 'Retry')
    button(controls, 'Step over').focus()
    hide(controls, 'Continue', 'Step over', 'Retry')
    expect(button(controls, 'Pause')).to_be_focused()
    hide(controls, 'Pause', 'Retry')
    expect(button(controls, 'Step over')).to_be_focused()


def test_the_focus_moves_along_the_toolbar_when_a_run_ends(controls):
    hide(controls, 'Continue', 'Step over', 'Retry')
    button(controls, 'Cancel').focus()
    hide(controls, 'Continue', 'Step over', 'Cancel', 'Pause')
    expect(button(controls, 'Retry')).to_be_focused()


def test_a_disabled_button_passes_the_focus_to_its_section(controls):
    button(controls, 'Next').focus()
    button(controls, 'Next').evaluate('one => one.disabled = true')
    expect(controls).to_be_focused()


def test_the_focus_is_not_moved_after_a_click_elsewhere(controls):
    button(controls, 'Fork').focus()
    controls.get_by_text('Some text').click()
    hide(controls, 'Fork')
    controls.page.wait_for_function('new Promise((done) => setTimeout(() => done(true), 250))')
    assert not controls.evaluate('one => one.matches(":focus-within")')
