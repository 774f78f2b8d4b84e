"""Agents as cards: opened and closed by keyboard and by a click; and the way a failure took."""

import pytest
from playwright.sync_api import Page, expect

from engine import Catalog
from ui.formatting.diagram.folding import default_folds
from ui.formatting.diagram.rendering import Layout, render_svg

LIGHT = """async ([svg, taken]) => {
  const component = (await import('/hemicycle/diagram/diagram.js')).default.methods;
  const box = document.body.appendChild(document.createElement('div'));
  box.className = 'diagram';
  const chart = { ...component, svg, $refs: { box } };
  chart.draw();
  chart.updateHighlights({ taken: [taken] });
  const edges = [...box.querySelectorAll('.gutter > .edge')];
  const stroke = (edge) => getComputedStyle(edge.querySelector('path')).stroke;
  const result = { lit: edges.at(-1).id, red: stroke(edges.at(-1)), others: edges.slice(0, -1).map(stroke) };
  box.remove();
  return result;
}"""


@pytest.fixture(scope='module')
def run(server) -> str:
    return server.sample('pipeline')


def test_an_agent_is_opened_and_closed_by_keyboard_and_by_a_click(page: Page, run):
    page.goto(run)
    agent = page.locator('.diagram [id="s:analyzing"]')
    inside = page.locator('.diagram [id="s:analyzing.thinking"]')
    expect(agent.locator('.card-state')).to_have_text('done')
    expect(inside).to_have_count(0)
    agent.focus()
    page.keyboard.press('Enter')
    expect(inside).to_be_visible()
    expect(agent).to_have_attribute('aria-expanded', 'true')
    expect(agent).to_be_focused()
    page.keyboard.press('Enter')
    expect(inside).to_have_count(0)
    expect(agent).to_be_focused()
    agent.click()
    expect(inside).to_be_visible()


def test_the_way_a_failure_took_lights_up_above_the_others(home: Page):
    shape = Catalog.load().draw('pipeline')
    drawn = render_svg(shape, default_folds(shape), Layout())
    seen = home.evaluate(LIGHT, [drawn, 'researching>failed'])
    assert seen['lit'] == 'e:researching>failed'
    assert len(seen['others']) == 3
    assert seen['red'] not in seen['others']
