"""Renders a Shape with Graphviz, once per shape, with badges; and computes the highlights of a step."""

from __future__ import annotations

import asyncio
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from textwrap import wrap
from typing import Any

import graphviz

from engine import EngineError, Status, Transition
from engine.records import Shape, StateShape, View, is_within, parent_of
from ui.formatting.debugger import is_waiting_for_person
from ui.formatting.diagram.failures import add_failure_badges, add_gutter
from ui.formatting.diagram.folding import agent_paths, card_paths
from ui.formatting.diagram.mermaid import edge_label, mermaid
from ui.formatting.steps import edge_name, innermost

GRAPHVIZ_MISSING = (
    'Graphviz is not installed, so charts cannot be drawn. On Debian and Ubuntu: apt install graphviz'
)

FORMATS = {'mermaid': 'mmd', 'dot': 'gv', 'svg': 'svg'}
"""The formats of a chart, and their file extensions."""

GRAPH = {
    'rankdir': 'TB',
    'compound': 'true',
    'newrank': 'true',
    'nodesep': '0.25',
    'ranksep': '0.38',
    'margin': '0.02',
    'bgcolor': 'transparent',
    'fontname': 'Helvetica',
    'fontsize': '12',
}
INVISIBLE = {'style': 'invis', 'margin': '0', 'label': '', 'id': '', 'class': ''}
"""An invisible box that only keeps its content in place; unset attributes would be inherited."""
SIDEWAYS = {'rankdir': 'LR', 'ranksep': '0.45'}
WIDE = {'nodesep': '0.5', 'ranksep': '0.75'}
NODE = {
    'shape': 'box',
    'style': 'rounded',
    'fontname': 'Helvetica',
    'fontsize': '12',
    'height': '0.34',
    'margin': '0.13,0.05',
}
EDGE = {'fontname': 'Helvetica', 'fontsize': '12', 'arrowsize': '0.65'}
PLAIN = re.compile(r'\[\*\]|[\w .-]+')
"""States whose path Graphviz takes as a name; it reads others as ports, markup or escapes."""
LABEL_WIDTH = 24
"""Characters per line of an edge label of up to two lines: wide labels make a drawing wide, hence small."""

CARD = {'fixedsize': 'true', 'width': '2.1', 'height': '0.76'}
"""The card of an agent, in inches: three lines of text, which the browser writes."""


def has_graphviz() -> bool:
    """Return whether charts can be drawn: `dot` is installed."""
    return shutil.which('dot') is not None


Folded = bool | frozenset[str]
"""Which states are collapsed: all agents, none, or the states at these paths."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a chart is laid out."""

    sideways: bool = False
    """Whether it runs to the right; otherwise it runs downwards."""
    labels: bool = True
    """Whether edges have labels."""
    badges: bool = True
    """Whether failures are badges; otherwise they are edges."""
    cards: bool = False
    """Whether collapsed agents have room for what they do; otherwise they are as large as their names."""
    columns: int = 3
    """The most small regions of a parallel state side by side."""
    wide: bool = False
    """Whether it leaves room for a number on each edge; then failures are drawn as edges."""


DEFAULT_LAYOUT = Layout(badges=False)


async def svg(shape: Shape, *, folded: Folded, wide: bool = False) -> str:
    """Return the chart as SVG, or '' without `dot`; failures are badges on the states they leave.

    A `wide` drawing leaves room for a number on each edge, and draws failures as edges.
    """
    layout = Layout(wide=wide)
    return await asyncio.to_thread(render_svg, shape, folded, layout) if has_graphviz() else ''


def dot(shape: Shape, *, folded: Folded) -> str:
    """Return the chart in Graphviz's language; ids are `s:<state>` and `e:<source>><dest>`."""
    return _drawing(shape, folded).draw(GRAPH)


async def export_chart(shape: Shape, how: str, *, folded: Folded) -> str:
    """Return the chart in one of `FORMATS`. Raises `EngineError` if that needs `dot` and it is missing."""
    if how == 'mermaid':
        return await asyncio.to_thread(mermaid, shape, folded=folded)
    if how == 'dot':
        return await asyncio.to_thread(dot, shape, folded=folded)
    if not has_graphviz():
        raise EngineError(GRAPHVIZ_MISSING)
    return await svg(shape, folded=folded) + '\n'


@lru_cache(maxsize=512)
def render_svg(shape: Shape, folded: Folded, layout: Layout) -> str:
    """Return the chart as SVG. Needs `dot`, which takes about 30 ms unless the chart is cached."""
    drawing = _drawing(shape, folded)
    drawing.layout = layout
    source = drawing.draw(GRAPH | (SIDEWAYS if layout.sideways else WIDE if layout.wide else {}))
    text = _run_dot(source)
    drawn = add_gutter(text[text.index('<svg') :], drawing.gutter, sideways=layout.sideways)
    return add_failure_badges(drawn, drawing.badges)


