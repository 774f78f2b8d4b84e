"""Mermaid itself parses and draws our Mermaid text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import nicegui
import pytest
from playwright.sync_api import Browser, Page, Route

from engine import Catalog, LocalConductor
from engine.records import Shape, StatePath, StateShape
from ui.formatting.diagram.mermaid import mermaid

FILES = Path(nicegui.__file__).parent / 'elements' / 'mermaid' / 'dist'
"""The Mermaid bundled with NiceGUI."""
PAGE = '<!doctype html><title>Mermaid</title><body>'
DRAW = """async (text) => {
    const { mermaid } = await import("/index.js");
    mermaid.initialize({ startOnLoad: false });
    const { svg, diagramType } = await mermaid.render("drawn", text);
    const drawn = document.createElement("template");  // its text needs no layout
    drawn.innerHTML = svg;
    return { type: diagramType, text: drawn.content.textContent };
}"""
PARSE = """async (texts) => {
    const { mermaid } = await import("/index.js");
    const parsed = {};
    for (const [name, text] of Object.entries(texts))
        parsed[name] = await mermaid.parse(text).then(({ diagramType }) => diagramType, String);
    return parsed;
}"""
CONDUCTOR = LocalConductor()
ODD = (
    *('state', 'end', 'note', 'class', 'default', 'direction_tb', 'a-b', 'é'),
    '"x"; y: {z} #1 %% <b> `q` --> [*]',
)


def fulfil(route: Route) -> None:
    name = route.request.url.rpartition('/')[2]
    if name:
        route.fulfill(path=FILES / name, content_type='text/javascript')
    else:
        route.fulfill(body=PAGE, content_type='text/html')


@pytest.fixture(scope='module')
def mermaid_page(browser: Browser) -> Iterator[Page]:
    """A page from which Mermaid can be imported."""
    page = browser.new_page()
    page.route('http://mermaid.invalid/**', fulfil)
    page.goto('http://mermaid.invalid/')
    yield page
    page.close()


@pytest.fixture
def draw(mermaid_page: Page) -> Callable[[str], dict[str, str]]:
    """Draws a text with Mermaid; errors name the line."""
    return lambda text: mermaid_page.evaluate(DRAW, text)


@cache
def charts() -> dict[str, tuple[Shape, str]]:
    """Each pattern's shape and its text, folded and, if that is not the same, unfolded."""
    shapes = {name: CONDUCTOR.catalog.draw(name) for name in Catalog.load().patterns}
    shapes['six workers'] = CONDUCTOR.catalog.draw('supervisor', {'execution': 'side by side', 'workers': 6})
    folded = {f'{name}-folded': (shape, mermaid(shape, folded=True)) for name, shape in shapes.items()}
    unfolded = {f'{name}-unfolded': (shape, mermaid(shape, folded=False)) for name, shape in shapes.items()}
    return folded | {name: chart for name, chart in unfolded.items() if chart not in folded.values()}


def test_mermaid_parses_every_pattern(mermaid_page):
    texts = {name: text for name, (_, text) in charts().items()}
    assert mermaid_page.evaluate(PARSE, texts) == dict.fromkeys(texts, 'stateDiagram')


@pytest.mark.parametrize('name', ['pipeline-unfolded', 'supervisor-folded'])
def test_mermaid_draws_a_pattern_with_its_states(draw, name):
    shape, text = charts()[name]
    drawn = draw(text)
    assert drawn['type'] == 'stateDiagram'
    labels = [state.name.replace('_', ' ') for state in shape.states if not state.parent]
    assert [label for label in labels if label not in drawn['text']] == []


def test_mermaid_shows_odd_names_as_they_are(draw):
    states = tuple(
        StateShape(path=StatePath(name), name=name, parent=StatePath(''), kind='atomic') for name in ODD
    )
    shape = Shape(pattern='odd', title='Odd', initial=states[0].path, states=states, edges=())
    drawn = draw(mermaid(shape))
    text = drawn['text'].replace('\xa0', ' ')
    assert [name for name in ODD if name.replace('_', ' ') not in text] == []
