"""Failures in a drawing: badges on the states they leave, and one line to where the run fails."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from xml.etree import ElementTree

SVG = 'http://www.w3.org/2000/svg'
RADIUS, ARM = 6.5, 2.6
"""Radius of the badge's circle, and half the width of its cross, in units of the drawing."""
STEP = 16.0
"""Distance between the badges of a state."""
GUTTER, CURVE, TIP = 18.0, 7.0, 7.0
"""Width of the room for the line, radius of its corners, and length of its arrow."""
Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Point = tuple[float, float]

ElementTree.register_namespace('', SVG)
ElementTree.register_namespace('xlink', 'http://www.w3.org/1999/xlink')


def add_gutter(drawn: str, edges: Sequence[tuple[str, str]], *, sideways: bool) -> str:
    """Draw these edges (source, destination) along the right of a drawing, or `sideways` along its bottom.

    They lie behind the states, so that they cross none.
    """
    root = ElementTree.fromstring(drawn)
    graph = root.find(f'{{{SVG}}}g')
    if graph is None or not edges:
        return drawn
    boxes = {group.get('id'): _box(group) for group in root.iter(f'{{{SVG}}}g')}
    x, y, width, height = map(float, root.get('viewBox', '').split())
    left, top = map(float, re.findall(r'translate\(([-\d.]+)[ ,]([-\d.]+)\)', graph.get('transform', ''))[0])
    line = (height + y - top if sideways else width + x - left) + GUTTER / 2
    root.set('viewBox', f'{x:g} {y:g} {width + GUTTER * (not sideways):g} {height + GUTTER * sideways:g}')
    for side in ('width', 'height'):
        root.attrib.pop(side, None)
    group = ElementTree.Element(f'{{{SVG}}}g', {'class': 'gutter'})
    graph.insert(next(at for at, part in enumerate(graph) if part.tag == f'{{{SVG}}}g'), group)
    for source, dest in edges:
        start, end = boxes.get(f's:{source}'), boxes.get(f's:{dest}')
        if start and end:
            _draw_edge(
                group, f'e:{source}>{dest}', _route(start, end, line, sideways=sideways), sideways=sideways
            )
    return ElementTree.tostring(root, encoding='unicode')


def _route(start: Box, end: Box, line: float, *, sideways: bool) -> list[Point]:
    """Return the corners of an edge from one box out to the line, along it, and back in to the other."""
    ends = [
        (box[3], (box[0] + box[2]) / 2) if sideways else (box[2], (box[1] + box[3]) / 2)
        for box in (start, end)
    ]
    (out, here), (back, there) = ends
    corners = [(out, here), (line, here), (line, there), (back + TIP, there)]
    return [(across, along) if sideways is False else (along, across) for across, along in corners]


def _draw_edge(group: ElementTree.Element, name: str, corners: Sequence[Point], *, sideways: bool) -> None:
    edge = ElementTree.SubElement(group, f'{{{SVG}}}g', {'id': name, 'class': 'edge failing'})
    ElementTree.SubElement(edge, f'{{{SVG}}}path', {'d': _rounded(corners), 'fill': 'none', 'stroke': 'gray'})
    x, y = corners[-1]
    tip = (
        [(x, y - TIP), (x - 3.2, y), (x + 3.2, y)] if sideways else [(x - TIP, y), (x, y - 3.2), (x, y + 3.2)]
    )
    points = ' '.join(f'{a:g},{b:g}' for a, b in tip)
    ElementTree.SubElement(edge, f'{{{SVG}}}polygon', {'points': points, 'fill': 'gray', 'stroke': 'gray'})


def _rounded(corners: Sequence[Point]) -> str:
    """Return a path through corners that it rounds, written like those of `dot`: as Bézier curves alone."""
    first, *inner, last = corners
    text, at = f'M{first[0]:g},{first[1]:g}', first
    for corner, after in zip(inner, [*inner[1:], last], strict=True):
        before, beyond = _towards(corner, at), _towards(corner, after)
        text += _curve(at, before, before) + _curve(corner, corner, beyond)
        at = beyond
    return text + _curve(at, last, last)


def _curve(*points: Point) -> str:
    return 'C' + ' '.join(f'{x:g},{y:g}' for x, y in points)


def _towards(corner: Point, other: Point) -> Point:
    """Return the point where the rounding of a corner begins, on the way to another."""
    x, y = other[0] - corner[0], other[1] - corner[1]
    length = max(abs(x), abs(y))  # the way is level or upright
    share = min(CURVE / length, 0.5) if length else 0
    return corner[0] + x * share, corner[1] + y * share


def add_failure_badges(drawn: str, edges: Iterable[tuple[str, str]]) -> str:
    """Add a badge for each edge (source, destination) to a drawing, at the lower right of its source."""
    root = ElementTree.fromstring(drawn)
    graph = root.find(f'{{{SVG}}}g')
    places: dict[str, int] = {}
    states = {group.get('id'): group for group in root.iter(f'{{{SVG}}}g')}
    for source, dest in edges:
        box = _box(states.get(f's:{source}'))
        if graph is None or box is None:
            continue
        place = places[source] = places.get(source, -1) + 1
        x, y = box[2] - 7 - STEP * place, box[3]
        badge = ElementTree.SubElement(
            graph, f'{{{SVG}}}g', {'id': f'e:{source}>{dest}', 'class': 'edge failing badge'}
        )
        ElementTree.SubElement(badge, f'{{{SVG}}}title').text = f'On failure: to {dest}'
        circle = {'cx': f'{x:g}', 'cy': f'{y:g}', 'r': f'{RADIUS:g}', 'fill': 'white', 'stroke': 'gray'}
        ElementTree.SubElement(badge, f'{{{SVG}}}circle', circle)
        left, right, top, bottom = x - ARM, x + ARM, y - ARM, y + ARM
        cross = f'M{left:g},{top:g}L{right:g},{bottom:g}M{right:g},{top:g}L{left:g},{bottom:g}'
        ElementTree.SubElement(badge, f'{{{SVG}}}path', {'d': cross, 'fill': 'none', 'stroke': 'gray'})
    return ElementTree.tostring(root, encoding='unicode')


def _box(state: ElementTree.Element | None) -> Box | None:
    """Return the box of a drawn state; the outermost, if it has several outlines."""
    if state is None:
        return None
    outlines = [outline.get('d', '') for outline in state.findall(f'{{{SVG}}}path')]
    outlines += [outline.get('points', '') for outline in state.findall(f'{{{SVG}}}polygon')]
    numbers = [float(number) for outline in outlines for number in re.findall(r'-?[\d.]+', outline)]
    xs, ys = numbers[::2], numbers[1::2]
    return (min(xs), min(ys), max(xs), max(ys)) if xs else None
