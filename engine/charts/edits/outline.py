"""Outline: where a chart's states and transitions stand in its text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import yaml

from engine.charts.compiling.templates import is_template
from engine.charts.edits.document import Document
from engine.errors import InvalidInput
from engine.records import RUN, StatePath
from engine.records.shape import parent_of

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
    name: yaml.ScalarNode
    """What transitions name it by: its `name`, unless that is a template, or else its key."""
    key: yaml.ScalarNode
    body: yaml.Node
    around: yaml.MappingNode
    around_key: yaml.ScalarNode

    @property
    def roles(self) -> set[str]:
        """The roles that its agent may play."""
        agent = value_at(self.body, 'agent')
        named = (agent, value_at(agent, 'role'), value_at(agent, 'roles'))
        return {role.value for node in named for role in scalars(node)}

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
    edges: Pair
    """The list that it is in, with its key."""
    body: yaml.MappingNode
    trigger: str
    ends: tuple[tuple[StatePath, str], ...]
    """Source and destination, which is '' without one."""


class Outline:
    """The states and transitions of a text."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.states = list(_states(document.root, ''))
        self.edges = list(self._edges())

    def state(self, path: str, field: str = 'state') -> StateText:
        """Return the state at a path. Raises `InvalidInput` if the text has none there, or several."""
        first, *others = self.find(path, field)
        if others:
            lines = ' and '.join(str(self.document.line(state.key)) for state in (first, *others))
            problem = f'{path!r} is written for different parameters in lines {lines}: change it there'
            raise InvalidInput({field: problem})
        return first

    def find(self, path: str, field: str) -> list[StateText]:
        """Return the states at a path: several, if it depends on parameters which is there.

        Raises:
            InvalidInput: the text has none there.
        """
        if states := [state for state in self.states if state.path == path]:
            return states
        agents = (state for state in self.states if value_at(state.body, 'agent') is not None)
        outer = next((state for state in agents if path.startswith(f'{state.path}.')), None)
        if outer is not None:
            problem = f'{path!r} is inside the agent {outer.path!r}, where nothing can be edited'
        elif any(value_at(state.body, 'for') is not None for state in self.states):
            problem = f'there is no state {path!r} in the text; states made by `for` are edited there'
        else:
            listed = ', '.join(state.path for state in self.states)
            problem = f'there is no state {path!r}; there are {listed or "none"}'
        raise InvalidInput({field: problem})

    def body(self, path: str, field: str = 'state') -> yaml.Node:
        """Return what holds the keys of a state; the whole chart for ''. Raises `InvalidInput`."""
        return self.state(path, field).body if path else self.document.root

    def children(self, path: str) -> list[StateText]:
        """Return the states right inside one; the outermost for ''."""
        return [state for state in self.states if parent_of(state.path) == path]

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
        for state in sorted(self.states, key=lambda state: -state.path.count('.')):
            yield from self._edges_in(state.path, state.body)
        yield from self._edges_in(RUN, self.document.root)

    def _edges_in(self, scope: StatePath, around: yaml.Node) -> Iterator[EdgeText]:
        edges = pair_at(around, 'transitions')
        if edges is None or not isinstance(edges[1], yaml.SequenceNode):
            return
        for index, body in enumerate(edges[1].value):
            trigger, dest = value_at(body, 'on'), value_at(body, 'to')
            if isinstance(trigger, yaml.ScalarNode):
                named = [item.value for item in scalars(value_at(body, 'from'))]
                if '*' in named:
                    named = [state.name.value for state in self.children(scope) if not state.is_final]
                target = dest.value if isinstance(dest, yaml.ScalarNode) and not is_empty(dest) else ''
                ends = (
                    (
                        self.resolve(scope, name),
                        self.resolve(scope, name if target == '=' else target) if target else '',
                    )
                    for name in named
                )
                yield EdgeText(
                    scope=scope, index=index, edges=edges, body=body, trigger=trigger.value, ends=tuple(ends)
                )


def _states(around: yaml.Node, path: str) -> Iterator[StateText]:
    for inside in INSIDES:
        pair = pair_at(around, inside)
        if pair is None or not isinstance(pair[1], yaml.MappingNode):
            continue
        for key, body in pairs_of(pair[1]):
            own = value_at(body, 'name')
            name = own if isinstance(own, yaml.ScalarNode) and not is_template(own.value) else key
            inner = StatePath(f'{path}.{name.value}' if path else name.value)
            yield StateText(path=inner, name=name, key=key, body=body, around=pair[1], around_key=pair[0])
            yield from _states(body, inner)
