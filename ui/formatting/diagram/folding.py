"""Chooses which states of a chart to collapse, to keep it readable."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.records import Shape, is_within, parent_of

MAX_STATES = 24
"""Maximum number of states drawn by default: more would be too small to read in a column."""
MAX_REGIONS = 40
"""Maximum including the regions of parallel states, which are drawn side by side in rows."""


def agent_paths(shape: Shape) -> frozenset[str]:
    """Return the paths of states that hold agents."""
    return frozenset(str(state.path) for state in shape.states if state.role)


def card_paths(shape: Shape) -> frozenset[str]:
    """Return the paths of states that are drawn as one card each: agents, each with what is around it alone.

    What is around it is the region of an agent beside others, or its seat: where a person acts for it.
    """
    agents = agent_paths(shape)
    outer = {path: _around_alone(shape, agents, path) for path in agents}
    return frozenset(
        outer[path] or path for path in agents if not any(_is_inside(path, other) for other in agents)
    )


def _around_alone(shape: Shape, agents: frozenset[str], path: str) -> str:
    """Return the state around an agent if it is a region or seat with no other agent, or ''."""
    around = shape.state(parent_of(path))
    if around is None or around.kind == 'parallel':
        return ''
    siblings = [state for state in shape.states if state.parent == around.path]
    outer = shape.state(around.parent)
    is_region = outer is not None and outer.kind == 'parallel'
    alone = not any(_is_inside(other, around.path) for other in agents if not is_within(other, path))
    return str(around.path) if alone and (is_region or any(state.seat for state in siblings)) else ''


def foldable_states(shape: Shape) -> dict[str, int]:
    """Return composite states with their depth, in chart order."""
    parents = {str(state.parent) for state in shape.states}
    composites = [str(state.path) for state in shape.states if state.path in parents]
    return {path: path.count('.') for path in sorted(composites, key=_order(shape).__getitem__)}


def default_folds(shape: Shape) -> frozenset[str]:
    """Return the states to collapse at first: the fewest that keep it readable, outer ones expanded first.

    Agents are collapsed, each to one card. Other states that are similar (same depth, as many children) are
    expanded together or not at all. The regions of an outermost parallel state are shown up to `MAX_REGIONS`.
    """
    folded, closed = frozenset(foldable_states(shape)), closed_states(shape)
    alike: dict[tuple[int, bool, int], set[str]] = {}
    for path, depth in foldable_states(shape).items():
        if path in closed:
            continue
        inside = [state for state in shape.states if state.parent == path]
        state = shape.state(path)
        is_parallel = state is not None and state.kind == 'parallel'
        alike.setdefault((depth, not is_parallel, len(inside)), set()).add(path)
    for (depth, not_parallel, _), group in sorted(alike.items()):
        most = MAX_STATES if depth or not_parallel else MAX_REGIONS
        seen = {path for path in group if not any(_is_inside(path, other) for other in folded)}
        if count_drawn(shape, folded - seen) <= most:
            folded -= seen
    return folded


def closed_states(shape: Shape) -> frozenset[str]:
    """Return the composite states that open only on request: agents and what is inside their cards."""
    cards = card_paths(shape)
    return frozenset(path for path in foldable_states(shape) if any(is_within(path, card) for card in cards))


def composites_around(shape: Shape, active: Sequence[str], *, opened: bool = False) -> frozenset[str]:
    """Return the composite states around active ones, with `opened` also those that open only on request."""
    around = {path for path in foldable_states(shape) if any(_is_inside(leaf, path) for leaf in active)}
    return frozenset(around) - (frozenset() if opened else closed_states(shape))


def fold_levels(shape: Shape, active: Sequence[str], *, opened: bool = False) -> Iterator[frozenset[str]]:
    """Yield ever larger sets of states to collapse: inactive ones first, then active ones from the inside.

    With `opened`, active agents are collapsed no sooner than other active states.
    """
    parts, inside = foldable_states(shape), composites_around(shape, active, opened=opened)
    folded = default_folds(shape)
    for path in sorted(inside & folded, key=parts.__getitem__):
        if count_drawn(shape, folded - {path}) <= MAX_REGIONS:
            folded -= {path}
    yield folded
    for group in (parts.keys() - inside, {path for path in inside if parts[path]}):
        for depth in sorted({parts[path] for path in group - folded}, reverse=True):
            folded |= {path for path in group if parts[path] == depth}
            yield folded


def count_drawn(shape: Shape, folded: frozenset[str]) -> int:
    """Return the number of states drawn when these are folded."""
    return sum(not any(_is_inside(state.path, path) for path in folded) for state in shape.states)


def unfold(folded: frozenset[str], path: str) -> frozenset[str]:
    """Return the states that stay collapsed when those inside `path` are shown: none that contains it."""
    return frozenset(other for other in folded if other != path and not _is_inside(path, other))


def enclosing_composite(shape: Shape, folded: frozenset[str], path: str) -> str:
    """Return the innermost drawn composite state at or around `path`, or ''."""
    return max(
        (
            holder
            for holder in foldable_states(shape)
            if (holder == path or _is_inside(path, holder))
            and not any(_is_inside(holder, outer) for outer in folded)
        ),
        key=len,
        default='',
    )


def _is_inside(path: str, outer: str) -> bool:
    return path.startswith(f'{outer}.')


def _order(shape: Shape) -> dict[str, tuple[int, ...]]:
    """Return positions in an order where children directly follow their parent."""
    places: dict[str, tuple[int, ...]] = {'': ()}
    for number, state in enumerate(shape.states):
        places[str(state.path)] = (*places[str(state.parent)], number)
    return places
