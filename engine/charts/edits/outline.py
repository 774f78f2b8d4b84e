"""Outline: where a chart's states and transitions stand in its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from engine.charts.edits.document import Document
from engine.errors import InvalidInput
from engine.records import RUN, StatePath
from engine.records.shape import ancestry, parent_of

Pair = tuple[yaml.ScalarNode, yaml.Node]
"""A key with its value: those of charts are texts."""
INSIDES = ('states', 'parallel')
"""The keys of a state that hold states."""


def value_at(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """Return the value of a key in a mapping; None if there is none."""
    pair = pair_at(node, key)
    return pair[1] if pair else None


def pair_at(node: yaml.Node | None, key: str) -> Pair | None:
    """Return a key of a mapping with its value; None if there is none."""
    return next((pair for pair in pairs_of(node) if pair[0].value == key), None)


def pairs_of(node: yaml.Node | None) -> list[Pair]:
    """Return the keys of a mapping with their values; none if it is no mapping."""
    return node.value if isinstance(node, yaml.MappingNode) else []


def is_empty(node: yaml.Node) -> bool:
    """Return whether a value is missing, null, `{}` or `[]`."""
    return not node.value or (isinstance(node, yaml.ScalarNode) and node.tag == 'tag:yaml.org,2002:null')


def scalars(node: yaml.Node | None) -> Iterator[yaml.ScalarNode]:
    """Yield one value, or those of a list."""
    for item in node.value if isinstance(node, yaml.SequenceNode) else (node,):
        if isinstance(item, yaml.ScalarNode):
            yield item


@dataclass(frozen=True, slots=True, kw_only=True)
class StateText:
    """A state in the text: `key: body` in `around`."""

    path: StatePath
    key: yaml.ScalarNode
    body: yaml.Node
    around: yaml.MappingNode
    around_key: yaml.ScalarNode

    @property
    def is_final(self) -> bool:
        """Whether it ends what it is in."""
        final = value_at(self.body, 'final')
        return final is not None and final.value.lower() in ('true', 'yes', 'on')


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeText:
    """A transition in the text; `ends` are the edges it stands for in the diagram."""

    scope: StatePath
    """The state in which it is declared: its names are relative to that."""
    index: int
    body: yaml.MappingNode
    trigger: str
    ends: tuple[tuple[StatePath, str], ...]
    """Source and destination, which is '' without one."""


class Outline:
    """The states and transitions of a text."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.states = {state.path: state for state in _states(document.root, '')}
        self.edges = list(self._edges())

    def state(self, path: str, field: str = 'state') -> StateText:
        """Return the state at a path. Raises `InvalidInput` if the text has none there."""
        if (state := self.states.get(StatePath(path))) is not None:
            return state
        outer = next((inner for inner in ancestry(path) if inner in self.states), None)
        if outer is not None and value_at(self.states[outer].body, 'agent') is not None:
            problem = f'{path!r} is inside the agent {outer!r}, where nothing can be edited'
        elif any(value_at(state.body, 'for') is not None for state in self.states.values()):
            problem = f'there is no state {path!r} in the text; states made by `for` are edited there'
        else:
            problem = f'there is no state {path!r}; there are {", ".join(self.states) or "none"}'
        raise InvalidInput({field: problem})

    def body(self, path: str, field: str = 'state') -> yaml.Node:
        """Return what holds the keys of a state; the whole chart for ''. Raises `InvalidInput`."""
        return self.state(path, field).body if path else self.document.root

    def children(self, path: str) -> list[StateText]:
        """Return the states right inside one; the outermost for ''."""
        return [state for state in self.states.values() if parent_of(state.path) == path]

    def edge(self, trigger: str, source: str, dest: str, number: int = 0) -> EdgeText:
        """Return a transition by what the diagram shows of it. Raises `InvalidInput`."""
        same = [edge for edge in self.edges if edge.trigger == trigger and (source, dest) in edge.ends]
        if number < len(same):
            return same[number]
        known = [
            f'{edge.trigger} to {end[1] or "nowhere"}'
            for edge in self.edges
            for end in edge.ends
            if end[0] == source
        ]
        problem = f'no transition goes from {source!r} to {dest or "nowhere"!r} on {trigger!r}'
        raise InvalidInput({'edge': f'{problem}; there are: {", ".join(known) or "none"}'})

    def resolve(self, scope: str, name: str) -> StatePath:
        """Return the path of a state that is named in a scope."""
        return StatePath(f'{scope}.{name}' if scope else name)

    def _edges(self) -> Iterator[EdgeText]:
        """Yield all transitions as they are tried: those in the innermost states come first."""
        for scope in sorted(self.states, key=lambda path: -path.count('.')):
            yield from self._edges_in(scope)
        yield from self._edges_in(RUN)

    def _edges_in(self, scope: StatePath) -> Iterator[EdgeText]:
        items = value_at(self.body(scope), 'transitions')
        if not isinstance(items, yaml.SequenceNode):
            return
        for index, body in enumerate(items.value):
            trigger, dest = value_at(body, 'on'), value_at(body, 'to')
            if isinstance(trigger, yaml.ScalarNode):
                named = [item.value for item in scalars(value_at(body, 'from'))]
                if '*' in named:
                    named = [state.key.value for state in self.children(scope) if not state.is_final]
                target = dest.value if isinstance(dest, yaml.ScalarNode) and not is_empty(dest) else ''
                ends = (
                    (
                        self.resolve(scope, name),
                        self.resolve(scope, name if target == '=' else target) if target else '',
                    )
                    for name in named
                )
                yield EdgeText(scope=scope, index=index, body=body, trigger=trigger.value, ends=tuple(ends))


def _states(around: yaml.Node, path: str) -> Iterator[StateText]:
    for inside in INSIDES:
        pair = pair_at(around, inside)
        if pair is None or not isinstance(pair[1], yaml.MappingNode):
            continue
        for key, body in pairs_of(pair[1]):
            inner = StatePath(f'{path}.{key.value}' if path else key.value)
            yield StateText(path=inner, key=key, body=body, around=pair[1], around_key=pair[0])
            yield from _states(body, inner)
