"""Merges different charts into one with all their states and edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.records.shape import EdgeShape, Shape, StateShape
from engine.records.state_path import StatePath


def merge_shapes(shapes: Sequence[Shape]) -> Shape:
    """Merge charts: each state and edge appears once; for other differences, the first chart wins.

    Charts of one pattern differ because the number of parallel agents may depend on a run's parameters, and
    because a pattern may change between runs.

    Raises:
        ValueError: no chart was given.
    """
    if not shapes:
        raise ValueError('there is no chart to draw')
    states: dict[StatePath, StateShape] = {}
    edges: dict[EdgeShape, None] = {}
    for shape in shapes:
        for state in shape.states:
            known = states.setdefault(state.path, state)
            if known.kind == 'atomic' and state.kind in ('compound', 'parallel'):
                states[state.path] = replace(known, kind=state.kind, initial=state.initial)
        edges.update(dict.fromkeys(shape.edges))
    return replace(shapes[0], states=tuple(states.values()), edges=tuple(edges))
