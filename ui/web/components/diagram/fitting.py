"""Chooses how to draw a chart in a space of a given size, so that all of it can be read."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from engine.records import Shape
from ui.formatting.diagram.folding import fold_levels
from ui.formatting.diagram.rendering import Layout, has_graphviz, render_svg

Room = tuple[int, int]
"""Width and height of the space for a drawing, in pixels."""
COLUMN: Room = (396, 640)
"""The diagram's column on the run page, in a window of 1440 by 900."""
MIN_SCALE = 11.1 / 12
"""Pixels per unit at which text of 12 units is 11 pixels high."""
MIN_SIDEWAYS_RATIO = 1.2
"""Ratio of width to height from which a chart may run to the right."""
CARDS = (Layout(cards=True), Layout(cards=True, columns=2), Layout())
"""Layouts with room for what agents do, the best first, and one without."""
VIEW_BOX = re.compile(r'viewBox="[\d.]+ [\d.]+ ([\d.]+) ([\d.]+)"')


async def fit(
    shape: Shape, room: Room, levels: Iterable[frozenset[str]] | None = None, *, cards: bool = False
) -> tuple[str, frozenset[str]]:
    """Return the chart that fits best: the SVG ('' without `dot`), and which states are collapsed.

    Of `levels` of states to collapse, by default ever more, the first is taken that can be read at once:
    labels of edges that take too much room are dropped. With `cards`, collapsed agents have room for what
    they do, where there is enough.
    """
    levels = levels or fold_levels(shape, ())
    if not has_graphviz():
        return '', next(iter(levels))
    return await asyncio.to_thread(_fit, shape, room, levels, CARDS if cards else CARDS[-1:])


def _fit(
    shape: Shape, room: Room, levels: Iterable[frozenset[str]], layouts: Sequence[Layout]
) -> tuple[str, frozenset[str]]:
    directions = (False, True) if room[0] >= MIN_SIDEWAYS_RATIO * room[1] else (False,)
    best, chosen, scale = '', frozenset[str](), 0.0
    for folds in levels:
        for layout in layouts:
            # Labels take the most room: a chart that cannot be read without them cannot be read with them.
            bare, reached = _draw_best(shape, folds, directions, room, replace(layout, labels=False))
            if reached >= MIN_SCALE:
                labelled, large = _draw_best(shape, folds, directions, room, layout)
                return (labelled if large >= MIN_SCALE else bare), folds
            if reached >= scale:  # no smaller, but with fewer states: more of it is in sight
                best, chosen, scale = bare, folds, reached
    return best, chosen


def _draw_best(
    shape: Shape, folded: frozenset[str], directions: Sequence[bool], room: Room, layout: Layout
) -> tuple[str, float]:
    drawn = [render_svg(shape, folded, replace(layout, sideways=sideways)) for sideways in directions]
    return max(((drawing, _scale(drawing, room)) for drawing in drawn), key=lambda scaled: scaled[1])


def _scale(drawn: str, room: Room) -> float:
    """Return the pixels per unit of a drawing that fills a space."""
    width, height = map(float, VIEW_BOX.findall(drawn)[0])
    return min(room[0] / width, room[1] / height)
