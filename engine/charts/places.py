"""Places: where in a chart file its states and edges are written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from engine.charts.format import ChartFile, Edge, State
from engine.charts.reading import Place, Tree
from engine.charts.source import EdgeSource


def walk_states(file: ChartFile) -> Iterator[tuple[str, Place, State]]:
    """Yield each state with its path, `*` for what a template fills in, and its place in the file."""
    yield from _walk(file.states, '', ('states',))


def state_lines(file: ChartFile, tree: Tree) -> dict[str, int]:
    """Return the line of each state, by its path."""
    return {path: tree.line(at) for path, at, _ in walk_states(file)}


def edge_sources(file: ChartFile, tree: Tree) -> Iterator[EdgeSource]:
    """Yield the edges, those of the outermost list first."""
    yield from _edges(file.transitions, '', ('transitions',), file.states, tree)
    for path, at, state in walk_states(file):
        children = state.parallel or state.states
        yield from _edges(state.transitions, path, (*at, 'transitions'), children, tree)


def _walk(states: Mapping[str, State | None], around: str, at: Place) -> Iterator[tuple[str, Place, State]]:
    for key, each in states.items():
        state = each or State()
        path, place = f'{around}{_name(key, state)}', (*at, key)
        yield path, place, state
        inside = 'parallel' if state.parallel else 'states'
        yield from _walk(state.parallel or state.states, f'{path}.', (*place, inside))


def _name(key: str, state: State) -> str:
    return re.sub(r'\{\{.*?\}\}', '*', state.name or key)


def _edges(
    edges: tuple[Edge, ...], scope: str, at: Place, states: Mapping[str, State | None], tree: Tree
) -> Iterator[EdgeSource]:
    prefix = f'{scope}.' if scope else ''
    every = [_name(key, state or State()) for key, state in states.items() if not (state and state.final)]
    for index, edge in enumerate(edges):
        sources = every if '*' in edge.from_ else edge.from_
        yield EdgeSource(
            index=index,
            scope=scope,
            trigger=edge.on,
            sources=tuple(f'{prefix}{name}' for name in sources),
            dest='' if edge.to in (None, '=') else f'{prefix}{edge.to}',
            line=tree.line((*at, index)),
        )
