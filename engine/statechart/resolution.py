"""Resolution: what edges leave and enter, and which exclude each other, as SCXML's appendix D says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from engine.records import RUN, Edge, StatePath, StateShape, is_within
from engine.records.shape import ancestry, parent_of

Active = Sequence[StatePath]
"""The active leaves, in document order."""


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

    def without_conflicts(self, edges: Iterable[Edge], active: Active) -> list[Edge]:
        """Return the edges to take: of those that leave the same state, the inner one, else the first."""
        taken: list[Edge] = []
        for edge in edges:
            exits = self._exits(edge, active)
            rivals = [other for other in taken if exits & self._exits(other, active)]
            if all(_is_inside(edge.source, other.source) for other in rivals):
                taken = [*(other for other in taken if other not in rivals), edge]
        return taken

    def left(self, edges: Iterable[Edge], active: Active) -> list[StatePath]:
        """Return the states that edges leave, in reverse document order."""
        left = {path for edge in edges for path in self._exits(edge, active)}
        return sorted(left, key=lambda path: -self._order.get(path, 0))

    def entered(self, edges: Iterable[Edge]) -> list[StatePath]:
        """Return the states that edges enter, in document order."""
        entered: list[StatePath] = []
        for edge in edges:
            if edge.dest:
                top = next(path for path in self.children[self._domain(edge)] if is_within(edge.dest, path))
                entered += self._entered(top, edge.dest)
        return sorted(entered, key=self._order.__getitem__)

    def leaves(
        self, active: Active, left: Sequence[StatePath], entered: Sequence[StatePath]
    ) -> list[StatePath]:
        """Return the active leaves after states were left and entered."""
        stay = [path for path in active if path not in left]
        leaves = [*stay, *(path for path in entered if path not in self.children)]
        return sorted(leaves, key=self._order.__getitem__)

    def _exits(self, edge: Edge, active: Active) -> set[StatePath]:
        if not edge.dest:
            return set()
        domain = self._domain(edge)
        return {path for leaf in active for path in ancestry(leaf) if _is_inside(path, domain)}

    def _entered(self, path: StatePath, dest: str) -> Iterator[StatePath]:
        yield path
        inside: Sequence[StatePath] = self.children.get(path, ())
        if self.states[path].kind == 'compound':
            inside = [child for child in inside if is_within(dest, child)] or self.states[path].initial
        for child in inside:
            yield from self._entered(child, dest)

    def _domain(self, edge: Edge) -> StatePath:
        """Return the innermost composite, but no parallel one, that the edge stays inside; '' is the run."""
        if self._is_compound(edge.source) and _is_inside(edge.dest, edge.source):
            return edge.source
        around = ancestry(parent_of(edge.source))
        return next((path for path in around if self._is_compound(path) and _is_inside(edge.dest, path)), RUN)

    def _is_compound(self, path: StatePath) -> bool:
        return path in self.states and self.states[path].kind == 'compound'


def _is_inside(path: str, around: str) -> bool:
    return path != around and is_within(path, around)
