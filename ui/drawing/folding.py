"""Which states of a chart are drawn as one, so that it can be read."""

from __future__ import annotations

from engine import Shape

MOST_STATES = 24
"""States that are drawn where nobody has said anything: more are too small to be read in a column."""


def agents_of(shape: Shape) -> frozenset[str]:
    """The paths of the states that hold agents."""
    return frozenset(str(state.path) for state in shape.states if state.role)


def foldable(shape: Shape) -> dict[str, int]:
    """The states that hold others, each with how deep it is itself, in the order of the chart."""
    parents = {str(state.parent) for state in shape.states}
    found = [str(state.path) for state in shape.states if state.path in parents]
    return {path: path.count('.') for path in sorted(found, key=_order(shape).__getitem__)}


def readable(shape: Shape) -> frozenset[str]:
    """What is folded at first: as little as can be read, the outermost states being unfolded first.

    States that are alike (as deep, as many inside) are unfolded together or not at all, agents last.
    """
    folded, agents = frozenset(foldable(shape)), agents_of(shape)
    alike: dict[tuple[bool, int, bool, int], set[str]] = {}
    for path, depth in foldable(shape).items():
        inside = [state for state in shape.states if state.parent == path]
        state = shape.state(path)
        beside = state is not None and state.kind == 'parallel'
        alike.setdefault((path in agents, depth, not beside, len(inside)), set()).add(path)
    for _, group in sorted(alike.items()):
        seen = {path for path in group if not any(_inside(path, other) for other in folded)}
        if drawn(shape, folded - seen) <= MOST_STATES:
            folded -= seen
    return folded


def drawn(shape: Shape, folded: frozenset[str]) -> int:
    """How many states are drawn."""
    return sum(not any(_inside(state.path, path) for path in folded) for state in shape.states)


def unfolded(folded: frozenset[str], path: str) -> frozenset[str]:
    """What stays folded when the states inside `path` are to be seen: nothing around it."""
    return frozenset(other for other in folded if other != path and not _inside(path, other))


def around(shape: Shape, folded: frozenset[str], path: str) -> str:
    """The innermost state in or around `path` that is drawn and holds others, or ''."""
    return max(
        (
            holder
            for holder in foldable(shape)
            if (holder == path or _inside(path, holder)) and not any(_inside(holder, one) for one in folded)
        ),
        key=len,
        default='',
    )


def _inside(path: str, outer: str) -> bool:
    return path.startswith(f'{outer}.')


def _order(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Where each state stands if those inside a state come right after it."""
    places: dict[str, tuple[int, ...]] = {'': ()}
    for number, state in enumerate(shape.states):
        places[str(state.path)] = (*places[str(state.parent)], number)
    return places
