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


def test_the_palette_is_opened_searched_and_left_by_keyboard(page, server, axe):
    run = server.sample('pipeline', 'Event sourcing')
    page.goto(f'{server.url}/tools')
    search = page.get_by_label('Search tools')
    search.focus()
    palette = page.get_by_role('dialog', name='Search and commands')
    page.keyboard.press('Control+k')
    field = palette.get_by_role('combobox')
    expect(field).to_be_focused()
    options = palette.get_by_role('option')
    expect(options.first).to_have_attribute('aria-selected', 'true')
    axe(page, within='#palette')
    axe(page, dark=True, within='#palette')
    page.keyboard.press('ArrowDown')
    expect(options.nth(1)).to_have_attribute('aria-selected', 'true')
    expect(field).to_have_attribute('aria-activedescendant', 'palette-1')
    page.keyboard.press('Escape')
    expect(palette).to_be_hidden()
    expect(search).to_be_focused()

    page.keyboard.press('Control+k')
    page.keyboard.type('event sour')
    page.keyboard.press('Enter')  # before the entries are there
    page.wait_for_url(run)
    expect(page.get_by_role('heading', level=1)).to_be_visible()
    page.keyboard.press('Control+k')
    expect(options.first).to_be_visible()
    page.keyboard.type('dbg')
    expect(options.filter(has_text='Debugger')).to_be_visible()
    page.keyboard.press('Control+k')
    expect(palette).to_be_hidden()


def test_the_palette_does_what_a_button_of_the_page_does(page, server):
    page.goto(server.url)
    expect(page.get_by_role('button', name='Connect a model')).to_be_visible()
    page.keyboard.press('Control+k')
    palette = page.get_by_role('dialog', name='Search and commands')
    expect(palette.get_by_role('option').first).to_be_visible()
    expect(palette.get_by_role('option').filter(has_text='Run sample')).to_have_count(0)
    page.keyboard.type('connect')
    page.keyboard.press('Enter')
    expect(palette).to_be_hidden()
    expect(page.get_by_role('dialog').filter(has_text='Connect')).to_be_visible()
