"""About what steps weigh, for a journal that writes nothing down; and whether they are all there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engine.errors import JournalConflict
from engine.records import RunId, Snapshot, Transition


def sorted_out(
    run: RunId, history: Iterable[Transition | Snapshot]
) -> tuple[list[Transition], list[Snapshot]]:
    """The steps of a history and its snapshots. Raises `JournalConflict` where a step is missing or twice."""
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


def weight_of(steps: Iterable[Transition], snapshots: Iterable[Snapshot]) -> int:
    """About what they take; to write it out for an exact answer would cost more than all the rest."""
    return sum(map(_step, steps)) + sum(_size(snapshot.state) for snapshot in snapshots)


def _step(transition: Transition) -> int:
    return 100 + _size(transition.event.data) + sum(_size(change.value) for change in transition.changes)


def _size(value: Any) -> int:
    """About what a JSON value takes."""
    if isinstance(value, Mapping):
        return sum(len(key) + _size(item) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return sum(map(_size, value))
    return len(value) if isinstance(value, str) else 5
