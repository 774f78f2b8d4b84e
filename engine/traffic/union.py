"""One chart for runs whose charts differ: all their states and edges on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.outline import EdgeShape, Shape, StateShape
from engine.path import StatePath


def union(shapes: Sequence[Shape]) -> Shape:
    """All states and edges of these charts, each once; where they differ in more, the first one is right.

    How many work side by side may depend on a run's parameters, and a pattern may have changed between runs.

    Raises:
        ValueError: there is none.
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
