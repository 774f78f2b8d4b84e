"""Home in a real browser: the first minute, the desk, the list of runs, narrow windows."""

import re

import pytest
from playwright.sync_api import Page, expect

PIPELINE = 'Run sample of Pipeline'
FITTED = """() => {
  const panel = document.querySelector('.first-run .diagram');
  return panel?.dataset.room === `${panel?.clientWidth}x${panel?.clientHeight}`;
}"""
"""Whether the chart is laid out for its current size, and will not be redrawn."""


HEIGHTS = 'all => all.map((one) => one.getBoundingClientRect().height)'
BOXES = 'all => all.map((one) => one.getBoundingClientRect().toJSON())'


def rows(page: Page):
    return page.locator('.run-list .run-link')


def test_a_new_user_sees_an_animated_sample_and_runs_it_and_others(page, new_server):
    new_server.start()
    page.goto(new_server.url)
    expect(page.get_by_text('No runs yet.')).to_be_visible()
    results = page.locator('.result-small')
    element = page.get_by_role('region', name='See it work')
    expect(element.locator('.diagram .state.active')).to_have_count(1)
    for width, height in ((1024, 768), (390, 844), (1440, 900)):
        page.set_viewport_size({'width': width, 'height': height})
        page.wait_for_function(FITTED)
        box = element.locator('.diagram').bounding_box()
        for drawn in element.locator('.diagram .state').evaluate_all(BOXES):
            assert box['x'] - 2 <= drawn['left'] and drawn['right'] <= box['x'] + box['width'] + 2
            assert box['y'] - 2 <= drawn['top'] and drawn['bottom'] <= box['y'] + box['height'] + 2
    element.get_by_role('button', name='Run this sample').click()
    page.wait_for_url(re.compile(r'/runs/\w+'))
    path = page.url.removeprefix(new_server.url)
    page.goto(new_server.url)
    expect(results).to_have_count(1)  # appears without a reload
    expect(results.first.get_by_role('link')).to_have_attribute('href', path)
    expect(results.first).to_contain_text('Pipeline · simulated')
    expect(results.first.locator('.pill')).to_have_text('Done')
    page.get_by_role('button', name=PIPELINE).dblclick()  # starts only one
    page.wait_for_url(re.compile(r'/runs/\w+'))
    page.goto(new_server.url)
    expect(results).to_have_count(2)
    results.last.get_by_role('link').focus()
    page.keyboard.press('Enter')
    page.wait_for_url(f'**{path}')


def test_titles_have_room_and_patterns_are_grouped_and_a_few_keys_away(page, server):
    server.sample('pipeline')
    page.goto(server.url)
    families = page.locator('h3.family')
    expect(families).to_have_text(['Sequential', 'Parallel', 'Single agent with tools', 'More'])
    expect(page.locator('.card.pattern h4').first).to_have_text('Pipeline')
    expect(page.locator('.card.pattern .btn.primary')).to_have_count(1)
    expect(page.get_by_role('img', name='Pipeline: pending, then researching')).to_be_visible()
    tops = (
        page.locator('.cards')
        .nth(1)
        .locator('h4')
        .evaluate_all('all => all.map((one) => Math.round(one.getBoundingClientRect().top))')
    )
    # The first row, however tall the thumbnails above them are; charts that other tests saved come after.
    assert len(tops) >= 3
    assert len(set(tops[:3])) == 1

    title = page.locator('.result-small-title').first
    for width in (390, 1024, 1280):
        page.set_viewport_size({'width': width, 'height': 768})
        expect(title).to_be_visible()
        assert title.evaluate('(one) => one.parentElement.clientWidth') >= 200, width

    for key in ('Tab', 'Tab', 'Enter'):
        page.keyboard.press(key)
    page.keyboard.type('Find the bug')
    expect(page.get_by_role('status').filter(has_text='because the task says')).to_contain_text('Debugger')
    page.keyboard.press('Enter')
    page.wait_for_url('**/launch/debugger?task=Find+the+bug')
    expect(page.locator('.form textarea').first).to_have_value('Find the bug')


REDRAWN = """async ([before, after]) => {
    const place = document.createElement('div'), turn = () => new Promise((done) => setTimeout(done));
    place.dataset.redrawn = '';
    const one = (text) => {
        const [name, ask] = text.split('@');
        return `<button data-ask="${ask ?? ''}"><i>add</i><b>${name}</b></button>`;
    };
    const draw = (list) => { place.innerHTML = list.map(one).join(''); };
    document.body.append(place);
    draw(before);
    place.lastElementChild.focus();
    place.innerHTML = '';
    await turn();
    draw(after);
    await turn();
    const here = [...place.children].indexOf(document.activeElement);
    place.remove();
    return here;
}"""


