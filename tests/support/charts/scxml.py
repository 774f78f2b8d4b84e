"""SCXML: the algorithm of the W3C recommendation's appendix D, to compare the engine with.

Names are those of the recommendation, and its functions are kept close to its text. Where Hemicycle differs
on purpose, a comment starts with `Ours`; the guide has a table of these.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from engine import Pattern, Transition
from engine.statechart.chart import Microstep
from engine.statechart.shape_builder import edge_of, listify, walk

LIMIT = 100
EXACT = ('done', 'asked', 'always')


class Endless(Exception):
    """Microsteps follow each other without an end."""


@dataclass(eq=False)
class State:
    """An element `state`, `parallel` or `final`."""

    id: str
    parent: State | None
    order: int
    declared: Any
    children: list[State] = field(default_factory=list)
    transitions: list[Arc] = field(default_factory=list)

    @property
    def kind(self) -> str:
        if self.declared.get('parallel'):
            return 'parallel'
        return 'compound' if self.children else 'final' if self.declared.get('final') else 'atomic'

    @property
    def initial(self) -> list[State]:
        if self.kind == 'parallel':
            return self.children
        return [child for child in self.children if child.declared['name'] == self.declared['initial']]

    @property
    def proper_ancestors(self) -> list[State]:
        return [self.parent, *self.parent.proper_ancestors] if self.parent else []

    def is_descendant(self, other: State) -> bool:
        return other in self.proper_ancestors


@dataclass(eq=False)
class Arc:
    """An element `transition`."""

    event: str
    source: State
    target: State | None
    declared: Any


@dataclass
class Step:
    """A microstep, with its event."""

    event: str
    at: str
    left: list[str]
    entered: list[str]
    active: list[str]
    edges: list[tuple[str, str]]

    @classmethod
    def of(cls, step: Microstep | Transition) -> Step:
        """Return the engine's."""
        edges = [(edge.source, edge.dest) for edge in step.edges]
        return cls(step.event.name, step.event.at, [*step.left], [*step.entered], [*step.active], edges)


