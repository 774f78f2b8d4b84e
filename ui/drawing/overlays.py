"""Overlays of a diagram: classes, badges and titles on states and edges, as plain data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypedDict, TypeVar

V = TypeVar('V')


class Spot(TypedDict, total=False):
    """What is put on one state or edge; all of it may be missing.

    Where several fall on what stands for them in a folded drawing, their classes, badges and titles are put
    together, and the greatest weight holds. `standing` says what falls where, for those who rather add up.
    """

    classes: str
    """Names for the style sheet, with spaces between; none of those that `ui.drawing.diagram.lit` gives."""
    badge: str
    """A few characters: at a state's corner, or in the middle of an edge."""
    title: str
    """A sentence that is shown under the pointer. The page must say it in some other place, too."""
    weight: float
    """From 0 to 1: the style sheet has it as `--weight`."""


class Spots(TypedDict, total=False):
    """One layer of an overlay."""

    states: Mapping[str, Spot]
    """Per state's path."""
    edges: Mapping[str, Spot]
    """Per edge's name (`ui.drawing.diagram.edge_id`)."""


def standing(path: str, folded: frozenset[str]) -> str:
    """The state that is drawn for `path`: the outermost of those around it that are folded, or itself."""
    names = path.split('.')
    around = ('.'.join(names[:size]) for size in range(1, len(names)))
    return next((outer for outer in around if outer in folded), path)


def standing_edge(name: str, folded: frozenset[str]) -> str:
    """The edge that is drawn for one of this name; '' where it is inside of a folded state."""
    source, _, dest = name.partition('>')
    ends = standing(source, folded), standing(dest, folded)
    return '' if ends[0] == ends[1] and source != dest else '>'.join(ends)


def together(
    values: Mapping[str, V], folded: frozenset[str], merge: Callable[[list[V]], V], *, edges: bool = False
) -> dict[str, V]:
    """Values of states, or of edges, as one for each that is drawn: `merge` makes one of several."""
    find = standing_edge if edges else standing
    found: dict[str, list[V]] = {}
    for name, value in values.items():
        if at := find(name, folded):
            found.setdefault(at, []).append(value)
    return {at: merge(several) for at, several in found.items()}
