"""Records of a difference: states, edges and fields that were added, removed or changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from engine.records import EdgeShape, Shape, StatePath, StateShape

Kind = Literal['added', 'removed', 'changed']


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """A field of a state, an edge or the chart that has another value."""

    field: str
    """Its name in the record; `name` for a state that was renamed."""
    old: Any
    new: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class StateDifference:
    """A state that differs: one of `old` and `new` is None if it was added or removed."""

    old: StateShape | None = None
    new: StateShape | None = None
    path: StatePath
    """Where it is in the drawing of both: by the new names."""
    changes: tuple[FieldChange, ...] = ()

    @property
    def kind(self) -> Kind:
        """What happened to it."""
        return 'added' if self.old is None else 'removed' if self.new is None else 'changed'


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeDifference:
    """An edge that differs: one of `old` and `new` is None if it was added or removed."""

    old: EdgeShape | None = None
    """With the new names of its states."""
    new: EdgeShape | None = None
    changes: tuple[FieldChange, ...] = ()

    @property
    def kind(self) -> Kind:
        """What happened to it."""
        return 'added' if self.old is None else 'removed' if self.new is None else 'changed'

    @property
    def is_redirected(self) -> bool:
        """Whether it leads elsewhere; a drawing then shows one edge less and one more."""
        return any(change.field == 'dest' for change in self.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeDifference:
    """What changed from one chart to another."""

    old: Shape
    """With the new names of its states."""
    new: Shape
    renamed: tuple[tuple[StatePath, StatePath], ...] = ()
    """States with other paths, before and now; not those inside them."""
    states: tuple[StateDifference, ...] = ()
    edges: tuple[EdgeDifference, ...] = ()
    reordered: tuple[tuple[StatePath, str], ...] = ()
    """States and events whose edges are tried in another order."""
    changes: tuple[FieldChange, ...] = ()
    """Other fields of the chart: `title`, `initial`, `answer`, `caveat`, `panels`, `marks`."""

    def __bool__(self) -> bool:
        """Whether the charts differ at all."""
        return bool(self.states or self.edges or self.reordered or self.changes)

    def outermost(self) -> Iterator[StateDifference]:
        """Yield the states that differ, without those inside one that was added or removed."""
        whole = {state.path for state in self.states if state.kind != 'changed'}
        for state in self.states:
            if state.kind == 'changed' or state.path.rpartition('.')[0] not in whole:
                yield state
