"""Draws a Shape with Graphviz, once per shape, and says what of it is lit at a step of a run."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from textwrap import wrap
from typing import Any

import graphviz

from engine import (
    Edge,
    EdgeShape,
    EngineError,
    Shape,
    StateShape,
    Status,
    Transition,
    View,
    edge_label,
    mermaid,
    parent_of,
)
from ui.drawing.folding import agents_of
from ui.presenters.reading import innermost

INSTALL = 'Graphviz is not installed, so charts cannot be drawn. On Debian and Ubuntu: apt install graphviz'

FORMATS = {'mermaid': 'mmd', 'dot': 'gv', 'svg': 'svg'}
"""What a chart can be had as, and the ends of such files' names."""

GRAPH = {
    'rankdir': 'TB',
    'compound': 'true',
    'newrank': 'true',
    'nodesep': '0.28',
    'ranksep': '0.38',
    'margin': '0.02',
    'bgcolor': 'transparent',
    'fontname': 'Helvetica',
    'fontsize': '12',
}
WIDE = {'nodesep': '0.5', 'ranksep': '0.75'}
NODE = {
    'shape': 'box',
    'style': 'rounded',
    'fontname': 'Helvetica',
    'fontsize': '12',
    'height': '0.34',
    'margin': '0.13,0.05',
}
EDGE = {'fontname': 'Helvetica', 'fontsize': '10', 'arrowsize': '0.65'}
LABEL_WIDTH = 24
"""Characters of a line of an edge's label, of two: long ones make a drawing wide, and all of it small."""


def available() -> bool:
    """Whether charts can be drawn: `dot` is there."""
    return shutil.which('dot') is not None


Folded = bool | frozenset[str]
"""Which states are one node, with those inside not drawn: all agents, none, or the states at these paths."""


async def svg(shape: Shape, *, folded: Folded, wide: bool = False) -> str:
    """The chart as SVG, or '' where `dot` is missing; a `wide` one has room for a number on each edge."""
    return await asyncio.to_thread(_svg, shape, folded, wide) if available() else ''


def dot(shape: Shape, *, folded: Folded, wide: bool = False) -> str:
    """The chart in Graphviz's language; ids are `s:<state>` and `e:<source>><dest>`."""
    drawing = _Drawing(shape, agents_of(shape) if folded is True else folded or frozenset())
    return drawing.draw(GRAPH | WIDE if wide else GRAPH)


async def drawn_as(shape: Shape, how: str, *, folded: Folded) -> str:
    """The chart as one of `FORMATS`. Raises `EngineError` where it needs `dot`, and that is missing."""
    if how == 'mermaid':
        return mermaid(shape, folded=folded)
    if how == 'dot':
        return dot(shape, folded=folded)
    if not available():
        raise EngineError(INSTALL)
    return await svg(shape, folded=folded) + '\n'


@lru_cache(maxsize=256)
def _svg(shape: Shape, folded: Folded, wide: bool) -> str:
    text = str(graphviz.Source(dot(shape, folded=folded, wide=wide)).pipe(format='svg', encoding='utf-8'))
    return text[text.index('<svg') :]


