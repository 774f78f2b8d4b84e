"""Edits that delete a state or a transition."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import Literal, NamedTuple

import yaml

from engine.charts.edits.base import ChartEdit, EdgeEdit
from engine.charts.edits.document import Document
from engine.charts.edits.outline import (
    EdgeText,
    Outline,
    Pair,
    StateText,
    pair_at,
    pairs_of,
    scalars,
    value_at,
)
from engine.errors import InvalidInput
from engine.records import StatePath, is_within
from engine.records.shape import parent_of


class GoesToo(NamedTuple):
    """Something that is deleted with a state."""

    line: int
    words: str


Stubs = tuple[yaml.ScalarNode, yaml.MappingNode, yaml.ScalarNode]
"""The key of a mapping with stubs, the mapping, and a key in it."""


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
            _delete_edges(outline.document, edges, indices)
        for stubs in self._stubs(outline):
            delete_key(outline.document, *stubs)

    def goes_too(self, text: str) -> tuple[GoesToo, ...]:
        """Return what is deleted with it, in the order of the text. Raises `InvalidInput`, as `apply`."""
        outline = Outline(Document(text))
        outline.state(self.state)
        pieces: list[tuple[yaml.Node, str]] = [
            (edge.body, f'{edge.trigger} from {source} to {dest or "nowhere"}')
            for edge, _ in self._edges(outline)
            for source, dest in edge.ends
            if is_within(source, self.state) or (is_within(dest, self.state) and dest)
        ]
        pieces += [(key, f'the stubs of {key.value}') for _, _, key in self._stubs(outline)]
        pieces.sort(key=lambda piece: int(piece[0].start_mark.index))
        return tuple(GoesToo(outline.document.line(node), words) for node, words in pieces)

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

    def _stubs(self, outline: Outline) -> Iterator[Stubs]:
        """Yield the stubs of its agents, and of roles that nobody plays without it."""
        stay = [state for state in outline.states if not is_within(state.path, self.state)]
        return stubs_of_nobody(outline, stay)


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
            _delete_edges(outline.document, edge.edges, {edge.index})


def stubs_of_nobody(
    outline: Outline, stay: Sequence[StateText], others: Collection[str] = ()
) -> Iterator[Stubs]:
    """Yield the stubs of agents that are there no longer.

    Args:
        outline: the chart before.
        stay: the states that stay.
        others: further roles and paths of agents that stay.
    """
    before = _answerers(outline.states)
    after = _answerers(stay) | set(others)
    root, scenarios = outline.document.root, value_at(outline.document.root, 'scenarios')
    for holder in (root, *(scenarios.value if isinstance(scenarios, yaml.SequenceNode) else ())):
        pair = pair_at(holder, 'stubs')
        if pair and isinstance(pair[1], yaml.MappingNode):
            for name, _ in pairs_of(pair[1]):
                if name.value in before - after:
                    yield pair[0], pair[1], name


def _answerers(states: Sequence[StateText]) -> set[str]:
    """Return what stubs name agents by: the paths of their states, and their roles."""
    agents = [state for state in states if state.roles]
    return {state.path for state in agents} | {role for state in agents for role in state.roles}


def _delete_edges(document: Document, edges: Pair, indices: Collection[int]) -> None:
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
