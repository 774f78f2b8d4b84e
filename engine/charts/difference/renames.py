"""Finds states that were renamed: same content, same neighbours, and nothing else that fits as well."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from engine.records import Shape, StatePath, StateShape, is_within, parent_of

MIN_SIMILARITY = 0.5
"""Minimum share of its edges that a renamed state has in common with the state of before."""


def find_renames(old: Shape, new: Shape) -> dict[StatePath, StatePath]:
    """Return the states with other paths, before -> now, outermost first; not those only moved with theirs.

    A state is only taken for another if no other pair is as similar, so a doubtful one is removed and added.
    """
    renames: dict[StatePath, StatePath] = {}
    inside_old, inside_new = _children(old), _children(new)
    pairs = [(StatePath(''), StatePath(''))]
    while pairs:
        around, around_new = pairs.pop()
        before = {state.name: state for state in inside_old.get(around, ())}
        now = {state.name: state for state in inside_new.get(around_new, ())}
        missing = [state for name, state in before.items() if name not in now]
        extra = [state for name, state in now.items() if name not in before]
        for state, renamed in _evident(old, new, missing, extra):
            renames[state.path] = renamed.path
            pairs.append((state.path, renamed.path))
        pairs += [(before[name].path, now[name].path) for name in before if name in now]
    return renames


def moved(path: str, renames: Mapping[StatePath, StatePath]) -> StatePath:
    """Return the path of a state by its new names."""
    around = StatePath(path)
    while around and around not in renames:
        around = parent_of(around)
    return StatePath(renames[around] + path[len(around) :] if around else path)


def _children(shape: Shape) -> dict[str, list[StateShape]]:
    inside: dict[str, list[StateShape]] = {}
    for state in shape.states:
        inside.setdefault(state.parent, []).append(state)
    return inside


def _evident(
    old: Shape, new: Shape, missing: Sequence[StateShape], extra: Sequence[StateShape]
) -> list[tuple[StateShape, StateShape]]:
    """Return the pairs that are each other's most similar state, and alone in that."""
    scores = {
        (before, now): score
        for before in missing
        for now in extra
        if (score := _similarity(old, new, before, now)) >= MIN_SIMILARITY
    }
    return [
        (before, now)
        for (before, now), score in scores.items()
        if all(
            score > other
            for pair, other in scores.items()
            if pair != (before, now) and (pair[0] is before or pair[1] is now)
        )
    ]


def _similarity(old: Shape, new: Shape, before: StateShape, now: StateShape) -> float:
    """Return the share of edges in common; 0 if what the states are or contain differs."""
    if _content(old, before) != _content(new, now):
        return 0.0
    common = {str(state.path) for state in old.states} & {str(state.path) for state in new.states}
    first, second = _edges(old, before.path, common), _edges(new, now.path, common)
    most = max(first.total(), second.total())
    return (first & second).total() / most if most else 1.0


def _content(shape: Shape, state: StateShape) -> tuple[Any, ...]:
    inside = tuple(
        (other.path[len(state.path) :], other.kind) for other in shape.states if _is_below(other, state)
    )
    return (state.kind, state.role, state.roles, state.waits, state.outcome, state.invokes, inside)


def _is_below(state: StateShape, outer: StateShape) -> bool:
    return state is not outer and is_within(state.path, outer.path)


def _edges(shape: Shape, path: str, common: set[str]) -> Counter[tuple[str, bool, str]]:
    """Count the edges of a state: trigger, whether it leaves, and its other end if both charts have that."""
    ends: Counter[tuple[str, bool, str]] = Counter()
    for edge in shape.edges:
        for here, there, leaves in ((edge.source, edge.dest, True), (edge.dest, edge.source, False)):
            if here == path:
                other = 'itself' if there == path else there if there in common or there == '[*]' else '?'
                ends[edge.trigger, leaves, other] += 1
    return ends
