"""Edits that delete a state or a transition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Literal, NamedTuple

import yaml

from engine.charts.edits.base import ChartEdit, EdgeEdit
from engine.charts.edits.document import Document
from engine.charts.edits.mentions import mentions
from engine.charts.edits.outline import EdgeText, Outline, Pair, pair_at, pairs_of, scalars, value_at
from engine.errors import InvalidInput
from engine.records import StatePath, is_within
from engine.records.shape import parent_of


class GoesToo(NamedTuple):
    """Something that is deleted with a state."""

    line: int
    words: str


class DeleteState(ChartEdit):
    """Delete a state and all in it, the transitions to and from it, and the stubs of its agents."""

    kind: Literal['delete state'] = 'delete state'
    state: StatePath

    def change(self, outline: Outline) -> None:
        """Delete it; the state that something begins in has to stay."""
        state = outline.state(self.state)
        around = parent_of(self.state)
        if state.name.value in [name.value for name in scalars(value_at(outline.body(around), 'initial'))]:
            begins = repr(str(around)) if around else 'the run'
            raise InvalidInput({'state': f'{begins} begins in it: let it begin in another state first'})
        if len(state.around.value) == 1:
            raise InvalidInput({'state': 'it is the only state there'})
        delete_key(outline.document, state.around_key, state.around, state.key)
        removed: dict[Pair, set[int]] = defaultdict(set)
        for edge, left in self._edges(outline):
            named = value_at(edge.body, 'from')
            if isinstance(named, yaml.SequenceNode) and len(left) < len(named.value):
                outline.document.delete(named, left)
            else:
                removed[edge.edges].add(edge.index)
        for edges, indices in removed.items():
            delete_edges(outline.document, edges, indices)
        for holder_key, holder, key in self._stubs(outline):
            delete_key(outline.document, holder_key, holder, key)

    def goes_too(self, text: str) -> tuple[GoesToo, ...]:
        """Return what is deleted with it, in the order of the text. Raises `InvalidInput`, as `apply`."""
        outline = Outline(Document(text))
        outline.state(self.state)
        edges = [
            GoesToo(outline.document.line(edge.body), f'{edge.trigger} from {source} to {dest or "nowhere"}')
            for edge, _ in self._edges(outline)
            for source, dest in edge.ends
            if is_within(source, self.state) or (is_within(dest, self.state) and dest)
        ]
        stubs = [
            GoesToo(outline.document.line(key), f'the stubs of {key.value}')
            for _, _, key in self._stubs(outline)
        ]
        return tuple(sorted(edges + stubs, key=lambda item: item.line))

    def _edges(self, outline: Outline) -> Iterator[tuple[EdgeText, set[int]]]:
        """Yield the transitions outside it that go, each with those of its sources that do."""
        for edge in outline.edges:
            if is_within(edge.scope, self.state) and edge.scope:
                continue
            sources = [
                outline.resolve(edge.scope, item.value) for item in scalars(value_at(edge.body, 'from'))
            ]
            left = {index for index, source in enumerate(sources) if is_within(source, self.state)}
            if any(
                dest and is_within(dest, self.state) and not is_within(source, self.state)
                for source, dest in edge.ends
            ):
                left = set(range(len(sources)))
            if left:
                yield edge, left

    def _stubs(self, outline: Outline) -> Iterator[tuple[yaml.ScalarNode, yaml.MappingNode, yaml.ScalarNode]]:
        """Yield the stubs of its agents by path: the key of their mapping, the mapping, and the key in it."""
        root = outline.document.root
        roles = {mention.node.value for mention in mentions(outline) if mention.kind == 'role'}
        scenarios = value_at(root, 'scenarios')
        for holder in (root, *(scenarios.value if isinstance(scenarios, yaml.SequenceNode) else ())):
            pair = pair_at(holder, 'stubs')
            if pair and isinstance(pair[1], yaml.MappingNode):
                for name, _ in pairs_of(pair[1]):
                    if is_within(name.value, self.state) and name.value not in roles:
                        yield pair[0], pair[1], name


class DeleteEdge(EdgeEdit):
    """Delete a transition; from a list of sources, one source."""

    kind: Literal['delete edge'] = 'delete edge'

    def change(self, outline: Outline) -> None:
        """Delete it."""
        edge = outline.edge(self.trigger, self.source, self.dest, self.number)
        named = value_at(edge.body, 'from')
        sources = [outline.resolve(edge.scope, item.value) for item in scalars(named)]
        if self.source not in sources:
            line = outline.document.line(edge.body)
            raise InvalidInput(
                {'edge': f'it goes from every state: change line {line}, which stands for all of them'}
            )
        if isinstance(named, yaml.SequenceNode) and len(sources) > 1:
            outline.document.delete(named, {sources.index(self.source)})
        else:
            delete_edges(outline.document, edge.edges, {edge.index})


def delete_edges(document: Document, edges: Pair, indices: Collection[int]) -> None:
    """Delete transitions from a list."""
    key, items = edges
    assert isinstance(items, yaml.SequenceNode)
    if len(indices) < len(items.value):
        document.delete(items, indices)
    else:
        document.empty(key, items)


def delete_key(document: Document, holder_key: yaml.Node, holder: yaml.MappingNode, key: yaml.Node) -> None:
    """Delete an entry of a mapping, which is at a key itself."""
    if len(holder.value) == 1:
        document.empty(holder_key, holder)
    else:
        document.delete(holder, {[name for name, _ in holder.value].index(key)})
