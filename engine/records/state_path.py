"""State paths: nesting of states, and which of them are active."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NewType

StatePath = NewType('StatePath', str)
"""Names of nested states from the outermost inward, joined with dots: `arguing.pro.thinking`."""

RUN = StatePath('')  # the address of a whole run


def is_active(path: str, active: Sequence[StatePath]) -> bool:
    """Return whether the state at `path` is active, directly or through a descendant."""
    if not path or path in active:
        return bool(active)
    inside = f'{path}.'
    return any([leaf.startswith(inside) for leaf in active])


def is_within(path: str, ancestor: str) -> bool:
    """Return whether `path` is `ancestor` or inside it; everything is inside the run ('')."""
    return not ancestor or path == ancestor or path.startswith(f'{ancestor}.')


def parent_of(path: str) -> StatePath:
    """Return the parent of the state at `path`; '' for an outermost one."""
    return StatePath(path.rpartition('.')[0])
