"""Failure edges as badges: a small cross on the state they leave, instead of a long arc."""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree import ElementTree

SVG = 'http://www.w3.org/2000/svg'
RADIUS, ARM = 6.5, 2.6
"""Radius of the badge's circle, and half the width of its cross, in units of the drawing."""
STEP = 16.0
"""Distance between the badges of a state."""

ElementTree.register_namespace('', SVG)
ElementTree.register_namespace('xlink', 'http://www.w3.org/1999/xlink')


def add_failure_badges(drawn: str, edges: Iterable[tuple[str, str]]) -> str:
    """Add a badge for each edge (source, destination) to a drawing, at the lower right of its source."""
    root = ElementTree.fromstring(drawn)
    graph = root.find(f'{{{SVG}}}g')
    places: dict[str, int] = {}
    states = {group.get('id'): group for group in root.iter(f'{{{SVG}}}g')}
    for source, dest in edges:
        corner = _corner(states.get(f's:{source}'))
        if graph is None or corner is None:
            continue
        place = places[source] = places.get(source, -1) + 1
        x, y = corner[0] - 7 - STEP * place, corner[1]
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


def _corner(state: ElementTree.Element | None) -> tuple[float, float] | None:
    """Return the lower right corner of a drawn state."""
    for name, attribute in (('path', 'd'), ('polygon', 'points')):
        found = state.find(f'{{{SVG}}}{name}') if state is not None else None
        if found is not None:
            numbers = [float(number) for number in re.findall(r'-?[\d.]+', found.get(attribute, ''))]
            return max(numbers[::2]), max(numbers[1::2])
    return None
