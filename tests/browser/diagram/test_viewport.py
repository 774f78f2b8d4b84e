"""Where a large diagram is scrolled to: the active states, until a person moves it."""

import re

import pytest
from playwright.sync_api import Page, expect

MIN_LEGIBLE = 9
"""Minimum height in pixels of a line that is still legible."""
NAME_HEIGHT = """state => {
  const [text, panel] = [state.querySelector('text'), state.closest('.diagram')].map(one => one.getBoundingClientRect());
  const within = text.left >= panel.left && text.right <= panel.right && text.top >= panel.top && text.bottom <= panel.bottom;
  return within ? text.height : 0;
}"""  # noqa: E501
FITTED = """() => {
  const panel = document.querySelector('.diagram');
  return panel.dataset.room === `${panel.clientWidth}x${panel.clientHeight}`;
}"""
"""Whether the chart is laid out for its current size, and will not be redrawn."""
COVERED = """() => {
    const map = document.querySelector('.minimap').getBoundingClientRect();
    return [...document.querySelectorAll('.diagram .state > text')].filter((one) => {
        const box = one.getBoundingClientRect();
        return box.left < map.right && map.left < box.right && box.top < map.bottom && map.top < box.bottom;
    }).map((one) => one.textContent);
}"""
"""The names of the states that the minimap covers."""
MIDDLE = """panel => {
  const centre = one => { const box = one.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; };
  const [x, y] = centre(panel), off = one => { const [left, top] = centre(one); return Math.hypot(left - x, top - y); };
  return [...panel.querySelectorAll('.state[id]')].sort((one, other) => off(one) - off(other))[0].id;
}"""  # noqa: E501


@pytest.fixture(scope='module')
def run(server) -> str:
    return server.sample('supervisor', 'Four tasks')


@pytest.fixture
def page(open_page) -> Page:
    """A window too small to show even the folded chart legibly."""
    return open_page(1024, 700)


def open_at(page: Page, run: str, at: int) -> None:
    page.goto(f'{run}?at={at}')
    expect(page.locator('.step-number')).to_have_text(f'Step {at}')
    expect(page.locator('.diagram .state.active')).not_to_have_count(0)
    page.wait_for_function(FITTED)


def view_box(page: Page) -> str:
    return page.locator('.diagram svg').get_attribute('viewBox') or ''


def name_height(page: Page) -> float:
    """Return the height of the active state's name in pixels, or 0 if it is not visible."""
    return page.locator('.diagram .state.active').first.evaluate(NAME_HEIGHT)


def middle_state(page: Page) -> str:
    """Return the state nearest to the middle of the visible part."""
    return page.locator('.diagram').evaluate(MIDDLE)


def expect_view_moved(page: Page, than: str) -> None:
    expect(page.locator('.diagram svg')).not_to_have_attribute('viewBox', than)


def test_active_states_are_visible_and_readable_as_a_person_steps(page, run):
    open_at(page, run, 1)
    for step in range(2, 17):
        page.keyboard.press('ArrowRight')
        expect(page.locator('.step-number')).to_have_text(f'Step {step}')
        page.wait_for_function(
            f'() => ({NAME_HEIGHT})(document.querySelector(".diagram .state.active")) >= {MIN_LEGIBLE}',
            timeout=10_000,
        )


def test_the_view_switches_between_the_whole_chart_and_active_states(page, run):
    open_at(page, run, 4)
    near = view_box(page)
    look = page.get_by_role('button', name='Fit the active states or the whole diagram (0)')
    look.click()
    expect_view_moved(page, near)
    full_view = view_box(page)
    sizes = zip(full_view.split()[2:], near.split()[2:], strict=True)
    assert max(float(all_of_it) / float(part) for all_of_it, part in sizes) > 1.2
    assert name_height(page) < MIN_LEGIBLE + 0.5
    page.keyboard.press('ArrowRight')
    expect(page.locator('.step-number')).to_have_text('Step 5')
    assert name_height(page) < MIN_LEGIBLE + 0.5  # the view still shows the whole chart
    full_view = view_box(page)
    look.click()
    expect_view_moved(page, full_view)
    page.wait_for_function(
        f'() => ({NAME_HEIGHT})(document.querySelector(".diagram .state.active")) >= {MIN_LEGIBLE}',
        timeout=10_000,
    )


