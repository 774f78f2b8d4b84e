"""Compares two charts: what was added, removed, renamed and changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from engine.charts.difference.records import (
    EdgeDifference,
    FieldChange,
    ShapeDifference,
    StateDifference,
)
from engine.charts.difference.renames import find_renames, moved
from engine.records import EdgeShape, Shape, StatePath, StateShape, parent_of

STATE_FIELDS = (
    'kind', 'initial', 'outcome', 'role', 'roles', 'invokes', 'waits', 'within', 'criteria', 'caption',
    'seat',
)  # fmt: skip
EDGE_FIELDS = ('trigger', 'dest', 'conditions', 'unless', 'history', 'words')
CHART_FIELDS = ('title', 'initial', 'answer', 'caveat', 'panels', 'marks')
PASSES: tuple[tuple[str, ...], ...] = (
    ('source', *EDGE_FIELDS),
    ('source', 'dest', 'trigger'),
    ('source', 'dest'),
    ('source', 'trigger', 'conditions', 'unless'),
)
"""The fields in which two edges agree to be taken for the same one: first all, then ever fewer."""


def compare_shapes(old: Shape, new: Shape) -> ShapeDifference:
    """Return what changed from `old` to `new`.

    A state is renamed if that is evident: what it is, what is inside it and most of its edges are the same.
    """
    renames = find_renames(old, new)
    renamed = _rename(old, renames)
    names = {now: before for before, now in renames.items()}
    edges = _pair_edges(renamed.edges, new.edges)
    return ShapeDifference(
        old=renamed,
        new=new,
        renamed=tuple(renames.items()),
        states=tuple(_states(renamed, new, names)),
        edges=tuple(
            EdgeDifference(old=before, new=now, changes=changes)
            for before, now in edges
            if (changes := _changes(before, now, EDGE_FIELDS)) or before is None or now is None
        ),
        reordered=tuple(_reordered(renamed.edges, edges)),
        changes=_changes(renamed, new, CHART_FIELDS),
    )


def _rename(shape: Shape, renames: Mapping[StatePath, StatePath]) -> Shape:
    """Return a chart with the new names of its states."""

    def state(before: StateShape) -> StateShape:
        path = moved(before.path, renames)
        return replace(
            before,
            path=path,
            name=path.rpartition('.')[2],
            parent=parent_of(path),
            initial=tuple(moved(inner, renames) for inner in before.initial),
        )

    def edge(before: EdgeShape) -> EdgeShape:
        dest = moved(before.dest, renames) if before.dest else ''
        return replace(before, source=moved(before.source, renames), dest=dest)

    return replace(
        shape,
        initial=moved(shape.initial, renames),
        states=tuple(map(state, shape.states)),
        edges=tuple(map(edge, shape.edges)),
    )


def _states(old: Shape, new: Shape, names: Mapping[StatePath, StatePath]) -> Iterator[StateDifference]:
    """Yield the states that differ in the order of the new chart, then those removed; by the new names."""
    before, now = ({state.path: state for state in shape.states} for shape in (old, new))
    for path, state in now.items():
        earlier = before.get(path)
        changes = _changes(earlier, state, STATE_FIELDS)
        if path in names:
            name = FieldChange(field='name', old=names[path].rpartition('.')[2], new=state.name)
            changes = (name, *changes)
        if earlier is None or changes:
            yield StateDifference(old=earlier, new=state, path=path, changes=changes)
    for path, state in before.items():
        if path not in now:
            yield StateDifference(old=state, path=path)


def _changes(old: Any, new: Any, fields: Sequence[str]) -> tuple[FieldChange, ...]:
    if old is None or new is None:
        return ()
    values = ((name, getattr(old, name), getattr(new, name)) for name in fields)
    return tuple(
        FieldChange(field=name, old=before, new=now) for name, before, now in values if before != now
    )


EdgePair = tuple[EdgeShape | None, EdgeShape | None]


def _pair_edges(old: Sequence[EdgeShape], new: Sequence[EdgeShape]) -> list[EdgePair]:
    """Return each edge with its counterpart: in the order of the new chart, then those removed."""
    left = list(range(len(old)))
    partners: dict[int, int] = {}
    for fields in PASSES:
        key = _key(fields)
        waiting: dict[tuple[Any, ...], list[int]] = {}
        for at in left:
            waiting.setdefault(key(old[at]), []).append(at)
        for at, edge in enumerate(new):
            if at not in partners and (same := waiting.get(key(edge))):
                partners[at] = same.pop(0)
        left = sorted(set(left) - set(partners.values()))
    pairs: list[EdgePair] = [
        (old[partners[at]] if at in partners else None, edge) for at, edge in enumerate(new)
    ]
    return [*pairs, *((old[at], None) for at in left)]


def _key(fields: Sequence[str]) -> Callable[[EdgeShape], tuple[Any, ...]]:
    return lambda edge: tuple(getattr(edge, name) for name in fields)


def _reordered(old: Sequence[EdgeShape], pairs: Sequence[EdgePair]) -> Iterator[tuple[StatePath, str]]:
    """Yield the states and events whose edges, as far as both charts have them, are in another order."""
    places = {id(edge): at for at, edge in enumerate(old)}
    orders: dict[tuple[StatePath, str], list[int]] = {}
    for before, now in pairs:
        if before is not None and now is not None and before.trigger == now.trigger:
            orders.setdefault((now.source, now.trigger), []).append(places[id(before)])
    yield from (key for key, order in orders.items() if order != sorted(order))
