"""Overlays on a chart: where marks are placed, even with collapsed states."""

from itertools import combinations

import graphviz
import pytest

from engine import Breakpoint, Catalog
from ui.formatting.diagram.folding import agent_paths
from ui.formatting.diagram.rendering import Layout, dot, render_svg
from ui.web.pages.run.debugger.badges import breakpoint_layer

DRAW = """async ([svg, layers]) => {
  const component = (await import('/hemicycle/diagram/diagram.js')).default.methods;
  const box = document.body.appendChild(document.createElement('div'));
  box.className = 'diagram';
  const chart = { ...component, svg, $refs: { box } };
  chart.draw();
  for (const one of layers) chart.updateOverlays(one);
  const seen = (node) => ({
    classes: node.getAttribute('class'),
    title: node.querySelector(':scope > title')?.textContent,
    weight: node.style.getPropertyValue('--weight'),
  });
  const place = (node, axis) => Number(node.querySelector('rect').getAttribute(axis));
  const badge = (node) => [node.querySelector('text').textContent, place(node, 'x'), place(node, 'y')];
  const width = (node) => Number(node.querySelector('rect').getAttribute('width'));
  const room = (node) => width(node) - node.querySelector('text').getComputedTextLength();
  const result = {
    spotted: Object.fromEntries([...box.querySelectorAll('.decorated')].map((node) => [node.id, seen(node)])),
    badges: [...box.querySelectorAll('.overlay-badge')].map(badge),
    covered: [...box.querySelectorAll('.overlay-badge > rect')].flatMap((rect) => {
      const { x, y, width, height } = rect.getBBox();
      return [...box.querySelectorAll('.edge text')].filter((text) => {
        const words = text.getBBox();
        return x < words.x + words.width && x + width > words.x
          && y < words.y + words.height && y + height > words.y;
      }).map((text) => text.textContent);
    }),
    room: [...box.querySelectorAll('.overlay-badge')].map(room),
    boxes: [...box.querySelectorAll('.overlay-badge > rect')].map((rect) => {
      const { x, y, width, height } = rect.getBBox();
      return [x, y, x + width, y + height];
    }),
  };
  box.remove();
  return result;
}"""


@pytest.fixture
def draw(page, server):
    """Adds layers to the pipeline's chart one after another, and returns the result."""
    svg = graphviz.Source(dot(Catalog.load().draw('pipeline'), folded=True)).pipe(
        format='svg', encoding='utf-8'
    )
    page.goto(f'{server.url}/launch/pipeline')  # with the styles of runs
    return lambda *layers: page.evaluate(DRAW, [svg[svg.index('<svg') :], list(layers)])


def test_a_folded_state_shows_the_marks_of_its_contents(draw):
    spots = {
        'reviewing.thinking': {'classes': 'hot', 'badge': '2×', 'title': 'Twice', 'weight': 0.25},
        'reviewing.using_tools': {'classes': 'cold', 'badge': '1×', 'title': 'Once', 'weight': 0.5},
    }
    drawing = draw({'heat': {'states': spots}})
    assert list(drawing['spotted']) == ['s:reviewing']
    reviewing = drawing['spotted']['s:reviewing']
    assert {'hot', 'cold', 'state'} <= set(reviewing['classes'].split())
    assert reviewing['title'] == 'Twice\nOnce'
    assert reviewing['weight'] == '0.5'
    assert [text for text, *_ in drawing['badges']] == ['2× 1×']


def test_a_badge_covers_no_words_of_an_edge(draw):
    edges = {name: {'badge': 'A'} for name in ('reviewing>complete', 'reviewing>analyzing')}
    drawing = draw({'path': {'edges': edges}})
    assert len(drawing['badges']) == 2 and drawing['covered'] == []


def test_badges_of_edges_there_and_back_and_of_their_states_stay_apart(page, server):
    shape = Catalog.load().draw('pipeline')
    svg = render_svg(shape, agent_paths(shape), Layout(wide=True))
    page.goto(f'{server.url}/launch/pipeline')
    spots = {name: {'badge': '1→2×'} for name in ('analyzing', 'reviewing')}
    edges = {name: {'badge': '0→1×'} for name in ('analyzing>reviewing', 'reviewing>analyzing')}
    boxes = page.evaluate(DRAW, [svg, [{'paths': {'states': spots, 'edges': edges}}]])['boxes']
    overlapping = [
        (a, b)
        for a, b in combinations(boxes, 2)
        if a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]
    ]
    assert len(boxes) == 4 and overlapping == []


def test_an_edge_inside_a_folded_state_is_not_marked(draw):
    edges = {
        'reviewing.thinking>reviewing.using_tools': {'badge': '9'},
        'reviewing>analyzing': {'badge': '1'},
    }
    drawing = draw({'heat': {'edges': edges}})
    assert list(drawing['spotted']) == ['e:reviewing>analyzing']
    assert [text for text, *_ in drawing['badges']] == ['1']


def test_removing_a_layer_restores_the_drawing(draw):
    assert draw(
        {'heat': {'states': {'analyzing': {'classes': 'hot', 'badge': '1', 'title': 'x', 'weight': 1}}}}, {}
    ) == {'spotted': {}, 'badges': [], 'covered': [], 'room': [], 'boxes': []}


def test_badges_of_two_layers_do_not_overlap(draw):
    one = {'states': {'analyzing': {'badge': '12', 'title': 'First'}}}
    drawing = draw({'heat': one, 'breaks': {'states': {'analyzing': {'badge': '●', 'title': 'Second'}}}})
    (_, first, height), (_, second, same) = drawing['badges']
    assert height == same
    assert second < first
    assert drawing['spotted']['s:analyzing']['title'] == 'First\nSecond'


def test_badges_have_room_for_their_text(draw):
    breakpoints = [
        Breakpoint(id='1', enter='analyzing', when='step > 1'),
        Breakpoint(id='2', leave='reviewing', enabled=False),
        Breakpoint(id='3', enter='reviewing', when='step > 1'),
        Breakpoint(id='4', edge='reviewing>analyzing'),
    ]
    drawing = draw(
        {
            'breakpoints': breakpoint_layer(breakpoints, {'1', '3'}),
            'heat': {'states': {'researching': {'badge': '1,234×'}}},
        }
    )
    assert [text for text, *_ in drawing['badges']] == ['→◉?', '○→ →◉?', '●', '1,234×']
    assert all(6 <= room <= 22 for room in drawing['room']), drawing['room']
