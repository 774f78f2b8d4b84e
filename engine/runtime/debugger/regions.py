"""Regions of a chart: finds the region a state is in, and whether a state's contents have ended."""

from __future__ import annotations

from collections.abc import Sequence
from posixpath import commonpath

from engine.records.shape import RUN, Shape, StatePath, ancestry, is_active, is_within, parent_of


def region_of(shape: Shape, path: str) -> StatePath:
    """Return the innermost region that contains or is the state at `path`; '' is the whole run.

    A region runs in parallel with others: it is a direct child of a parallel state.
    """
    for inner in ancestry(path):
        around = shape.state(parent_of(inner))
        if around is not None and around.kind == 'parallel':
            return inner
    return RUN


def nearest(path: str, active: Sequence[StatePath]) -> StatePath:
    """Return the state at `path`, or its innermost active ancestor; '' is the whole run."""
    return next((around for around in ancestry(path) if is_active(around, active)), RUN)


def innermost_common(leaves: Sequence[StatePath]) -> StatePath:
    """Return the innermost state that contains all these leaves; '' is the whole run."""
    paths = ['/' + parent_of(leaf).replace('.', '/') for leaf in leaves]
    return StatePath(commonpath(paths).strip('/').replace('/', '.') if paths else '')


def has_ended(shape: Shape, path: str, active: Sequence[StatePath]) -> bool:
    """Return whether everything inside the state at `path` has ended; `active` are the leaves."""
    state = shape.state(path)
    if state is None or not is_active(path, active):
        return False
    if state.kind == 'final':
        return True
    children = [child for child in shape.states if child.parent == path]
    if state.kind == 'parallel':
        return all(has_ended(shape, child.path, active) for child in children)
    return any(child.kind == 'final' and child.path in active for child in children)


def of_workflow(shape: Shape, path: str) -> bool:
    """Return whether the state at `path` belongs to the workflow: outside agents' charts, or one's end."""
    inside = [state for state in shape.states if state.role and is_within(path, state.path)]
    if all(state.path == path for state in inside):
        return True
    state = shape.state(path)
    return state is not None and state.kind == 'final'