def _run_dot(source: str) -> str:
    """Return what `dot` draws.

    In large charts it loses invisible edges and exits with an error, but the drawing is usable.
    """
    # It cannot clip some edges at the border of a box: without `compound`, they end inside.
    for compound in ('true', 'false'):
        attempt = graphviz.Source(source.replace('compound=true', f'compound={compound}'))
        try:
            return str(attempt.pipe(format='svg', encoding='utf-8', quiet=True))
        except graphviz.CalledProcessError as error:
            drawn = error.output or ''
            failure = error
        text = drawn.decode() if isinstance(drawn, bytes) else str(drawn)
        if '</svg>' in text:
            return text
    raise EngineError(f'dot cannot draw the chart: {failure.stderr}')


def _drawing(shape: Shape, folded: Folded) -> _Drawing:
    return _Drawing(shape, agent_paths(shape) if folded is True else folded or frozenset())


@dataclass
class _Drawing:
    shape: Shape
    folded: frozenset[str]
    hidden: dict[str, str] = field(default_factory=dict)
    """Hidden states, each with the state drawn in its place."""
    layout: Layout = DEFAULT_LAYOUT
    badges: list[tuple[str, str]] = field(default_factory=list)
    """Edges that become badges of their source instead of being drawn."""
    gutter: list[tuple[str, str]] = field(default_factory=list)
    """Edges to where the run fails, which share one line beside the drawing."""
    _odd: dict[str, str] = field(default_factory=dict)

    def draw(self, attributes: dict[str, str]) -> str:
        badges = self.layout.badges and not self.layout.wide
        self.inside: dict[str, list[StateShape]] = {}
        self._cards = card_paths(self.shape)
        ends = [state for state in self.shape.states if state.kind == 'final' and not state.parent]
        failed = [str(state.path) for state in ends if state.outcome == 'failed']
        self._failed_end = failed[0] if len(failed) == 1 else ''
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
        if any(state.kind == 'parallel' and self._is_cluster(state.path) for state in self.shape.states):
            # A second ordering pass would ignore the order within regions and cross more edges.
            graph.attr(remincross='false')
        drawn = self._drawn_edges()
        self._main = self._main_path(drawn)
        self._add_states(graph, '')
        for edge, (labels, failing) in drawn.items():
            if badges and failing and edge[1] == self._failed_end and not parent_of(edge[0]):
                self.gutter.append(edge)
            elif badges and failing and not self._is_within_agent(*edge):
                self.badges.append(edge)
            else:
                self._connect(graph, edge, ', or '.join(labels), failing)
        if badges:
            self._place_final_states(graph)
        return str(graph.source)

    def _is_within_agent(self, source: str, dest: str) -> bool:
        """Return whether both ends are in one agent, where edges are short."""
        return parent_of(source) == parent_of(dest) and self._is_agent(parent_of(source))

    def _place_final_states(self, graph: graphviz.Digraph) -> None:
        """Put the run's final states on the last rank, failed ones last: beside the main path."""
        finals = [state.path for state in self.inside.get('', ()) if state.kind == 'final']
        finals.sort(key=lambda path: (path == self._failed_end, path not in self._main))
        nodes = [self._node(path) for path in finals]
        with graph.subgraph(graph_attr={'rank': 'sink'}) as last:
            for node in nodes:
                last.node(node)
            for left, right in pairwise(nodes if self._failed_end else ()):
                last.edge(left, right, style='invis')

    def _main_path(self, edges: Iterable[tuple[str, str]]) -> set[str]:
        """Return the outermost states on the way to success: from each, the first edge that goes on."""
        order = [str(state.path) for state in self.inside.get('', ())]
        path, at = {str(self.shape.initial)}, str(self.shape.initial)
        while nexts := [
            dest
            for source, dest in edges
            if source == at and dest in order and dest not in path and dest != self._failed_end
        ]:
            at = min(nexts, key=lambda dest: (order.index(dest) < order.index(at), order.index(dest)))
            path.add(at)
        return path

    def _is_agent(self, path: str) -> bool:
        state = self.shape.state(path)
        return bool(state and state.role)

    def _add_states(self, graph: graphviz.Digraph, parent: str) -> None:
        for state, framed in self._in_order(parent):
            if state.path in self.hidden:
                continue
            children = [child for child in self.inside.get(state.path, ()) if child.path not in self.hidden]
            classes = f'state {state.kind} outcome-{state.outcome}{self._region(state)}'
            if not children:
                options = {'peripheries': '2' if state.kind == 'final' else '1'}
                if state.path in self._main:
                    options['group'] = 'main'
                if state.path in self._cards:
                    classes += ' agent-card'
                    if self.layout.cards:
                        options |= CARD
                box = graph.subgraph(name=self._cluster(state.path), graph_attr=INVISIBLE) if framed else None
                with box or nullcontext(graph) as place:
                    place.node(
                        self._node(state.path), **_names(state), **options, _attributes={'class': classes},
                    )  # fmt: skip
                continue
            with graph.subgraph(name=self._cluster(state.path)) as cluster:
                if state.path in self._cards:
                    classes += ' agent-card'
                cluster.attr(
                    **_names(state), style='rounded', margin='9', labeljust='l',
                    _attributes={'class': classes},
                )  # fmt: skip
                self._add_states(cluster, state.path)
                if state.role:
                    self._draw_agent_rows(cluster, state.path)
                elif state.kind == 'parallel':
                    self._arrange_regions(cluster, [child.path for child in children])
                else:
                    self._align_final_states(cluster, children)

    def _in_order(self, parent: str) -> Iterator[tuple[StateShape, bool]]:
        """Yield child states in the order Graphviz needs, each with whether a box must keep that order.

        It arranges adjacent boxes from right to left but nodes from left to right, and where both occur,
        either kind may come first.
        """
        inside, around = self.inside.get(parent, []), self.shape.state(parent)
        if around is None or around.kind != 'parallel':
            yield from ((state, False) for state in inside)
            return
        by_path = {str(state.path): state for state in inside}
        for row in _rows(list(by_path), self._regions_per_row(list(by_path))):
            boxes = any(self._is_cluster(path) for path in row)
            order = reversed(row) if boxes and not self.layout.sideways else row
            yield from ((by_path[path], boxes) for path in order)

    def _draw_agent_rows(self, cluster: graphviz.Digraph, path: str) -> None:
        """Draw an agent in rows: the states that work, those that wait for a person, and its final states."""
        rows: list[list[str]] = [[], [], []]
        for state in self.inside[path]:
            if self._is_cluster(state.path):
                continue  # an agent that this one calls: Graphviz places boxes by their edges
            rows[2 if state.kind == 'final' else 1 if state.waits else 0].append(state.path)
        for row in rows:
            with cluster.subgraph(graph_attr={'rank': 'same'}) as rank:
                for node in map(self._node, row):
                    rank.node(node)
        for above, below in pairwise(row for row in rows if row):
            cluster.edge(self._node(above[0]), self._node(below[0]), style='invis')

    def _align_final_states(self, cluster: graphviz.Digraph, children: Sequence[StateShape]) -> None:
        """Put a box's final states on one rank: those that only failures reach would float to the top."""
        with cluster.subgraph(graph_attr={'rank': 'same'}) as ends:
            for child in children:
                if child.kind == 'final':
                    ends.node(self._node(child.path))

    def _region(self, state: StateShape) -> str:
        around = self.shape.state(state.parent)
        return ' region' if around is not None and around.kind == 'parallel' else ''

    def _arrange_regions(self, cluster: graphviz.Digraph, regions: list[str]) -> None:
        """Arrange the regions of a parallel state in rows from left to right, using invisible edges."""
        rows = _rows(regions, self._regions_per_row(regions))
        for row in rows:
            firsts = [self._anchor(region, out=False) for region in row]
            with cluster.subgraph(graph_attr={'rank': 'same'}) as rank:
                for node in firsts:
                    rank.node(node)
                # A drawing that runs to the right is rotated: what was on the left ends up at the bottom.
                for left, right in pairwise(firsts[::-1] if self.layout.sideways else firsts):
                    rank.edge(left, right, style='invis')
        for above, below in pairwise(rows):
            for index, region in enumerate(below):
                over = above[min(index, len(above) - 1)]
                ends = self._anchor(over, out=True), self._anchor(region, out=False)
                cluster.edge(*ends, style='invis', weight='30')

    def _regions_per_row(self, regions: list[str]) -> int:
        """Return the number of regions per row: a page column for diagrams is taller than wide."""
        small = not any(self._is_cluster(region) for region in regions)
        most = self.layout.columns if small else 2
        return 2 if len(regions) == 4 else most

    def _drawn_edges(self) -> dict[tuple[str, str], tuple[list[str], bool]]:
        """Return the drawn edges without duplicates, with labels and whether they are only for failures."""
        edges: dict[tuple[str, str], tuple[list[str], bool]] = {}
        for edge in self.shape.edges:
            if not edge.dest:
                continue  # it would be drawn as a loop on each state that accepts a person's input
            source, dest = (self.hidden.get(path, path) for path in (edge.source, edge.dest))
            if edge.source in self.hidden and source == dest:
                continue
            # The chart inside every agent is the same: labels there would only widen the drawing.
            words = '' if self._is_agent(parent_of(edge.source)) else edge_label(edge)
            failing = edge.trigger in ('failed', 'expired') or (not words and dest == self._failed_end)
            labels, _ = edges.setdefault((source, dest), ([], failing))
            label = words if self.layout.labels else ''
            if label and label not in labels and not failing:
                labels.append(label)
            edges[source, dest] = (labels, edges[source, dest][1] and failing)
        return edges

    def _connect(self, graph: graphviz.Digraph, edge: tuple[str, str], label: str, failing: bool) -> None:
        source, dest = edge
        options = {'id': _escape(f'e:{source}>{dest}')}
        if self._is_cluster(source):
            options['ltail'] = self._cluster(source)
        if self._is_cluster(dest):
            options['lhead'] = self._cluster(dest)
        if failing or dest.endswith('.failed'):
            options |= {'style': 'dashed', 'weight': '0'}
        elif dest.endswith('.done') or {source, dest} <= self._main | {'[*]'}:
            options['weight'] = '20'  # the usual path runs straight down
        graph.edge(
            self._anchor(source, out=True),
            self._anchor(dest, out=False),
            label='\n'.join(
                f' {_escape(line)}' for line in wrap(label, LABEL_WIDTH, max_lines=2, placeholder=' …')
            ),
            _attributes={'class': 'edge failing' if failing else 'edge'},
            **options,
        )

    def _is_cluster(self, path: str) -> bool:
        return any(child.path not in self.hidden for child in self.inside.get(path, ()))

    def _anchor(self, path: str, *, out: bool) -> str:
        """Return the node at an edge's end; for a cluster, one inside that stands for it."""
        while self._is_cluster(path):
            inner = self.inside[path]
            state = self.shape.state(path)
            if state is not None and state.kind == 'parallel':
                path = self._outermost([region.path for region in inner], out=out)
                continue
            finals = [state.path for state in inner if state.kind == 'final' and state.outcome == 'done']
            path = finals[0] if out and finals else inner[0].path
        return self._node(path)

    def _node(self, path: str) -> str:
        """Return a state's name for Graphviz: a number if it has signs that mean something there.

        Patterns cannot have such states, but an imported run can.
        """
        return path if PLAIN.fullmatch(path) else self._odd.setdefault(path, f'state {len(self._odd)}')

    def _cluster(self, path: str) -> str:
        return f'cluster_{self._node(path)}'

    def _outermost(self, regions: list[str], *, out: bool) -> str:
        """Return the largest region of the first row or, with `out`, the one that reaches furthest.

        An edge that had to pass a larger region would change the order of the regions.
        """
        rows = _rows(regions, self._regions_per_row(regions))
        if not out:
            return max(rows[0], key=self._count_drawn)
        ends: dict[str, int] = {}
        for above, below in pairwise([[''], *rows]):
            for index, region in enumerate(below):
                over = above[min(index, len(above) - 1)]
                ends[region] = ends.get(over, 0) + self._count_drawn(region)
        return max(reversed(ends), key=ends.__getitem__)

    def _count_drawn(self, path: str) -> int:
        """Count the drawn states among a state and those inside it."""
        return sum(
            is_within(state.path, path) and state.path not in self.hidden for state in self.shape.states
        )


