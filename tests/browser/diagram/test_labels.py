"""Labels of edges: no line runs through one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from engine import Catalog
from ui.web.components.diagram.fitting import COLUMN, fit

CROSSED = """async ([svg, edges]) => {
  const component = (await import('/hemicycle/diagram/diagram.js')).default.methods;
  const box = document.body.appendChild(document.createElement('div'));
  box.className = 'diagram';
  const chart = { ...component, svg, highlights: { taken: edges }, $refs: { box } };
  chart.draw();
  const lines = [...box.querySelectorAll('.edge path')], labels = [...box.querySelectorAll('.edge text')];
  const within = ({ x, y, width, height }, at) =>
    at.x > x && at.x < x + width && at.y > y + 2 && at.y < y + height - 2;
  const crosses = (label, line) => Array.from({ length: Math.ceil(line.getTotalLength()) }).some(
    (_, at) => within(label.getBBox(), line.getPointAtLength(at)));
  const crossed = labels.filter((label) => lines.some((line) => crosses(label, line)));
  box.remove();
  return [labels.length, crossed.map((label) => label.textContent)];
}"""


@pytest.mark.parametrize('pattern', ['race', 'vote'])
def test_no_line_runs_through_the_label_of_an_edge_that_was_taken(home, pattern):
    shape = Catalog.load().draw(pattern)
    with ThreadPoolExecutor(1) as elsewhere:  # Playwright's loop runs in this thread
        drawn, _ = elsewhere.submit(asyncio.run, fit(shape, COLUMN)).result()
    count, crossed = home.evaluate(CROSSED, [drawn, [f'{edge.source}>{edge.dest}' for edge in shape.edges]])
    assert count
    assert crossed == []
