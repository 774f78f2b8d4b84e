"""Writing: a chart as the text of a file, with comments where something cannot be said."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from engine.charts.edits.spelling import STEP, spell_entry, spell_key

Place = tuple[str | int, ...]
Notes = Mapping[Place, Sequence[str]]
"""What cannot be said, by the place of an entry."""
MARK = 'cannot be said'


def write_chart(chart: Mapping[str, Any], notes: Notes) -> str:
    """Return the text of a chart file; notes become comments before their entries, or the nearest around."""
    chart = {key: value for key, value in chart.items() if value not in ({}, [], '', None)}
    noted: dict[Place, list[str]] = {}
    for place, texts in notes.items():
        there = next(place[:end] for end in range(len(place), -1, -1) if _is_at(chart, place[:end]))
        noted.setdefault(there, []).extend(texts)
    lines = [f'# {MARK}: {text}' for text in noted.pop((), ())]
    for key, value in chart.items():
        lines += _entry(f'{spell_key(key)}:', value, 0, (key,), noted)
    return '\n'.join(lines) + '\n'


def _entry(prefix: str, value: Any, indent: int, place: Place, notes: Notes) -> Iterator[str]:
    """Yield the lines of an entry, with the comments before it and in it."""
    yield from (f'{" " * indent}# {MARK}: {text}' for text in notes.get(place, ()))
    inside = [other for other in notes if len(other) > len(place) and other[: len(place)] == place]
    nested = isinstance(value, Mapping | list) and bool(value)
    simple = isinstance(value, list) and not any(isinstance(item, Mapping) for item in value)
    if not nested or not (inside or (len(place) == 1 and not simple)):
        first, *more = spell_entry(prefix, value, indent)
        yield ' ' * indent + first
        yield from more
        return
    inner = indent + STEP
    lines = [
        line
        for entry in _entries(value)
        for line in _entry(entry[1], entry[2], inner, (*place, entry[0]), notes)
    ]
    if prefix == '-' and not lines[0].lstrip().startswith('#'):
        yield f'{" " * indent}- {lines[0].lstrip()}'
        yield from lines[1:]
    else:
        yield ' ' * indent + prefix
        yield from lines


def _entries(value: Any) -> Collection[tuple[str | int, str, Any]]:
    if isinstance(value, Mapping):
        return [(key, f'{spell_key(key)}:', item) for key, item in value.items()]
    return [(number, '-', item) for number, item in enumerate(value)]


def _is_at(value: Any, place: Place) -> bool:
    for step in place:
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return False
    return True