class Interpreter:
    """Interprets the chart of a pattern.

    Args:
        pattern: the pattern.
        guard: answers a condition.
        run: executes content: `on_enter`, `on_exit`, `before` or `after`.
    """

    def __init__(
        self,
        pattern: Pattern,
        *,
        guard: Callable[[str], bool] = lambda name: True,
        run: Callable[[Any], None] = lambda content: None,
    ) -> None:
        self.guard, self.run = guard, run
        self.root = State('', None, 0, {})
        self.by_id = {'': self.root}
        for path, parent, declared in walk(pattern.chart_states()):
            state = State(path, self.by_id[parent], len(self.by_id), declared)
            self.by_id[path] = state
            self.by_id[parent].children.append(state)
        for scope in reversed(self.by_id.values()):  # Ours: the innermost declaration of an edge is first.
            edges = scope.declared.get('transitions', ()) if scope.parent else pattern.chart_transitions()
            for edge in map(edge_of, edges):
                self._add(scope, edge)
        self.begin = Arc('start', self.root, self.by_id[pattern.initial], {})
        self.configuration: set[State] = set()
        self.history_value: dict[tuple[State, str], list[State]] = {}
        self.internal_queue: deque[tuple[str, str]] = deque()
        self.running = True

    def _add(self, scope: State, edge: dict[str, Any]) -> None:
        prefix = f'{scope.id}.' if scope.id else ''
        every = [child.declared['name'] for child in scope.children if child.kind != 'final']
        for name in every if edge['source'] == '*' else listify(edge['source']):
            source, dest = self.by_id[prefix + name], name if edge['dest'] == '=' else edge['dest']
            target = self.by_id[prefix + dest] if dest else None
            source.transitions.append(Arc(edge['trigger'], source, target, edge))

    # procedure mainEventLoop: one external event, and what follows from it

    def send(self, event: str, at: str = '') -> list[Step]:
        enabled = [self.begin] if event == 'start' else self.select_transitions(event, at)
        steps: list[Step] = []
        while enabled and self.running:
            steps.append(self.microstep(enabled, event, at))
            if len(steps) == LIMIT:
                raise Endless
            enabled = []
            # Ours: one eventless transition a microstep, and the event is addressed to its source.
            for arc in self.select_transitions('always')[:1]:
                event, at, enabled = 'always', arc.source.id, [arc]
            while not enabled and self.internal_queue:
                event, at = self.internal_queue.popleft()
                enabled = self.select_transitions(event, at)
        return steps

    # function selectTransitions, selectEventlessTransitions

    def select_transitions(self, event: str, at: str = '') -> list[Arc]:
        # Ours: an event with an address is seen by that state and, except for `done`, by those around it.
        seen_by = [self.by_id[at]] if at else self.atomic_states()
        enabled: dict[Arc, None] = {}
        for seeing in seen_by:
            chain = [seeing, *([] if at and event in EXACT else seeing.proper_ancestors)]
            arcs = (arc for state in chain if state in self.configuration for arc in state.transitions)
            taken = (arc for arc in arcs if arc.event == event and self.condition_match(arc))
            enabled |= dict.fromkeys([arc for arc in [next(taken, None)] if arc])
        return self.remove_conflicting_transitions(enabled)

    def condition_match(self, arc: Arc) -> bool:
        return all(map(self.guard, listify(arc.declared.get('conditions')))) and not any(
            map(self.guard, listify(arc.declared.get('unless')))
        )

    def remove_conflicting_transitions(self, enabled: Iterable[Arc]) -> list[Arc]:
        filtered: list[Arc] = []
        for t1 in enabled:
            preempted, to_remove = False, list[Arc]()
            for t2 in filtered:
                if self.compute_exit_set([t1]) & self.compute_exit_set([t2]):
                    if t1.source.is_descendant(t2.source):
                        to_remove.append(t2)
                    else:
                        preempted = True
                        break
            if not preempted:
                filtered = [*(t3 for t3 in filtered if t3 not in to_remove), t1]
        return filtered

    # procedure microstep, exitStates, enterStates

    def microstep(self, enabled: list[Arc], event: str, at: str) -> Step:
        for arc in enabled:
            self.run(arc.declared.get('before'))  # Ours: before the exits; there, all content is after them.
        left = list(reversed(in_order(self.compute_exit_set(enabled))))
        for state in left:
            inside = [inner for inner in in_order(self.configuration) if inner.is_descendant(state)]
            self.history_value[state, 'deep'] = [inner for inner in inside if not inner.children]
            self.history_value[state, 'shallow'] = [inner for inner in inside if inner.parent is state]
        for state in left:
            self.run(state.declared.get('on_exit'))
            self.configuration.remove(state)
        entered = in_order(self.compute_entry_set(enabled))
        for state in entered:
            self.configuration.add(state)
            self.run(state.declared.get('on_enter'))
            if state.kind == 'final':
                self.raise_done(state)
        for arc in enabled:
            self.run(arc.declared.get('after'))  # Ours: after the entries.
        edges = [(arc.source.id or '[*]', arc.target.id if arc.target else '') for arc in enabled]
        return Step(event, at, ids(left), ids(entered), ids(self.atomic_states()), edges)

    def raise_done(self, state: State) -> None:
        if state.parent is self.root:
            self.running = False
            return
        assert state.parent and state.parent.parent
        # Ours: `failed` instead of `done`, if the final state says so.
        self.internal_queue.append((state.declared.get('outcome', 'done'), state.parent.id))
        grandparent = state.parent.parent
        # Ours: on through parallel states in parallel states; there, only the grandparent is looked at.
        while grandparent.kind == 'parallel' and self.is_in_final_state(grandparent):
            self.internal_queue.append(('done', grandparent.id))
            assert grandparent.parent
            grandparent = grandparent.parent

    def is_in_final_state(self, state: State) -> bool:
        if state.kind == 'parallel':
            return all(map(self.is_in_final_state, state.children))
        return any(child.kind == 'final' and child in self.configuration for child in state.children)

    def compute_exit_set(self, arcs: Iterable[Arc]) -> set[State]:
        domains = [self.get_transition_domain(arc) for arc in arcs if arc.target]
        return {state for state in self.configuration if any(map(state.is_descendant, domains))}

    def compute_entry_set(self, arcs: Iterable[Arc]) -> set[State]:
        to_enter: set[State] = set()
        for arc in arcs:
            for state in self.get_effective_target_states(arc):
                self.add_descendant_states_to_enter(state, to_enter)
            for state in self.get_effective_target_states(arc):
                self.add_ancestor_states_to_enter(state, self.get_transition_domain(arc), to_enter)
        return to_enter

    def add_descendant_states_to_enter(self, state: State, to_enter: set[State]) -> None:
        to_enter.add(state)
        if state.kind == 'compound':
            for child in state.initial:
                self.add_descendant_states_to_enter(child, to_enter)
        self.add_regions(state, to_enter)

    def add_ancestor_states_to_enter(self, state: State, ancestor: State, to_enter: set[State]) -> None:
        for above in state.proper_ancestors:
            if above is ancestor:
                return
            to_enter.add(above)
            self.add_regions(above, to_enter)

    def add_regions(self, state: State, to_enter: set[State]) -> None:
        for child in state.children if state.kind == 'parallel' else ():
            if not any(inner is child or inner.is_descendant(child) for inner in to_enter):
                self.add_descendant_states_to_enter(child, to_enter)

    def get_effective_target_states(self, arc: Arc) -> list[State]:
        if not arc.target or 'history' not in arc.declared:
            return [arc.target] if arc.target else []
        # Ours: the edge says so, instead of leading to a `history` in the state; its default is `initial`.
        return self.history_value.get((arc.target, arc.declared['history']), arc.target.initial)

    def get_transition_domain(self, arc: Arc) -> State:
        # Ours: each edge to a state inside its source is internal; there, only with `type="internal"`.
        for state in [arc.source, *arc.source.proper_ancestors]:
            targets = self.get_effective_target_states(arc)
            if state.kind == 'compound' and all(target.is_descendant(state) for target in targets):
                return state
        return self.root

    def atomic_states(self) -> list[State]:
        return [state for state in in_order(self.configuration) if not state.children]


def in_order(states: Iterable[State]) -> list[State]:
    return sorted(states, key=lambda state: state.order)


def ids(states: Iterable[State]) -> list[str]:
    return [state.id for state in states]