def _rows(regions: list[str], most: int) -> list[list[str]]:
    return [regions[start : start + most] for start in range(0, len(regions), most)]


def _names(state: StateShape) -> dict[str, str]:
    return {'label': _escape(state.name.replace('_', ' ')), 'id': _escape(f's:{state.path}')}


def _escape(text: str) -> str:
    """Keep `dot` from reading escapes, markup or entities in a text, and XML from refusing its characters."""
    printable = ''.join(sign if sign.isprintable() else '\N{REPLACEMENT CHARACTER}' for sign in text)
    escaped: str = graphviz.escape(printable.replace('&', '&amp;'))
    return escaped


def highlight(
    shape: Shape,
    view: View,
    step: Transition | None,
    *,
    visited: Iterable[str] = (),
    traversed: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the highlights after `step`: states and edges by class, for the browser component."""
    leaves = list(view.active)
    # A stopped run has no active state: show those it was in.
    stopped = innermost(step.left) if step and not leaves else []
    return {
        'active': leaves,
        'inside': [path for path in view.entered if path not in leaves],
        'visited': list(visited),
        'waiting': [path for path in leaves if is_waiting_for_person(shape, path)],
        'broken': stopped if view.status is Status.FAILED else [],
        'halted': stopped if view.status is Status.CANCELLED else [],
        'taken': [edge_name(edge) for edge in step.edges] if step else [],
        'traversed': list(traversed),
    }