@dataclass
class _Drawing:
    shape: Shape
    folded: frozenset[str]
    hidden: dict[str, str] = field(default_factory=dict)
    """States that are not drawn, and the one that stands for them."""

    def draw(self, attributes: dict[str, str]) -> str:
        self.inside: dict[str, list[StateShape]] = {}
        for state in self.shape.states:
            self.inside.setdefault(state.parent, []).append(state)
            owner = self.hidden.get(state.parent, state.parent)
            if owner in self.folded:
                self.hidden[state.path] = owner
        graph = graphviz.Digraph(graph_attr=attributes, node_attr=NODE, edge_attr=EDGE)
        graph.node(
            '[*]',
            label='',
            shape='circle',
            width='0.16',
            height='0.16',
            id='s:[*]',
            _attributes={'class': 'start'},
        )
        self._add(graph, '')
        for edge, (labels, failing) in self._edges().items():
            self._connect(graph, edge, ' / '.join(labels), failing)
        return str(graph.source)

    def _is_agent(self, path: str) -> bool:
        state = self.shape.state(path)
        return bool(state and state.role)

    def _add(self, graph: graphviz.Digraph, parent: str) -> None:
        for state in self._in_order(parent):
            if state.path in self.hidden:
                continue
            children = [child for child in self.inside.get(state.path, ()) if child.path not in self.hidden]
            classes = f'state {state.kind} outcome-{state.outcome}{self._region(state)}'
            if not children:
                peripheries = '2' if state.kind == 'final' else '1'
                graph.node(
                    state.path, label=_label(state), id=f's:{state.path}', peripheries=peripheries,
                    _attributes={'class': classes},
                )  # fmt: skip
                continue
            with graph.subgraph(name=f'cluster_{state.path}') as cluster:
                cluster.attr(
                    label=_label(state), id=f's:{state.path}', style='rounded', margin='9', labeljust='l',
                    _attributes={'class': classes},
                )  # fmt: skip
                self._add(cluster, state.path)
                if state.role:
                    self._flatten(cluster, state.path)
                elif state.kind == 'parallel':
                    self._tile(cluster, [child.path for child in children])

    def _in_order(self, parent: str) -> list[StateShape]:
        """The states inside another, as Graphviz has to be told of them.

        It puts boxes that stand side by side into a row from right to left, and nodes from left to right.
        """
        inside = self.inside.get(parent, [])
        around = self.shape.state(parent)
        if around is None or around.kind != 'parallel':
            return inside
        by_path = {str(state.path): state for state in inside}
        rows = _rows(list(by_path), self._per_row(list(by_path)))
        boxes = any(self._drawn_as_cluster(path) for path in by_path)
        return [by_path[path] for row in rows for path in (reversed(row) if boxes else row)]

    def _flatten(self, cluster: graphviz.Digraph, path: str) -> None:
        """An agent's work in one row, where it waits or ends in the next: charts grow in one column."""
        for resting in (False, True):
            row = [
                state.path
                for state in self.inside[path]
                if (state.kind == 'final' or bool(state.waits)) is resting
            ]
            with cluster.subgraph(graph_attr={'rank': 'same'}) as rank:
                for node in row:
                    rank.node(node)

    def _region(self, state: StateShape) -> str:
        around = self.shape.state(state.parent)
        return ' region' if around is not None and around.kind == 'parallel' else ''

    def _tile(self, cluster: graphviz.Digraph, regions: list[str]) -> None:
        """The regions of a parallel state in rows, from left to right: what is never an edge holds them."""
        rows = _rows(regions, self._per_row(regions))
        for row in rows:
            firsts = [self._anchor(region, out=False) for region in row]
            with cluster.subgraph(graph_attr={'rank': 'same'}) as rank:
                for node in firsts:
                    rank.node(node)
                for left, right in pairwise(firsts):
                    rank.edge(left, right, style='invis')
        for above, below in pairwise(rows):
            for index, region in enumerate(below):
                over = above[min(index, len(above) - 1)]
                ends = self._anchor(over, out=True), self._anchor(region, out=False)
                cluster.edge(*ends, style='invis', weight='30')

    def _per_row(self, regions: list[str]) -> int:
        """How many regions stand side by side: a diagram has a column of the page, higher than wide."""
        small = not any(self._drawn_as_cluster(region) for region in regions)
        most = 3 if small else 2
        return 2 if len(regions) == 4 else most

    def _edges(self) -> dict[tuple[str, str], tuple[list[str], bool]]:
        """Edges that are drawn, each once, with what their labels say."""
        found: dict[tuple[str, str], tuple[list[str], bool]] = {}
        for edge in self.shape.edges:
            if not edge.dest:
                continue  # it leads nowhere: it would be a loop at each state that hears a person
            source, dest = (self.hidden.get(path, path) for path in (edge.source, edge.dest))
            if edge.source in self.hidden and source == dest:
                continue
            failing = edge.trigger in ('failed', 'expired')
            labels, _ = found.setdefault((source, dest), ([], failing))
            # The chart inside an agent is the same for all: labels there would only widen the drawing.
            inside = self._is_agent(parent_of(edge.source))
            label = '' if inside else edge_label(edge)
            if label and label not in labels and not failing:
                labels.append(label)
            found[source, dest] = (labels, found[source, dest][1] and failing)
        return found

    def _connect(self, graph: graphviz.Digraph, edge: tuple[str, str], label: str, failing: bool) -> None:
        source, dest = edge
        options = {'id': f'e:{source}>{dest}'}
        if self._drawn_as_cluster(source):
            options['ltail'] = f'cluster_{source}'
        if self._drawn_as_cluster(dest):
            options['lhead'] = f'cluster_{dest}'
        if failing or dest.endswith('.failed'):
            options |= {'style': 'dashed', 'weight': '0'}
        elif dest.endswith('.done') or source.count('.') == dest.count('.') == 0:
            options['weight'] = '20'  # the usual way runs straight down
        graph.edge(
            self._anchor(source, out=True),
            self._anchor(dest, out=False),
            label='\n'.join(f' {line}' for line in wrap(label, LABEL_WIDTH, max_lines=2, placeholder=' …')),
            _attributes={'class': 'edge failing' if failing else 'edge'},
            **options,
        )

    def _drawn_as_cluster(self, path: str) -> bool:
        return any(child.path not in self.hidden for child in self.inside.get(path, ()))

    def _anchor(self, path: str, *, out: bool) -> str:
        """A node inside a cluster at which an edge of the cluster begins or ends."""
        while self._drawn_as_cluster(path):
            inner = self.inside[path]
            state = self.shape.state(path)
            if out and state is not None and state.kind == 'parallel':
                path = inner[-1].path  # of the last row: what follows stands beneath it
                continue
            finals = [state.path for state in inner if state.kind == 'final' and state.outcome == 'done']
            path = finals[0] if out and finals else inner[0].path
        return path


def _rows(regions: list[str], most: int) -> list[list[str]]:
    return [regions[start : start + most] for start in range(0, len(regions), most)]


def _label(state: StateShape) -> str:
    return state.name.replace('_', ' ')


def lit(
    view: View, step: Transition | None, *, seen: Iterable[str] = (), walked: Iterable[str] = ()
) -> dict[str, Any]:
    """What is lit after `step`: classes for states and edges, as the browser's component takes them."""
    leaves = list(view.active)
    # A run that was stopped has no active state: show the ones in which it was.
    stopped = innermost(step.left) if step and not leaves else []
    return {
        'active': leaves,
        'inside': [path for path in view.entered if path not in leaves],
        'seen': list(seen),
        'waiting': leaves if view.waiting else [],
        'broken': stopped if view.status is Status.FAILED else [],
        'halted': stopped if view.status is Status.CANCELLED else [],
        'taken': [edge_id(edge) for edge in step.edges] if step else [],
        'walked': list(walked),
    }


def edge_id(edge: Edge | EdgeShape) -> str:
    """The name of an edge in the drawing."""
    return f'{edge.source}>{edge.dest or edge.source}'
