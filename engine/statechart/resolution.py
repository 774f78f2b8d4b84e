"""Resolution: what edges leave and enter, and which exclude each other, as SCXML's appendix D says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.records import RUN, Edge, StatePath, StateShape, is_within
from engine.records.shape import ancestry

Active = Sequence[StatePath]
"""The active leaves, in document order."""


@dataclass(frozen=True, slots=True)
class Route:
    """An edge, and the states it leads to: its destination, or those that are remembered there."""

    edge: Edge
    targets: tuple[StatePath, ...]


class StateTree:
    """The states of a chart. In document order, a state comes before those inside it."""

    def __init__(self, states: Iterable[StateShape]) -> None:
        self.states = {state.path: state for state in states}
        self._order = {path: number for number, path in enumerate(self.states)}
        self.children: dict[StatePath, list[StatePath]] = {}
        for path, state in self.states.items():
            self.children.setdefault(state.parent, []).append(path)

    def innermost_first(self, paths: Iterable[StatePath]) -> list[StatePath]:
        """Return states in document order, but each after those inside it."""
        last = {
            path: max(self._order[inner] for inner in self.states if is_within(inner, path)) for path in paths
        }
        return sorted(last, key=lambda path: (last[path], -self._order[path]))

    def route(self, edge: Edge, history: str, left: Mapping[str, tuple[str, ...]]) -> Route:
        """Return where an edge leads.

        Args:
            edge: the edge.
            history: its kind of history, or ''.
            left: the leaves in which composites were last left.
        """
        dest = StatePath(edge.dest)
        if not history:
            return Route(edge, (dest,) if dest else ())
        leaves = [StatePath(leaf) for leaf in left.get(dest, ()) if leaf in self.states]
        if history == 'shallow':
            leaves = [
                child for child in self.children[dest] if any(is_within(leaf, child) for leaf in leaves)
            ]
        return Route(edge, tuple(leaves) or self.states[dest].initial)

    def without_conflicts(self, routes: Iterable[Route], active: Active) -> list[Route]:
        """Return the edges to take: of those that leave the same state, the inner one, else the first."""
        taken: list[Route] = []
        for route in routes:
            exits = self._exits(route, active)
            rivals = [other for other in taken if exits & self._exits(other, active)]
            if all(_is_inside(route.edge.source, other.edge.source) for other in rivals):
                taken = [*(other for other in taken if other not in rivals), route]
        return taken

    def left(self, routes: Iterable[Route], active: Active) -> list[StatePath]:
        """Return the states that edges leave, in reverse document order."""
        left = {path for route in routes for path in self._exits(route, active)}
        return sorted(left, key=lambda path: -self._order.get(path, 0))

    def entered(self, routes: Iterable[Route]) -> list[StatePath]:
        """Return the states that edges enter, in document order."""
        entered: list[StatePath] = []
        for route in routes:
            for path in self.children[self._domain(route)]:
                if _leads_into(route.targets, path):
                    entered += self._entered(path, route.targets)
        return sorted(entered, key=self._order.__getitem__)

    def leaves(
        self, active: Active, left: Sequence[StatePath], entered: Sequence[StatePath]
    ) -> list[StatePath]:
        """Return the active leaves after states were left and entered."""
        stay = [path for path in active if path not in left]
        leaves = [*stay, *(path for path in entered if path not in self.children)]
        return sorted(leaves, key=self._order.__getitem__)

    def _exits(self, route: Route, active: Active) -> set[StatePath]:
        if not route.targets:
            return set()
        domain = self._domain(route)
        return {path for leaf in active for path in ancestry(leaf) if _is_inside(path, domain)}

    def _entered(self, path: StatePath, targets: Sequence[StatePath]) -> Iterator[StatePath]:
        yield path
        inside: Sequence[StatePath] = self.children.get(path, ())
        if self.states[path].kind == 'compound':
            inside = [child for child in inside if _leads_into(targets, child)] or self.states[path].initial
        for child in inside:
            yield from self._entered(child, targets)

    def _domain(self, route: Route) -> StatePath:
        """Return the innermost composite, but no parallel one, that the edge stays inside; '' is the run."""
        for path in ancestry(route.edge.source):
            compound = path in self.states and self.states[path].kind == 'compound'
            if compound and all(_is_inside(target, path) for target in route.targets):
                return path
        return RUN


def leaves_in(paths: Iterable[StatePath], active: Active) -> dict[str, tuple[str, ...]]:
    """Return the active leaves inside each of these states."""
    return {path: tuple(leaf for leaf in active if is_within(leaf, path)) for path in paths}


def _leads_into(targets: Iterable[StatePath], path: StatePath) -> bool:
    return any(is_within(target, path) for target in targets)


def _is_inside(path: str, around: str) -> bool:
    return path != around and is_within(path, around)
