"""Chart: decides which microsteps follow from an event. The only file that imports `transitions`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from transitions.core import Condition
from transitions.extensions.nesting import HierarchicalMachine, NestedState, NestedTransition

from engine.errors import PatternError
from engine.records import Change, Edge, Event, GuardResult, Shape, StatePath
from engine.records.frozen import evolve, fast_init
from engine.records.shape import ancestry, is_active, parent_of
from engine.statechart.decision_cache import (
    CallbackContext,
    DecisionContext,
    DecisionNode,
    DecisionOutcome,
    call_with_context,
    needs_context,
)
from engine.statechart.resolution import Route, StateTree, leaves_in
from engine.statechart.retry import Retry
from engine.statechart.shape_builder import OUR_KEYS, START, build_shape, ends_of, walk

if TYPE_CHECKING:
    from engine.statechart.pattern import Pattern
    from engine.statechart.run_state import RunState

MAX_CACHED = 10_000
"""Maximum number of decisions a chart caches; when it is reached, the cache is cleared."""
MAX_MICROSTEPS = 100
"""Maximum number of microsteps one event may cause; more means a loop of edges without an event."""

# If no active state accepts an event, `fire` returns an empty list; the library must not log it, too.
logging.getLogger('transitions').setLevel(logging.ERROR)


@fast_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Microstep:
    """One step decided by the chart: a transition without a number and a time."""

    event: Event
    raised: bool
    left: tuple[StatePath, ...]
    entered: tuple[StatePath, ...]
    active: tuple[StatePath, ...]
    edges: tuple[Edge, ...]
    guards: tuple[GuardResult, ...]
    changes: tuple[Change, ...]


class Chart:
    """The states and transitions of a pattern. It holds no run data: runs with equal charts share one."""

    def __init__(self, pattern: Pattern) -> None:
        self.shape: Shape = build_shape(pattern)
        self._tree = StateTree(self.shape.states)
        self.states = self._tree.states
        stated = {path: state for path, _, state in walk(pattern.chart_states())}
        self.retries: dict[StatePath, Retry] = {
            path: state['retry'] for path, state in stated.items() if 'retry' in state
        }
        bounds = {path: state.get('within') for path, state in stated.items()}
        self.timed = {
            path: bound for path, bound in bounds.items() if isinstance(bound, str) or callable(bound)
        }
        """What computes the time limits that are no constants: methods' names, and functions."""
        self._invokes = {path: state['invoke'] for path, state in stated.items() if 'invoke' in state}
        self._needs_context = {
            path for path, work in self._invokes.items() if callable(work) and needs_context(work)
        }
        self._machine = _build(pattern, self._tree)
        self._decisions: dict[object, DecisionNode] = {}
        self._with_history = {edge.dest for edge in self.shape.edges if edge.history}
        self._triggers = {edge.trigger for edge in self.shape.edges}
        always = {edge.source for edge in self.shape.edges if edge.trigger == 'always'}
        self._always = self._tree.innermost_first(always)
        """Sources of edges without an event, in the order in which they are tried."""
        self._enabled: dict[tuple[StatePath, ...], tuple[str, ...]] = {}
        """Cached results of `enabled_events`."""

    def fire(
        self, active: tuple[StatePath, ...], state: RunState, event: Event, *, journaled: Event | None = None
    ) -> list[Microstep]:
        """Return the microsteps that `event` causes, immediate consequences included.

        Actions run here and write `state`. The first microstep responds to the event; others (`raised`) are
        due to completed composites and edges without an event. The list is empty if nothing matches.

        Args:
            active: the active states.
            state: the run's data.
            event: the event.
            journaled: the event as journaled, without times.

        Raises:
            PatternError: a guard or an action raised, or the edges without an event form an endless loop.
        """
        first = self._fire(active, state, event, journaled or evolve(event, time=0.0, ran=0.0))
        if first is None:
            return []
        microsteps, raised = [first], self._completions(first)
        while len(microsteps) < MAX_MICROSTEPS:
            following = self._fire_eventless(microsteps[-1].active, state, event)
            while following is None and raised:
                name, path = raised.pop(0)
                if is_active(path, microsteps[-1].active):
                    error = {'error': _reason(path, state, event)} if name == 'failed' else {}
                    consequence = evolve(event, name=name, at=path, data={**event.data, **error})
                    following = self._fire(microsteps[-1].active, state, consequence)
            if following is None:
                return microsteps
            microsteps.append(following)
            raised.extend(self._completions(following))
        raise PatternError(
            self.shape.pattern, f'{MAX_MICROSTEPS} transitions without an event', where=str(event.name)
        )

    def find_unmet(
        self, active: tuple[StatePath, ...], state: RunState, event: Event
    ) -> tuple[GuardResult, ...]:
        """Return the guards because of which the chart rejects an event."""
        if event.name not in self.enabled_events(active):
            return ()
        cursor = DecisionContext(state, event, active)
        self._machine.trigger_event(cursor, event.name)
        return tuple(guard for guard in cursor.guards if guard.value != guard.wanted)

    def activity(self, path: StatePath, state: RunState) -> Callable[[Any], Awaitable[Any]]:
        """Return the work that the state at `path` invokes, ready to be called with an `Activity`."""
        work = self._invokes[path]
        if isinstance(work, str):
            return partial(getattr(state.pattern, work), state.copy_memory())
        if path in self._needs_context:
            return partial(work, CallbackContext(state.pattern, state, parent_of(path)))
        return partial(work, state.copy_memory())

    def limit(self, path: StatePath, state: RunState, event: Event) -> float | None:
        """Return the seconds that the state at `path` may last, as of now; None without a limit."""
        bound = self.timed.get(path)
        if bound is None:
            return self.states[path].within
        with state.reading():
            if isinstance(bound, str):
                seconds = getattr(state.pattern, bound)(state.memory, event)
            else:
                seconds = call_with_context(bound, state, path, event)
        return None if seconds is None else float(seconds)

    def enabled_events(self, active: tuple[StatePath, ...]) -> tuple[str, ...]:
        """Return the names of the events for which some active state has an edge."""
        names = self._enabled.get(active)
        if names is None:
            if len(self._enabled) >= MAX_CACHED:
                self._enabled.clear()
            edges = (edge for edge in self.shape.edges if edge.source != START)
            names = tuple(sorted({edge.trigger for edge in edges if is_active(edge.source, active)}))
            self._enabled[active] = names
        return names

    def _fire_eventless(
        self, active: tuple[StatePath, ...], state: RunState, event: Event
    ) -> Microstep | None:
        for path in self._always:
            if is_active(path, active):
                consequence = evolve(event, name='always', at=path)
                microstep = self._fire(active, state, consequence)
                if microstep is not None:
                    return microstep
        return None

    def _completions(self, microstep: Microstep) -> list[tuple[str, StatePath]]:
        """Return the composites a microstep completes, innermost first, each with the event it raises."""
        completed: dict[StatePath, str] = {}
        ends = [path for path in microstep.entered if self.states[path].kind == 'final']
        for number, path in enumerate(ends):
            active = tuple(leaf for leaf in microstep.active if leaf not in ends[number + 1 :])
            parent = self.states[path].parent
            while parent and (outcome := self._outcome(parent, active)):
                completed[parent] = outcome
                grandparent = self.states[parent].parent
                if not grandparent or self.states[grandparent].kind != 'parallel':
                    break
                parent = grandparent
        return [(outcome, path) for path, outcome in completed.items()]

    def _outcome(self, path: StatePath, active: tuple[StatePath, ...]) -> str | None:
        """Return how the composite at `path` ended, or None while it has not."""
        state = self.states[path]
        if state.kind == 'parallel':
            ended = all(self._outcome(child, active) for child in self._tree.children[path])
            return 'done' if ended else None
        if state.kind == 'final':
            return state.outcome if path in active else None
        finals = [
            child
            for child in self._tree.children.get(path, ())
            if self.states[child].kind == 'final' and child in active
        ]
        return self.states[finals[0]].outcome if finals else None

    def _fire(
        self, active: tuple[StatePath, ...], state: RunState, event: Event, journaled: Event | None = None
    ) -> Microstep | None:
        """Return one microstep; looked up if the same guards gave the same answers before."""
        if event.name not in self._triggers or (event.at and event.at not in self.states):
            return None
        key = (active, event.name, event.at, tuple(sorted(state.history.items())))
        cursor = self._context(state, event, active)
        if len(self._decisions) >= MAX_CACHED:
            self._decisions.clear()
        end = self._decisions.setdefault(key, DecisionNode()).follow(cursor)
        if end is None:
            cursor.replay = len(cursor.answers)
            self._machine.trigger_event(cursor, event.name)
            end = DecisionOutcome(
                moved=bool(cursor.edges),
                left=tuple(path for path in cursor.left if path != START),
                entered=tuple(cursor.entered),
                active=cursor.active,
                edges=tuple(cursor.edges),
            )
            self._decisions[key].learn(cursor.answers, end)
        if not end.moved:
            return None
        state.remember(leaves_in((path for path in end.left if path in self._with_history), active))
        return Microstep(
            event=journaled or _without_cause(event),
            raised=journaled is None,
            left=end.left,
            entered=end.entered,
            active=end.active,
            edges=end.edges,
            guards=tuple(cursor.guards),
            changes=state.log.drain(),
        )

    def _context(self, state: RunState, event: Event, active: tuple[StatePath, ...]) -> DecisionContext:
        """Return what a decision is made with: it calls guards and actions."""
        return DecisionContext(state, event, active)