def test_a_redrawn_part_keeps_the_focus(home):
    three = ['Drain', 'Open', 'Drain']
    assert home.evaluate(REDRAWN, [three, [*three, 'Drain']]) == 2
    assert home.evaluate(REDRAWN, [three, ['Open', 'Drain']]) == 1
    assert home.evaluate(REDRAWN, [three, ['Open']]) == -1
    questions = ['Allow@first', 'Allow@second']  # another Enter would answer a question nobody has read
    assert home.evaluate(REDRAWN, [questions, ['Allow@first', 'Allow@third']]) == -1


def test_the_list_keeps_the_focus_and_has_search_and_filters_in_the_address(page, server):
    path = server.sample('pipeline').removeprefix(server.url)
    page.goto(f'{server.url}/runs')
    for width in (390, 1024, 1280):
        page.set_viewport_size({'width': width, 'height': 768})
        expect(rows(page).first).to_be_visible()
        assert max(page.locator('.run').evaluate_all(HEIGHTS)) <= 52, width
    page.locator(f'a[href="{path}"]').focus()
    server.sample('pipeline')
    expect(rows(page).first).not_to_have_attribute('href', path)  # the new run is above
    assert page.evaluate('document.activeElement.getAttribute("href")') == path

    page.get_by_label('Search runs').fill('no such words')
    expect(page.get_by_text('No runs match.')).to_be_visible()
    expect(page).to_have_url(re.compile(r'text=no\+such\+words'))
    page.reload()
    expect(page.get_by_label('Search runs')).to_have_value('no such words')
    page.get_by_role('button', name='Clear filters').click()
    expect(page.get_by_label('Search runs')).to_have_value('')
    expect(page.locator(f'a[href="{path}"]')).to_be_visible()
    page.get_by_label('Status', exact=True).select_option('Cancelled')
    expect(page.get_by_text('No runs match.')).to_be_visible()
    expect(page).to_have_url(f'{server.url}/runs?status=cancelled')
    page.get_by_label('Status', exact=True).select_option('Any status')
    page.get_by_label('Tag').select_option('sample')
    expect(page).to_have_url(f'{server.url}/runs?tag=sample')
    expect(page.locator(f'a[href="{path}"]')).to_be_visible()


@pytest.mark.long
def test_a_run_is_edited_and_deleted_from_its_menu_by_keyboard(page, new_server, axe):
    new_server.start()
    new_server.sample('pipeline')
    page.goto(f'{new_server.url}/runs')
    expect(page.locator('.run .pill')).to_have_text('Done')
    opener = page.locator('.run-menu')
    opener.focus()
    page.keyboard.press('Enter')
    expect(page.get_by_role('menu')).to_be_focused()
    axe(page, dark=True, within='[role=menu]')
    page.keyboard.press('ArrowDown')
    expect(page.get_by_role('menuitem').first).to_be_focused()
    page.keyboard.press('End')
    expect(page.get_by_role('menuitem').last).to_be_focused()
    page.keyboard.press('Escape')
    expect(page.get_by_role('menu')).to_be_hidden()
    expect(opener).to_be_focused()

    opener.click()
    page.get_by_role('menuitem', name='Edit details').click()
    dialog = page.get_by_role('dialog')
    expect(dialog.get_by_label('Title')).to_be_focused()
    for _ in range(8):  # after the last control come the browser's toolbar and then the page
        page.keyboard.press('Tab')
    page.keyboard.press('Escape')
    expect(opener).to_be_focused()
    page.keyboard.press('Enter')
    page.get_by_role('menuitem', name='Edit details').click()
    dialog.get_by_label('Title').fill('The <b>first</b> "run"')
    dialog.get_by_label('Tags').fill('weekly, weekly, two words')
    dialog.get_by_role('button', name='Save').click()
    expect(page.locator('.run-title')).to_have_text('The <b>first</b> "run"')
    expect(page.locator('.run .tag')).to_have_text(['weekly', 'two words'])
    expect(dialog).to_be_hidden()
    opener.click()
    page.get_by_role('menuitem', name='Delete run').click()
    expect(page.get_by_text('No runs yet.')).to_be_visible()