def test_a_view_moved_by_hand_stays_until_released(page, run):
    open_at(page, run, 4)
    near = view_box(page)
    page.locator('.diagram').focus()
    page.keyboard.press('Shift+ArrowDown')
    expect_view_moved(page, near)
    looked_at = middle_state(page)
    page.evaluate("window.before = document.querySelector('.diagram svg')")
    page.keyboard.press('End')
    expect(page).to_have_url(re.compile(r'/runs/\w+$'))
    assert looked_at.startswith(middle_state(page))  # the agents of the past step have been collapsed
    page.get_by_role('button', name='Expanded states').click()
    page.get_by_role('dialog', name='Expanded states').get_by_role('button', name='None', exact=True).click()
    page.keyboard.press('Escape')
    page.wait_for_function('!before.isConnected')
    assert looked_at.startswith(middle_state(page))  # now drawn as a folded parent
    moved = view_box(page)
    page.locator('.diagram').focus()
    page.keyboard.press('0')
    expect_view_moved(page, moved)
    assert name_height(page) >= MIN_LEGIBLE


def test_a_focused_edge_scrolls_into_view_and_keeps_the_focus_when_the_chart_is_redrawn(page, run):
    open_at(page, run, 4)
    near = view_box(page)
    page.keyboard.press('.')  # works wherever the focus is
    page.keyboard.press(',')  # wraps from the first edge to the last
    focused = page.locator('.diagram .edge:focus')
    expect(focused).to_have_count(1)
    expect(focused).to_be_in_viewport()
    expect_view_moved(page, near)

    name = focused.get_attribute('aria-label')
    page.evaluate("window.before = document.querySelector('.diagram svg')")
    page.set_viewport_size({'width': 1600, 'height': 1000})
    page.wait_for_function('!before.isConnected')
    expect(focused).to_have_attribute('aria-label', name)


def test_a_minimap_shows_the_visible_part_and_navigates(open_page, run):
    page = open_page(1440, 900)
    open_at(page, run, 4)
    sketch = page.locator('.minimap')
    expect(sketch).to_be_hidden()
    heights = page.locator('.diagram .state > text').evaluate_all(
        'all => all.map(one => parseFloat(one.getAttribute("font-size")) * one.getScreenCTM().a)'
    )
    assert min(heights) >= 11

    page.set_viewport_size({'width': 1024, 'height': 700})
    expect(sketch).to_be_visible()
    page.wait_for_function(FITTED)
    near = view_box(page)
    expect(sketch.locator('.active')).to_have_count(1)
    assert page.evaluate(COVERED) == []
    place = sketch.bounding_box()
    sketch.click(position={'x': place['width'] / 2, 'y': place['height'] - 3})
    expect_view_moved(page, near)


def test_a_view_is_not_adjusted_before_the_minimap_has_a_corner(home):
    script = """async () => {
        const { minimapMethods } = await import('/hemicycle/diagram/minimap.js');
        return minimapMethods.avoidMinimap.call({ ...minimapMethods }, [0, 0, 40, 30], [5, 5, 9, 9]);
    }"""
    assert home.evaluate(script) == [0, 0, 40, 30]


@pytest.mark.long
def test_the_minimap_keeps_its_corner_and_hides_no_active_state(page, server):
    run = server.sample('pipeline')
    open_at(page, run, 3)
    sketch, corners = page.locator('.minimap.on'), set()
    for step in range(4, 11):
        page.keyboard.press('ArrowRight')
        expect(page.locator('.step-number')).to_have_text(f'Step {step}')
        corners.add(sketch.get_attribute('data-corner'))
        active = page.locator('.diagram .state.active > text').all_text_contents()
        assert active and not set(active) & set(page.evaluate(COVERED))
    assert len(corners) == 1