def _reason(path: StatePath, state: RunState, event: Event) -> str:
    """Return why the composite at `path` failed."""
    agent = state.agents.get(path)
    return (agent.problem if agent else '') or str(event.data.get('error') or f'{path} failed')


def _without_cause(event: Event) -> Event:
    """Return a consequence as journaled: without the data of its cause, which is in the previous step."""
    data = {'error': event.data['error']} if event.name == 'failed' else {}
    return Event(name=event.name, at=event.at, data=data)


class _Condition(Condition):
    def check(self, event_data: Any) -> bool:
        cursor: DecisionContext = event_data.model
        edge: Edge = event_data.transition.edge
        callback = cursor.callback_ref(self.func, source=edge.source, dest=edge.dest, wanted=self.target)
        return cursor.invoke(callback) is self.target


class _Transition(NestedTransition):
    condition_cls = _Condition
    edge: Edge
    """Its source and destination, as whole paths."""

    def __init__(self, *args: Any, history: str = '', **options: Any) -> None:
        super().__init__(*args, **options)
        self.history = history

    def holds(self, event_data: Any) -> bool:
        """Return whether its guards let it be taken."""
        event_data.transition = self
        self._set_place(event_data)
        return bool(self._eval_conditions(event_data))

    def run(self, callbacks: list[Any], event_data: Any) -> None:
        """Run some of its actions."""
        self._set_place(event_data)
        event_data.machine.callbacks(callbacks, event_data)

    def _set_place(self, event_data: Any) -> None:
        cursor: DecisionContext = event_data.model
        cursor.here, cursor.source = parent_of(self.edge.source), self.edge.source


