"""History checks for a journal that serializes nothing: completeness and estimated size."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.errors import JournalConflict
from engine.records import RunId, Snapshot, Transition


def split_history(
    run: RunId, history: Iterable[Transition | Snapshot]
) -> tuple[list[Transition], list[Snapshot]]:
    """Separate steps from snapshots. Raises `JournalConflict` if a step is missing or duplicated."""
    steps: list[Transition] = []
    snapshots: list[Snapshot] = []
    for item in history:
        if isinstance(item, Snapshot):
            snapshots.append(item)
            continue
        steps.append(item)
        if item.seq != len(steps):
            raise JournalConflict(run, item.seq)
    return steps, snapshots


def estimate_size(steps: Iterable[Transition], snapshots: Iterable[Snapshot]) -> int:
    """Return the approximate size in bytes; serializing for the exact one would cost more than all else."""
    return sum(map(_step, steps)) + sum(_size(snapshot.state) for snapshot in snapshots)


def _step(transition: Transition) -> int:
    return 100 + _size(transition.event.data) + sum(_size(change.value) for change in transition.changes)


def _size(value: Any) -> int:
    """Return the approximate size of a JSON value in bytes."""
    if isinstance(value, Mapping):
        return sum(len(key) + _size(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return len(value) if isinstance(value, str) else 5
