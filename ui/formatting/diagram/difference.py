"""Two versions of a chart as one: the chart to draw, and what is marked as added, removed or changed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from engine.charts.difference import EdgeDifference, ShapeDifference
from engine.history import merge_shapes
from engine.records import EdgeShape, Shape
from ui.formatting.diagram.difference_words import difference_lines
from ui.formatting.diagram.overlays import Decoration, Layer, visible_ancestor, visible_edge
from ui.formatting.steps import edge_name

MARKS = MappingProxyType({'added': '+', 'removed': '−', 'changed': '~'})  # noqa: RUF001  (a minus sign)
"""The sign of each kind of difference: no mark rests on a colour alone."""


def union_shape(difference: ShapeDifference) -> Shape:
    """Return the new chart with the states and edges that it lost."""
    present = set(map(edge_name, difference.new.edges))
    lost = [edge for _, edge in _drawn(difference.edges) if edge_name(edge) not in present]
    return merge_shapes([difference.new, replace(difference.old, edges=tuple(lost))])


def difference_layer(difference: ShapeDifference, folded: frozenset[str]) -> Layer:
    """Return the marks of states and edges; a collapsed state is marked if anything inside it differs."""
    states: dict[str, str] = {}
    for state in difference.states:
        shown = visible_ancestor(state.path, folded)
        states[shown] = state.kind if shown == state.path else states.get(shown, 'changed')
    same = {edge_name(edge) for edge in difference.new.edges} & {
        edge_name(edge) for edge in difference.old.edges
    }
    edges: dict[str, str] = {}
    for kind, edge in _drawn(difference.edges):
        name = edge_name(edge)
        if shown := visible_edge(name, folded):
            exact = kind if name not in same and edges.get(shown, kind) == kind else 'changed'
            edges[shown] = exact
    titles: dict[str, list[str]] = {}
    for line in difference_lines(difference):
        for place in (*line.states, *line.edges):
            titles.setdefault(place, []).append(line.text)
    return {
        'states': {path: _mark(kind, titles.get(path, ())) for path, kind in states.items()},
        'edges': {name: _mark(kind, titles.get(name, ())) for name, kind in edges.items()},
    }


def _drawn(edges: Iterable[EdgeDifference]) -> Iterable[tuple[str, EdgeShape]]:
    """Yield each edge as it is drawn: one that leads elsewhere is one edge less and one more."""
    for edge in edges:
        if edge.old is not None and (edge.new is None or edge.is_redirected):
            yield 'removed', edge.old
        if edge.new is not None:
            yield ('added' if edge.old is None or edge.is_redirected else 'changed'), edge.new


def _mark(kind: str, titles: Iterable[str]) -> Decoration:
    return {'classes': f'differs differs-{kind}', 'badge': MARKS[kind], 'title': '\n'.join(titles)}
