"""Mermaid writer: writes a Shape as a state diagram (`stateDiagram-v2`)."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace

from engine.records import EdgeShape, Shape, StatePath, StateShape, ancestry
from engine.statechart import START, guard_words

KEYWORDS = (
    """state note end as direction class classdef style default click href hide scale choice fork join"""
)
RESERVED = frozenset(KEYWORDS.split())
"""Mermaid's own keywords, which cannot name states."""
ESCAPED = {ord(sign): f'#{ord(sign)};' for sign in '"#;:<>{}%`&\\'}
"""Characters that are special in Mermaid, as numeric escapes."""
NO_BREAK = f'#{0xA0};'
INDENT = '    '


def mermaid(shape: Shape, *, folded: bool | Collection[str] = False) -> str:
    """Return the chart as Mermaid text, with guards as labels.

    Nested states are written inside their parents, the regions of a parallel state with `--` between them. An
    agent nested deeper in a region is always collapsed: Mermaid (11) misreads edges to composites there and
    cannot lay them out. Edges triggered only by the end of a state's work are labelled with their guards
    alone.

    Args:
        shape: the chart.
        folded: which states to collapse: all agents, none, or the states at these paths.
    """
    return '\n'.join(['stateDiagram-v2', *_Writer(shape, folded).lines('', INDENT)]) + '\n'


def edge_label(edge: EdgeShape) -> str:
    """Return the label of an edge: its event, unless that is an end or a start, its guards, H for history."""
    guards = ', '.join(filter(None, edge.words or guard_words(edge, {})))
    trigger = '' if edge.trigger in ('done', 'always', 'start') else edge.trigger.replace('_', ' ')
    history = {'shallow': '(H)', 'deep': '(H*)'}.get(edge.history, '')
    return ' '.join(filter(None, [trigger, f'[{guards}]' if trigger and guards else guards, history]))


class _Writer:
    def __init__(self, shape: Shape, folded: bool | Collection[str]) -> None:
        parallel = [state.path for state in shape.states if state.kind == 'parallel']
        inside = tuple(f'{path}.' for path in parallel)
        deep: set[str] = {state.path for state in shape.states if state.parent.startswith(inside or '.')}
        named = set() if isinstance(folded, bool) else set(folded)
        closed = {
            f'{state.path}.'
            for state in shape.states
            if state.path in named or (state.role and (folded is True or state.path in deep))
        }
        seen = [state for state in shape.states if not state.path.startswith(tuple(closed) or '.')]
        self._inside: dict[str, list[StateShape]] = {}
        for state in seen:
            self._inside.setdefault(state.parent, []).append(state)
        self._parents: dict[str, str] = {state.path: state.parent for state in seen}
        self._parallel = {state.path for state in seen if state.kind == 'parallel'}
        self._ids = _ids(state.path for state in seen)
        self._edges: dict[str, list[EdgeShape]] = {}
        for edge in dict.fromkeys(map(self._project_edge, shape.edges)):
            if edge is not None:
                self._edges.setdefault(self._home(edge), []).append(edge)
        self._initial = {'': (shape.initial,)} | {state.path: state.initial for state in seen}

    def _project_edge(self, edge: EdgeShape) -> EdgeShape | None:
        """Return the edge between the visible states at its ends; None if inside one, or the start."""
        source, dest = self._visible_ancestor(edge.source), self._visible_ancestor(edge.dest)
        if not source or (source != edge.source and dest in ('', source)):
            return None
        return replace(edge, source=StatePath(source), dest=dest)

    def _visible_ancestor(self, path: str) -> str:
        return next((around for around in ancestry(path) if around in self._ids), '')

    def _home(self, edge: EdgeShape) -> str:
        """Return the state in whose block an edge is written: Mermaid requires both ends in one block."""
        source = self._parents[edge.source]
        within = source == self._parents[edge.dest or edge.source] and source not in self._parallel
        return source if within else ''

    def lines(self, parent: str, indent: str) -> Iterator[str]:
        for path in () if parent in self._parallel else self._initial[parent]:
            yield f'{indent}{START} --> {self._ids[path]}'
        for number, state in enumerate(self._inside.get(parent, ())):
            if parent in self._parallel:
                yield from [f'{indent}--'] if number else []
                yield f'{indent}{START} --> {self._ids[state.path]}'
            yield from self._state(state, indent)
        for edge in self._edges.get(parent, ()):
            label = edge_label(edge)
            dest = self._ids[edge.dest or edge.source]
            yield f'{indent}{self._ids[edge.source]} --> {dest}{f": {_escape_text(label)}" if label else ""}'
        for state in self._inside.get(parent, ()):
            if state.kind == 'final':
                yield f'{indent}{self._ids[state.path]} --> {START}'

    def _state(self, state: StateShape, indent: str) -> Iterator[str]:
        name = f'{indent}state "{_escape_text(state.name.replace("_", " "))}" as {self._ids[state.path]}'
        if state.path not in self._inside:
            yield name
            return
        yield f'{name} {{'
        yield from self.lines(state.path, indent + INDENT)
        yield f'{indent}}}'


def _ids(paths: Iterable[str]) -> dict[str, str]:
    """Return a unique identifier for each state: letters, digits and underscores."""
    ids: dict[str, str] = {}
    taken: set[str] = set()
    for path in paths:
        name = re.sub(r'[^A-Za-z0-9_]', '_', path.replace('.', '__'))
        while name.lower() in RESERVED or name.lower() in taken:
            name += '_'
        ids[path] = name
        taken.add(name.lower())
    return ids


def _escape_text(text: str) -> str:
    escaped = ' '.join(text.split()).translate(ESCAPED)
    # Mermaid mistakes any line with these words for a layout direction.
    return re.sub(r'\b(direction) (?=tb|bt|lr|rl)', rf'\1{NO_BREAK}', escaped, flags=re.I)
