"""Finds states that were renamed: same content, same neighbours, and nothing else that fits as well."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from engine.records import Shape, StatePath, parent_of
from engine.records.shape import ancestry

MIN_SIMILARITY = 0.5
"""Minimum share of its edges that a renamed state has in common with the state of before."""


def find_renames(old: Shape, new: Shape) -> dict[StatePath, StatePath]:
    """Return the states with other paths, before -> now, outermost first; not those only moved with theirs.

    A state is only taken for another if no other pair is as similar, so a doubtful one is removed and added.
    """
    common = {str(state.path) for state in old.states} & {str(state.path) for state in new.states}
    outline_old, outline_new = _outline(old, common), _outline(new, common)
    renames: dict[StatePath, StatePath] = {}
    pairs = [(StatePath(''), StatePath(''))]
    while pairs:
        around, around_new = pairs.pop()
        before, now = outline_old.inside.get(around, {}), outline_new.inside.get(around_new, {})
        missing = [path for name, path in before.items() if name not in now]
        extra = [path for name, path in now.items() if name not in before]
        for path, renamed in _evident(outline_old, outline_new, missing, extra):
            renames[path] = renamed
            pairs.append((path, renamed))
        pairs += [(before[name], now[name]) for name in before if name in now]
    return renames


def moved(path: str, renames: Mapping[StatePath, StatePath]) -> StatePath:
    """Return the path of a state by its new names."""
    around = StatePath(path)
    while around and around not in renames:
        around = parent_of(around)
    return StatePath(renames[around] + path[len(around) :] if around else path)


Ends = frozenset[tuple[tuple[str, bool, str], int]]
"""How often a state has each edge: trigger, whether it leaves, and its other end if both charts have that."""


@dataclass(frozen=True, slots=True)
class _Outline:
    """What states are compared by, collected in one pass over a chart."""

    inside: Mapping[str, Mapping[str, StatePath]]
    """By the state around: the states right inside it, by name."""
    content: Mapping[str, tuple[Any, ...]]
    """By path: what a state is, and what is inside it."""
    ends: Mapping[str, Ends]
    """By path."""


def _outline(shape: Shape, common: Collection[str]) -> _Outline:
    inside: dict[str, dict[str, StatePath]] = {}
    below: dict[str, list[tuple[str, str]]] = {}
    for state in shape.states:
        inside.setdefault(state.parent, {})[state.name] = state.path
        for outer in ancestry(state.parent):
            below.setdefault(outer, []).append((state.path[len(outer) :], state.kind))
    ends: dict[str, Counter[tuple[str, bool, str]]] = {}
    for edge in shape.edges:
        for here, there, leaves in ((edge.source, edge.dest, True), (edge.dest, edge.source, False)):
            other = 'itself' if there == here else there if there in common or there == '[*]' else '?'
            ends.setdefault(here, Counter())[edge.trigger, leaves, other] += 1
    return _Outline(
        inside,
        {
            state.path: (
                state.kind, state.role, state.roles, state.waits, state.outcome, state.invokes,
                tuple(below.get(state.path, ())),
            )
            for state in shape.states
        },
        {path: frozenset(counts.items()) for path, counts in ends.items()},
    )  # fmt: skip


def _evident(
    old: _Outline, new: _Outline, missing: Sequence[StatePath], extra: Sequence[StatePath]
) -> list[tuple[StatePath, StatePath]]:
    """Return the pairs that are each other's most similar state, and alone in that."""
    alike: dict[tuple[Any, ...], list[StatePath]] = {}
    for now in extra:
        alike.setdefault(new.content[now], []).append(now)
    scores = {
        (before, now): score
        for before in missing
        for now in alike.get(old.content[before], ())
        if (score := _share(old.ends.get(before, NONE), new.ends.get(now, NONE))) >= MIN_SIMILARITY
    }
    best: dict[tuple[str, StatePath], list[float]] = {}
    for (before, now), score in scores.items():
        for side in (('old', before), ('new', now)):
            best.setdefault(side, []).append(score)
    for side, of_state in best.items():
        best[side] = heapq.nlargest(2, of_state)
    return [
        (before, now)
        for (before, now), score in scores.items()
        if best['old', before][:1] == best['new', now][:1] == [score]
        and score not in best['old', before][1:] + best['new', now][1:]
    ]


@lru_cache(maxsize=10_000)
def _share(first: Ends, second: Ends) -> float:
    """Return the share of edges in common."""
    before, now = Counter(dict(first)), Counter(dict(second))
    most = max(before.total(), now.total())
    return (before & now).total() / most if most else 1.0


NONE: Ends = frozenset()
