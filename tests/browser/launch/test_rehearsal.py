"""A rehearsal in a real browser: its marks on the diagram, and a way played as a dot."""

import pytest
from playwright.sync_api import expect


@pytest.mark.parametrize(('motion', 'dots'), [('no-preference', 1), ('reduce', 0)])
def test_a_way_is_played_on_the_marked_diagram(open_page, server, axe, motion, dots):
    page = open_page(390 if dots else 1440)
    page.emulate_media(reduced_motion=motion)
    page.goto(f'{server.url}/launch/pipeline')
    expect(page.get_by_text('3 to 468 calls.')).to_be_visible()
    page.get_by_role('button', name='Rehearse').click()
    dialog = page.get_by_role('dialog', name='Rehearsal of Pipeline')
    badges = dialog.locator('.overlay-badge-rehearsal')
    expect(badges).to_have_count(3)
    assert badges.locator('text').all_text_contents() == ['52', '208', '208']
    if not dots:
        axe(page, dark=True, within='.dialog.rehearsal')
    dialog.get_by_role('tab', name='States').click()
    page.evaluate("""() => {
        window.dots = 0;
        new MutationObserver((records) => {
            for (const record of records)
                window.dots += [...record.addedNodes].filter((node) => node.matches?.('.traveller')).length;
        }).observe(document.querySelector('.rehearsal-diagram'), { childList: true, subtree: true });
    }""")
    dialog.get_by_role('button', name='Play the way to complete').click()
    expect(dialog.locator('.state.active')).to_have_attribute('id', 's:complete')
    assert bool(page.evaluate('window.dots')) == bool(dots)
    page.keyboard.press('Escape')
    expect(dialog).to_be_hidden()
    expect(page.get_by_role('button', name='Rehearse')).to_be_focused()