class _State(NestedState):
    """A state that accepts our additional keys; `shape_builder` reads them from the pattern's lists."""

    separator = '.'

    def __init__(self, *args: Any, **options: Any) -> None:
        for key in OUR_KEYS:
            options.pop(key, None)
        super().__init__(*args, **options)

    def enter(self, event_data: Any) -> None:
        self._run_inside(super().enter, event_data)

    def exit(self, event_data: Any) -> None:
        self._run_inside(super().exit, event_data)

    def _run_inside(self, call: Any, event_data: Any) -> None:
        cursor: DecisionContext = event_data.model
        around = cursor.here, cursor.source
        cursor.here, cursor.source = StatePath(self.name), StatePath('')
        call(event_data)
        cursor.here, cursor.source = around


class _Machine(HierarchicalMachine):
    """The library's machine, in which the SCXML recommendation's algorithm chooses among its transitions.

    The library's own tries regions one after the other, and enters the states of one level before the next.
    """

    state_cls = _State
    transition_cls = _Transition

    def __init__(self, tree: StateTree, **options: Any) -> None:
        super().__init__(model=None, **options)
        self._tree = tree
        self._placed: dict[StatePath, tuple[NestedState, list[str]]] = {}
        """States by path, each with the names of those around it."""
        self._transitions: dict[tuple[StatePath, str], list[_Transition]] = {}
        """Transitions by source and trigger, those declared in the innermost state first."""
        self._place()

    def add_transition(self, trigger: str, source: Any, dest: Any = None, *args: Any, **options: Any) -> None:
        # The library takes `*` and `=` for the states inside, too, or for none.
        siblings = (
            {'name': name, 'final': state.final} for name, state in self.states.items() if name != START
        )
        for each, to in ends_of({'source': source, 'dest': dest}, siblings):
            super().add_transition(trigger, each, to, *args, **options)

    def callback(self, func: Any, event_data: Any) -> None:
        cursor: DecisionContext = event_data.model
        cursor.invoke(cursor.callback_ref(func, source=cursor.source))

    def _place(self) -> None:
        scope = list(self.prefix_path)
        for name, state in self.states.items():
            self._placed[StatePath(_join(scope, name))] = state, scope
            with self(name):
                self._place()
        for trigger, event in self.events.items():
            transitions: Any  # `_Transition`s
            for name, transitions in event.transitions.items():
                source = StatePath(_join(scope, name))
                for transition in transitions:
                    transition.edge = Edge(source=source, dest=_join(scope, transition.dest))
                self._transitions.setdefault((source, trigger), []).extend(transitions)

    def _trigger_event_nested(self, event_data: Any, trigger: str, _scope: Any) -> bool:
        cursor: DecisionContext = event_data.model
        enabled = self._enabled(event_data, trigger)
        taken = self._tree.without_conflicts(enabled, cursor.active)
        if taken:
            self._take(event_data, taken, [enabled[route] for route in taken])
        return bool(taken)

    def _enabled(self, event_data: Any, trigger: str) -> dict[Route, _Transition]:
        """Return, for each leaf that the event reaches, the innermost transition whose guards hold."""
        cursor: DecisionContext = event_data.model
        enabled: dict[Route, _Transition] = {}
        history = cursor.run_state.history
        first: dict[StatePath, _Transition | None] = {}
        for leaf in cursor.active if not cursor.event.at else (cursor.event.at,):
            for source in _sources(cursor.event, leaf):
                if source not in first and is_active(source, cursor.active):
                    options = self._transitions.get((source, trigger), ())
                    first[source] = next((option for option in options if option.holds(event_data)), None)
                if (transition := first.get(source)) is not None:
                    enabled[self._tree.route(transition.edge, transition.history, history)] = transition
                    break
        return enabled

    def _take(self, event_data: Any, routes: list[Route], transitions: list[_Transition]) -> None:
        cursor: DecisionContext = event_data.model
        for transition in transitions:
            transition.run(transition.before, event_data)
        left = self._tree.left(routes, cursor.active)
        for path in left:
            state, around = self._placed[path]
            state.scoped_exit(event_data, around)
        # An edge with history leads back even into what its own step has left.
        history = {**cursor.run_state.history, **leaves_in(left, cursor.active)}
        back = [self._tree.route(each.edge, each.history, history) for each in transitions]
        entered = self._tree.entered(back)
        for path in entered:
            state, around = self._placed[path]
            state.scoped_enter(event_data, around)
        for transition in transitions:
            transition.run(transition.after, event_data)
        cursor.left, cursor.entered = left, entered
        cursor.edges = [route.edge for route in routes]
        cursor.active = tuple(self._tree.leaves(cursor.active, left, entered))


def _build(pattern: Pattern, tree: StateTree) -> _Machine:
    return _Machine(
        tree,
        states=[{'name': START}, *pattern.chart_states()],
        transitions=[['start', START, pattern.initial], *pattern.chart_transitions()],
        initial=START,
        auto_transitions=False,
        send_event=True,
        ignore_invalid_triggers=True,
    )


def _sources(event: Event, leaf: StatePath) -> Iterable[StatePath]:
    """Return the states whose edges an event may take, innermost first."""
    exact = event.at and event.name in ('done', 'asked', 'always')
    return (leaf,) if exact else ancestry(leaf)


def _join(scope: list[str], name: str | None) -> str:
    return '.'.join([*scope, name]) if name else ''
