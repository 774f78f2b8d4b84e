"""Refusals: what of a chart's text does not load, and where that is."""

from __future__ import annotations

from collections.abc import Iterator

import yaml

from engine.charts.export.writing import Place
from engine.charts.pattern import load_chart
from engine.charts.reading import Problems, read_chart
from engine.errors import InvalidInput


def refusals(text: str) -> dict[Place, str]:
    """Return why a text is no chart that works, by place: all places in the line that the problem names."""
    try:
        load_chart(text)
    except InvalidInput as error:
        places = list(_places(read_chart(text, Problems('chart'))[0].root, ()))
        problems: dict[Place, str] = {}
        for where, problem in error.problems.items():
            number = int(where.rpartition(':')[2])
            line = max((at for at, _ in places if at <= number), default=0)
            problems |= {place: problem for at, place in places if at == line} or {(): problem}
        return problems
    return {}


def _places(node: yaml.Node, around: Place) -> Iterator[tuple[int, Place]]:
    """Yield each entry in a node, with its line."""
    entries: list[tuple[yaml.Node, yaml.Node, str | int]] = []
    if isinstance(node, yaml.MappingNode):
        entries = [(key, value, key.value) for key, value in node.value]
    elif isinstance(node, yaml.SequenceNode):
        entries = [(item, item, number) for number, item in enumerate(node.value)]
    for start, value, step in entries:
        yield start.start_mark.line + 1, (*around, step)
        yield from _places(value, (*around, step))
