"""Short ways to write charts."""

from __future__ import annotations

from typing import Any

from engine.records import StatePath, StateShape


def state(path: str, kind: str = 'atomic', **fields: Any) -> StateShape:
    """A state of a chart, placed by its path."""
    parent, _, name = path.rpartition('.')
    return StateShape(path=StatePath(path), name=name, parent=StatePath(parent), kind=kind, **fields)  # type: ignore[arg-type]
