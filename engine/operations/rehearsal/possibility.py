"""Possibility: the states and edges that no order of events can exclude, from the chart alone.

It errs on one side: what it calls impossible can never happen, whatever guards answer and agents do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from engine.records import EXHAUSTED, EdgeShape, Shape, StatePath, StateShape, is_within
from engine.records.events import ENGINE_EVENTS
from engine.records.shape import ancestry, parent_of
from engine.statechart.chart import Chart
from engine.statechart.pattern import Pattern
from engine.statechart.shape_builder import START, declared_edges, listify, walk

OWN_TRIGGERS = ENGINE_EVENTS - {EXHAUSTED}
"""Triggers that follow from the chart itself. All others can come at any time: from people, or the budget."""
MAX_CASES = 10_000
"""Maximum number of cases to tell apart among the answers of guards about one event in one state."""
NONE = -1
"""Instead of the number of an edge: no edge matches."""


class Possibility:
    """The possible states and edges of a pattern's chart."""

    def __init__(self, pattern: Pattern, chart: Chart) -> None:
        self._states = chart.states
        self._timed = chart.timed
        self._children: dict[StatePath, list[StateShape]] = {}
        for state in chart.shape.states:
            self._children.setdefault(state.parent, []).append(state)
        listed = list(walk(pattern.chart_states()))
        self.declared = [(chart.shape.edges[0], {}), *declared_edges(pattern, listed)]
        """The edges of the chart, each with its declaration."""
        self.shadowed, self._certain = _shadowed_edges(self.declared)
        """Edges that no answers of guards lead to, by their number in `declared`, each with the reason; and
        sources and triggers of which one edge is always taken."""
        self._edges = [edge for n, (edge, _) in enumerate(self.declared) if n not in self.shadowed]
        self.states: set[StatePath] = {START}
        self._whole: set[StatePath] = set()
        """Those that can be entered with their initial states, and not only on the way to one inside."""
        self.edges: set[EdgeShape] = set()
        self._grow()

    def is_timed(self, path: StatePath) -> bool:
        """Return whether the state can expire."""
        return self._states[path].within is not None or path in self._timed

    def endings(self, path: StatePath) -> set[str]:
        """Return the events with which work in the state, or the state as a composite, can end."""
        state = self._states[path]
        if state.invokes:
            return {'done', 'failed'}
        if state.kind == 'compound':
            finals = self._children.get(path, ())
            return {child.outcome for child in finals if child.kind == 'final' and child.path in self.states}
        if state.kind == 'parallel':
            regions = self._children.get(path, ())
            return {'done'} if regions and all(self._can_end(region) for region in regions) else set()
        return set()

    def _can_end(self, region: StateShape) -> bool:
        return region.kind == 'final' or (region.kind != 'atomic' and bool(self.endings(region.path)))

    def can_occur(self, trigger: str, source: StatePath) -> bool:
        """Return whether the event of an edge can occur while its source is active."""
        if trigger in ('start', 'always'):
            return True
        if self.passes_through(source):
            return False
        if trigger not in OWN_TRIGGERS:
            return True
        if trigger == 'asked':
            return self._states[source].invokes
        if trigger == 'done':
            return 'done' in self.endings(source)
        return any(
            # People may stop any state: it has failed.
            (trigger == 'failed' or self.is_timed(path)) and not self._is_taken_inside(path, trigger, source)
            for path in self.states - {START}
            if is_within(path, source)
        )

    def passes_through(self, path: StatePath) -> bool:
        """Return whether a run never waits in the state: an edge without an event always leads on."""
        return (path, 'always') in self._certain

    def _is_taken_inside(self, path: StatePath, trigger: str, source: StatePath) -> bool:
        """Return whether an edge inside `source` always takes an event of `path`."""
        while path != source:
            if (path, trigger) in self._certain:
                return True
            path = parent_of(path)
        return False

    def _grow(self) -> None:
        grows = True
        while grows:
            grows = False
            for edge in self._edges:
                if edge in self.edges or edge.source not in self.states:
                    continue
                if self.can_occur(edge.trigger, edge.source):
                    self.edges.add(edge)
                    grows = True
                    if edge.dest:
                        self._enter(StatePath(edge.dest))

    def _enter(self, path: StatePath) -> None:
        """Add the states that entering this one activates. History adds none: it enters what was active."""
        chain = list(ancestry(path))
        self.states.update(chain)
        around = (self._states[state] for state in chain[1:])
        regions = (region for state in around if state.kind == 'parallel' for region in state.initial)
        waiting = [path, *(region for region in regions if region not in chain)]
        while waiting:
            entered = waiting.pop()
            if entered not in self._whole:
                self._whole.add(entered)
                self.states.add(entered)
                waiting += self._states[entered].initial


def outside_triggers(shape: Shape) -> dict[StatePath, list[str]]:
    """Return the events that states accept from outside, by state: from people, or the budget."""
    triggers: dict[StatePath, dict[str, None]] = {}
    for edge in shape.edges:
        if edge.trigger not in OWN_TRIGGERS:
            triggers.setdefault(edge.source, {})[edge.trigger] = None
    return {path: list(names) for path, names in triggers.items()}


def _shadowed_edges(
    declared: Sequence[tuple[EdgeShape, Mapping[str, Any]]],
) -> tuple[dict[int, str], set[tuple[StatePath, str]]]:
    """Return what follows from the guards of edges with one source and one trigger.

    Returns:
        The edges that are not taken, whatever guards answer: by their number, each with the reason. And
        the sources and triggers of which, whatever guards answer, one edge is taken.
    """
    groups: dict[tuple[StatePath, str], list[int]] = {}
    for number, (edge, _) in enumerate(declared):
        groups.setdefault((edge.source, edge.trigger), []).append(number)
    shadowed: dict[int, str] = {}
    certain: set[tuple[StatePath, str]] = set()
    for key, group in groups.items():
        wanted = {number: wanted_guards(declared[number][1]) for number in group}
        taken: set[int] = set()
        _follow(list(wanted.items()), {}, taken, iter(range(MAX_CASES)))
        if NONE not in taken:
            certain.add(key)
        for number in sorted(set(group) - taken):
            contradicts = len(dict(wanted[number])) < len(set(wanted[number]))
            shadowed[number] = (
                'its conditions contradict each other' if contradicts else 'an earlier edge always matches'
            )
    return shadowed, certain


def _follow(
    edges: list[tuple[int, list[tuple[Any, bool]]]],
    known: dict[Any, bool],
    taken: set[int],
    cases: Iterator[int],
) -> None:
    """Add the edges that can be the first to match, if some guards have answered already; `NONE` if none.

    All of them, if there are more than `cases` to look at.
    """
    if not edges:
        taken.add(NONE)
        return
    possible = {NONE, *(number for number, _ in edges)}
    if next(cases, None) is None:
        taken |= possible
    if taken.issuperset(possible):
        return
    (number, needed), *later = edges
    answers = dict(known)
    for guard, wanted in needed:
        if guard not in answers:
            _follow(later, {**answers, guard: not wanted}, taken, cases)
            answers[guard] = wanted
        elif answers[guard] is not wanted:
            _follow(later, answers, taken, cases)
            return
    taken.add(number)


def wanted_guards(declaration: Mapping[str, Any]) -> list[tuple[Any, bool]]:
    """Return the guards of an edge, each with the answer it needs. Two functions are two guards."""
    conditions = [(guard, True) for guard in listify(declaration.get('conditions'))]
    return [*conditions, *((guard, False) for guard in listify(declaration.get('unless')))]
