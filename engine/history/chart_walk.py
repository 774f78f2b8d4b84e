"""Walks an imported trace's chart: finds the states that each edge leaves and enters."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.errors import Diverged
from engine.records import RunId, Shape, StatePath, StateShape, Transition, is_within
from engine.records.shape import parent_of
from engine.statechart.shape_builder import START


class ChartWalk:
    """A run's position in its chart, which has no guards: each step takes the edge it names.

    Args:
        states: the chart's states, outermost first.
    """

    def __init__(self, states: Iterable[StateShape]) -> None:
        self._states = {state.path: state for state in states}
        self.active: tuple[StatePath, ...] = ()

    def take_edge(
        self, source: StatePath, dest: StatePath
    ) -> tuple[tuple[StatePath, ...], tuple[StatePath, ...]]:
        """Take an edge; return the states left, innermost first, and those entered, outermost first."""
        enclosing = '' if source == START else _enclosing_state(source, dest)
        inside = f'{enclosing}.' if enclosing else ''
        top = '' if source == START else inside + source.removeprefix(inside).partition('.')[0]
        leaving = [leaf for leaf in self.active if source != START and is_within(leaf, top)]
        left: dict[StatePath, None] = {}
        for leaf in leaving:
            path = leaf
            while is_within(path, top):
                left.setdefault(path)
                if path == top:
                    break
                path = parent_of(path)
        ordered = sorted(left, key=lambda path: -path.count('.'))
        entered = list(self._enter(StatePath(enclosing), dest))
        leaves = [path for path in entered if self._is_leaf(path)]
        place = next((n for n, leaf in enumerate(self.active) if leaf in left), len(self.active))
        remaining = [leaf for leaf in self.active if leaf not in left]
        place = min(place, len(remaining))
        self.active = (*remaining[:place], *leaves, *remaining[place:])
        return tuple(ordered), tuple(entered)

    def _enter(self, enclosing: StatePath, dest: StatePath) -> Iterator[StatePath]:
        chain = [dest]
        while (above := parent_of(chain[-1])) != enclosing:
            chain.append(above)
        yield from reversed(chain)
        waiting = list(reversed(self._states[dest].initial))
        while waiting:
            path = waiting.pop()
            yield path
            waiting += reversed(self._states[path].initial)

    def _is_leaf(self, path: StatePath) -> bool:
        return self._states[path].kind in ('atomic', 'final')


def _enclosing_state(source: str, dest: str) -> str:
    """Return the innermost state that an edge stays inside."""
    shared = []
    for name, other in zip(source.split('.')[:-1], dest.split('.')[:-1], strict=False):
        if name != other:
            break
        shared.append(name)
    return '.'.join(shared)


def audit_walk(run: RunId, shape: Shape, steps: Iterable[Transition]) -> int:
    """Retake every recorded edge of an imported trace's chart.

    Returns:
        The number of steps, all as recorded.

    Raises:
        Diverged: names the first step that does not follow from the chart and the steps before it.
    """
    walk = ChartWalk(shape.states)
    edges = {(edge.trigger, edge.source, edge.dest) for edge in shape.edges}
    count = 0
    for step in steps:
        count += 1
        was = (step.left, step.entered)
        now: tuple[tuple[StatePath, ...], tuple[StatePath, ...]] = ((), ())
        for edge in step.edges:
            if (step.event.name, edge.source, edge.dest) not in edges:
                problem = f'the chart has no edge {edge.source} → {edge.dest} for {step.event.name}'
                raise Diverged(run, step.seq, problem)
            if edge.source != START and not any(is_within(leaf, edge.source) for leaf in walk.active):
                raise Diverged(run, step.seq, f'it leaves {edge.source}, which is not active')
            now = walk.take_edge(edge.source, StatePath(edge.dest))
        if was != now:
            raise Diverged(run, step.seq, f'left and entered were {was} and are now {now}')
        if step.active != walk.active:
            raise Diverged(run, step.seq, f'active was {step.active} and is now {walk.active}')
    return count
