"""Breakpoints as badges on the diagram: where they are, which are disabled, which was hit."""

from __future__ import annotations

from collections.abc import Container, Sequence

from engine import Breakpoint
from ui.formatting.debugger import breakpoint_label
from ui.formatting.diagram.overlays import Decoration, Layer

FULL, HOLLOW, STRUCK = '●', '○', '◉'
"""A breakpoint; a disabled one; one that has paused the run."""


def breakpoint_layer(breakpoints: Sequence[Breakpoint], hit: Container[str] = ()) -> Layer:
    """Return the badges of a run's breakpoints; those without a place have none.

    Args:
        breakpoints: all of them.
        hit: the numbers of those that have paused the run.
    """
    states: dict[str, list[Breakpoint]] = {}
    edges: dict[str, list[Breakpoint]] = {}
    for item in breakpoints:
        if path := item.enter or item.leave:
            states.setdefault(path, []).append(item)
        elif item.edge:
            edges.setdefault(item.edge, []).append(item)
    return {
        'states': {path: _decorate(several, hit) for path, several in states.items()},
        'edges': {name: _decorate(several, hit) for name, several in edges.items()},
    }


def _decorate(several: Sequence[Breakpoint], hit: Container[str]) -> Decoration:
    live = any(item.enabled for item in several)
    struck = any(item.id in hit for item in several)
    return {
        'classes': 'breakpoint breakpoint-hit' if struck else 'breakpoint' if live else 'breakpoint-off',
        'badge': ' '.join(dict.fromkeys(_badge(item, hit) for item in several)),
        'title': '\n'.join(_badge_title(item, hit) for item in several),
    }


def _badge(item: Breakpoint, hit: Container[str]) -> str:
    dot = STRUCK if item.id in hit else FULL if item.enabled else HOLLOW
    if item.when:
        dot += '?'
    return f'→{dot}' if item.enter else f'{dot}→' if item.leave else dot


def _badge_title(item: Breakpoint, hit: Container[str]) -> str:
    state = ' (paused here)' if item.id in hit else '' if item.enabled else ' (off)'
    return f'Breakpoint {item.id}: {breakpoint_label(item)}{state}'
