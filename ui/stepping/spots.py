"""Breakpoints as marks on the diagram: where they are, which are disabled, and which one was hit."""

from __future__ import annotations

from collections.abc import Container, Sequence

from engine import Breakpoint
from ui.drawing.overlays import Spot, Spots
from ui.stepping.words import label

FULL, HOLLOW, STRUCK = '●', '○', '◉'
"""A breakpoint; one that is disabled; one that holds the run now."""


def spots(breakpoints: Sequence[Breakpoint], hit: Container[str] = ()) -> Spots:
    """The marks of a run's breakpoints; those that are anywhere have none.

    Args:
        breakpoints: all of them.
        hit: the numbers of those that hold the run now.
    """
    states: dict[str, list[Breakpoint]] = {}
    edges: dict[str, list[Breakpoint]] = {}
    for item in breakpoints:
        if path := item.enter or item.leave:
            states.setdefault(path, []).append(item)
        elif item.edge:
            edges.setdefault(item.edge, []).append(item)
    return {
        'states': {path: _spot(several, hit) for path, several in states.items()},
        'edges': {name: _spot(several, hit) for name, several in edges.items()},
    }


def _spot(several: Sequence[Breakpoint], hit: Container[str]) -> Spot:
    live = any(item.enabled for item in several)
    struck = any(item.id in hit for item in several)
    return {
        'classes': 'halt halt-hit' if struck else 'halt' if live else 'halt-off',
        'badge': ' '.join(dict.fromkeys(_badge(item, hit) for item in several)),
        'title': '\n'.join(_title(item, hit) for item in several),
    }


def _badge(item: Breakpoint, hit: Container[str]) -> str:
    dot = STRUCK if item.id in hit else FULL if item.enabled else HOLLOW
    if item.when:
        dot += '?'
    return f'→{dot}' if item.enter else f'{dot}→' if item.leave else dot


def _title(item: Breakpoint, hit: Container[str]) -> str:
    state = ' (holds it now)' if item.id in hit else '' if item.enabled else ' (off)'
    return f'Breakpoint {item.id}: {label(item)}{state}'
