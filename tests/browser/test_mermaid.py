"""Mermaid itself reads and draws what is written for it."""

from __future__ import annotations

from pathlib import Path

import nicegui
import pytest
from playwright.sync_api import Page, Route

from engine import Catalog, Conductor, Shape, StatePath, StateShape, mermaid

FILES = Path(nicegui.__file__).parent / 'elements' / 'mermaid' / 'dist'
"""The Mermaid that NiceGUI brings along."""
PAGE = '<!doctype html><title>Mermaid</title><body>'
DRAW = """async (text) => {
    const { mermaid } = await import("/index.js");
    mermaid.initialize({ startOnLoad: false });
    const parsed = await mermaid.parse(text);
    const { svg } = await mermaid.render("drawn", text);
    document.body.innerHTML = svg;
    return { type: parsed.diagramType, text: document.body.textContent };
}"""
CONDUCTOR = Conductor()
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


@pytest.fixture
def draw(page: Page):
    """Gives a text to Mermaid; what it cannot read is an error that names the line."""
    page.route('http://mermaid.invalid/**', fulfil)
    page.goto('http://mermaid.invalid/')
    return lambda text: page.evaluate(DRAW, text)


def charts() -> list[tuple[str, Shape]]:
    found = [(name, CONDUCTOR.draw(name)) for name in Catalog.load().patterns]
    many = CONDUCTOR.draw('supervisor', {'execution': 'side by side', 'workers': 6})
    return [*found, ('six workers', many)]


@pytest.mark.parametrize('folded', [True, False], ids=['folded', 'unfolded'])
@pytest.mark.parametrize(('name', 'shape'), charts(), ids=[name for name, _ in charts()])
def test_mermaid_draws_every_pattern(draw, name, shape, folded):
    drawn = draw(mermaid(shape, folded=folded))
    assert drawn['type'] == 'stateDiagram'
    shown = [state.name.replace('_', ' ') for state in shape.states if not state.parent]
    assert [label for label in shown if label not in drawn['text']] == []


def test_mermaid_shows_odd_names_as_they_are(draw):
    states = tuple(
        StateShape(path=StatePath(name), name=name, parent=StatePath(''), kind='atomic') for name in ODD
    )
    shape = Shape(pattern='odd', title='Odd', initial=states[0].path, states=states, edges=())
    drawn = draw(mermaid(shape))
    shown = drawn['text'].replace('\xa0', ' ')
    assert [name for name in ODD if name.replace('_', ' ') not in shown] == []
