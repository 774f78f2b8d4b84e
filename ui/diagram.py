"""Draws a Shape with Graphviz, once per shape, and says what of it is lit at a step of a run."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import graphviz

from engine import Edge, Shape, StateShape, Status, Transition, View, edge_label
from ui.reading import innermost

INSTALL = 'Graphviz is not installed, so charts cannot be drawn. On Debian and Ubuntu: apt install graphviz'

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
NODE = {
    'shape': 'box',
    'style': 'rounded',
    'fontname': 'Helvetica',
    'fontsize': '12',
    'height': '0.34',
    'margin': '0.13,0.05',
}
EDGE = {'fontname': 'Helvetica', 'fontsize': '10', 'arrowsize': '0.65'}


def available() -> bool:
    """Whether charts can be drawn: `dot` is there."""
    return shutil.which('dot') is not None


async def svg(shape: Shape, *, folded: bool) -> str:
    """The chart as SVG, or '' where `dot` is missing. With `folded`, an agent is one node."""
    return await asyncio.to_thread(_svg, shape, folded) if available() else ''


def dot(shape: Shape, *, folded: bool) -> str:
    """The chart in Graphviz's language; ids are `s:<state>` and `e:<source>><dest>`."""
    drawing = _Drawing(shape, folded)
    return drawing.draw()


@lru_cache(maxsize=256)
def _svg(shape: Shape, folded: bool) -> str:
    text = str(graphviz.Source(dot(shape, folded=folded)).pipe(format='svg', encoding='utf-8'))
    return text[text.index('<svg') :]


@dataclass
class _Drawing:
    shape: Shape
    folded: bool
    hidden: dict[str, str] = field(default_factory=dict)
    """States that are not drawn, and the agent that stands for them."""

    def draw(self) -> str:
        self.inside: dict[str, list[StateShape]] = {}
        for state in self.shape.states:
            self.inside.setdefault(state.parent, []).append(state)
            owner = self.hidden.get(state.parent, state.parent)
            if self.folded and self._is_agent(owner):
                self.hidden[state.path] = owner
        graph = graphviz.Digraph(graph_attr=GRAPH, node_attr=NODE, edge_attr=EDGE)
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
        for state in self.inside.get(parent, ()):
            if state.path in self.hidden:
                continue
            children = [child for child in self.inside.get(state.path, ()) if child.path not in self.hidden]
            classes = f'state {state.kind} outcome-{state.outcome}'
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

    def _edges(self) -> dict[tuple[str, str], tuple[list[str], bool]]:
        """Edges that are drawn, each once, with what their labels say."""
        found: dict[tuple[str, str], tuple[list[str], bool]] = {}
        for edge in self.shape.edges:
            source, dest = (self.hidden.get(path, path) for path in (edge.source, edge.dest or edge.source))
            if edge.source in self.hidden and source == dest:
                continue
            failing = edge.trigger in ('failed', 'expired')
            labels, _ = found.setdefault((source, dest), ([], failing))
            # The chart inside an agent is the same for all: labels there would only widen the drawing.
            inside = self._is_agent(edge.source.rpartition('.')[0])
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
            label=f' {label}' if label else '',
            _attributes={'class': 'edge failing' if failing else 'edge'},
            **options,
        )

    def _drawn_as_cluster(self, path: str) -> bool:
        return any(child.path not in self.hidden for child in self.inside.get(path, ()))

    def _anchor(self, path: str, *, out: bool) -> str:
        """A node inside a cluster at which an edge of the cluster begins or ends."""
        while self._drawn_as_cluster(path):
            inner = self.inside[path]
            finals = [state.path for state in inner if state.kind == 'final' and state.outcome == 'done']
            path = finals[0] if out and finals else inner[0].path
        return path


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


def edge_id(edge: Edge) -> str:
    """The name of an edge in the drawing."""
    return f'{edge.source}>{edge.dest or edge.source}'
