"""Overlays of a diagram: classes, badges and titles on states and edges, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypedDict, TypeVar

V = TypeVar('V')


class Decoration(TypedDict, total=False):
    """Decorates one state or edge; every part is optional.

    Decorations of states that are folded into one are merged: classes, badges and titles are joined, and the
    highest weight wins. Use `visible_ancestor` to sum values up instead.
    """

    classes: str
    """CSS classes, separated by spaces; none of those in `rendering.highlight`."""
    badge: str
    """A few characters at the corner of a state or in the middle of an edge."""
    title: str
    """A tooltip. The page must state the same elsewhere, too."""
    weight: float
    """From 0 to 1; available to CSS as `--weight`."""


class Layer(TypedDict, total=False):
    """Decorations that one part of the page adds to a diagram."""

    states: Mapping[str, Decoration]
    """By state path."""
    edges: Mapping[str, Decoration]
    """By edge name (`ui.formatting.steps.edge_name`)."""


def visible_ancestor(path: str, folded: frozenset[str]) -> str:
    """Return the drawn state for `path`: the outermost folded state around it, or itself."""
    names = path.split('.')
    around = ('.'.join(names[:size]) for size in range(1, len(names)))
    return next((outer for outer in around if outer in folded), path)


def visible_edge(name: str, folded: frozenset[str]) -> str:
    """Return the drawn edge for this one; '' if it is inside a folded state."""
    source, _, dest = name.partition('>')
    ends = visible_ancestor(source, folded), visible_ancestor(dest, folded)
    return '' if ends[0] == ends[1] and source != dest else '>'.join(ends)


def aggregate(
    values: Mapping[str, V], folded: frozenset[str], merge: Callable[[list[V]], V], *, edges: bool = False
) -> dict[str, V]:
    """Combine the values of states or edges, by `merge`, into one for each that is drawn."""
    find = visible_edge if edges else visible_ancestor
    grouped: dict[str, list[V]] = {}
    for name, value in values.items():
        if at := find(name, folded):
            grouped.setdefault(at, []).append(value)
    return {at: merge(several) for at, several in grouped.items()}
