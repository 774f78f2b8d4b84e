"""Decides: an event and the active states in, the moves out. The only file that imports `transitions`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from transitions.core import Condition
from transitions.extensions.nesting import HierarchicalMachine, NestedState, NestedTransition

from engine.activity import Activity, Retry
from engine.course import Cursor, End, Node, Scope
from engine.errors import PatternError
from engine.path import is_active, parent_of, within
from engine.records import Change, Edge, Event, Guard, Shape, StatePath
from engine.shape import START, draw, walk

if TYPE_CHECKING:
    from engine.pattern import Pattern
    from engine.state import RunState

MOST_KNOWN = 10_000
"""Decisions' courses that a chart keeps; when there are more, it begins anew."""
MOST_MOVES = 100
"""Moves that one event may lead to; more is a loop of edges that need no event."""

# An event that no active state takes is answered by an empty list, not by a line in the log.
logging.getLogger('transitions').setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One step that the chart decided: a transition without its number and its time."""

    event: Event
    raised: bool
    left: tuple[StatePath, ...]
    entered: tuple[StatePath, ...]
    active: tuple[StatePath, ...]
    edges: tuple[Edge, ...]
    guards: tuple[Guard, ...]
    changes: tuple[Change, ...]


class Chart:
    """The states and transitions of a pattern. Holds no run: runs whose charts are alike share one."""

    def __init__(self, pattern: Pattern) -> None:
        self.shape: Shape = draw(pattern)
        self.states = {state.path: state for state in self.shape.states}
        stated = {path: state for path, _, state in walk(pattern.chart_states())}
        self.retries: dict[StatePath, Retry] = {
            path: state['retry'] for path, state in stated.items() if 'retry' in state
        }
        bounds = {path: state.get('within') for path, state in stated.items()}
        self.timed = {path: name for path, name in bounds.items() if isinstance(name, str)}
        self._invokes = {path: state['invoke'] for path, state in stated.items() if 'invoke' in state}
        self._machine = _build(pattern)
        self._known: dict[tuple[tuple[StatePath, ...], str, StatePath], Node] = {}
        self._triggers = {edge.trigger for edge in self.shape.edges}
        always = {edge.source for edge in self.shape.edges if edge.trigger == 'always'}
        self._always = sorted(always, key=lambda path: (-path.count('.'), path))
        """Sources of edges without an event, innermost first."""
        self._taken: dict[tuple[StatePath, ...], tuple[str, ...]] = {}
        """What `takes` has answered before."""
        self._children: dict[str, list[StatePath]] = {}
        for state in self.shape.states:
            self._children.setdefault(state.parent, []).append(state.path)

    def fire(
        self, active: tuple[StatePath, ...], state: RunState, event: Event, *, kept: Event | None = None
    ) -> list[Move]:
        """Decide what `event` does, with all that follows from it at once; `kept` is it without times.

        Actions run here and write `state`. The first move answers the event; the others (`raised`) are
        composites that became done and edges without an event. Nothing fits: an empty list.

        Raises:
            PatternError: a guard or an action raised, or the edges without an event never come to rest.
        """
        first = self._fire(active, state, event, kept or replace(event, time=0.0, ran=0.0))
        if first is None:
            return []
        moves, raised = [first], self._completed(first)
        while len(moves) < MOST_MOVES:
            following = self._eventless(moves[-1].active, state, event)
            while following is None and raised:
                name, path = raised.pop(0)
                if is_active(path, moves[-1].active):
                    error = {'error': _reason(path, state, event)} if name == 'failed' else {}
                    consequence = replace(event, name=name, at=path, data={**event.data, **error})
                    following = self._fire(moves[-1].active, state, consequence)
            if following is None:
                return moves
            moves.append(following)
            raised.extend(self._completed(following))
        raise PatternError(self.shape.pattern, f'{MOST_MOVES} moves without an event', where=str(event.name))

    def activity(self, path: StatePath, state: RunState) -> Callable[[Activity], Awaitable[Any]]:
        """The work that the state at `path` invokes, ready to be called with an `Activity`."""
        work = self._invokes[path]
        if isinstance(work, str):
            return partial(getattr(state.pattern, work), state.detached())
        home = parent_of(path)
        return partial(work, Scope(pattern=state.pattern, state=state, path=home))

    def takes(self, active: tuple[StatePath, ...]) -> tuple[str, ...]:
        """The names of the events that some active state has an edge for."""
        known = self._taken.get(active)
        if known is None:
            if len(self._taken) >= MOST_KNOWN:
                self._taken.clear()
            edges = (edge for edge in self.shape.edges if edge.source != START)
            known = tuple(sorted({edge.trigger for edge in edges if is_active(edge.source, active)}))
            self._taken[active] = known
        return known

    def _eventless(self, active: tuple[StatePath, ...], state: RunState, event: Event) -> Move | None:
        for path in self._always:
            if is_active(path, active):
                consequence = replace(event, name='always', at=path)
                move = self._fire(active, state, consequence)
                if move is not None:
                    return move
        return None

    def _completed(self, move: Move) -> list[tuple[str, StatePath]]:
        """Composites that the move completed, innermost first, with the event each of them raises."""
        found: dict[StatePath, str] = {}
        for path in move.entered:
            parent = self.states[path].parent
            while parent and self.states[path].kind == 'final' and parent not in found:
                outcome = self._outcome(parent, move.active)
                if outcome is None:
                    break
                found[parent] = outcome
                grand = self.states[parent].parent
                if not grand or self.states[grand].kind != 'parallel':
                    break
                parent = grand
        return [(outcome, path) for path, outcome in found.items()]

    def _outcome(self, path: StatePath, active: tuple[StatePath, ...]) -> str | None:
        """How the composite at `path` has ended, or None while it has not."""
        state = self.states[path]
        if state.kind == 'parallel':
            ended = all(self._outcome(child, active) for child in self._children[path])
            return 'done' if ended else None
        if state.kind == 'final':
            return state.outcome if path in active else None
        finals = [
            child
            for child in self._children.get(path, ())
            if self.states[child].kind == 'final' and child in active
        ]
        return self.states[finals[0]].outcome if finals else None

    def _fire(
        self, active: tuple[StatePath, ...], state: RunState, event: Event, kept: Event | None = None
    ) -> Move | None:
        """One move; its course is looked up where the same guards have answered the same way before."""
        if event.name not in self._triggers or (event.at and event.at not in self.states):
            return None
        key = (active, event.name, event.at)
        cursor = Cursor(state, event, active)
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        end = self._known.setdefault(key, Node()).follow(cursor)
        if end is None:
            cursor.replay = len(cursor.course)
            self._machine.trigger_event(cursor, event.name)
            end = End(
                moved=bool(cursor.edges),
                left=tuple(path for path in cursor.left if path != START),
                entered=tuple(cursor.entered),
                active=tuple(cursor.active),
                edges=tuple(cursor.edges),
            )
            self._known[key].learn(cursor.course, end)
        if not end.moved:
            return None
        return Move(
            event=kept or _bare(event),
            raised=kept is None,
            left=end.left,
            entered=end.entered,
            active=end.active,
            edges=end.edges,
            guards=tuple(cursor.guards),
            changes=state.log.take(),
        )


def _reason(path: StatePath, state: RunState, event: Event) -> str:
    """Why the composite at `path` failed."""
    agent = state.agents.get(path)
    return (agent.problem if agent else '') or str(event.data.get('error') or f'{path} failed')


def _bare(event: Event) -> Event:
    """A consequence as it is journaled: the data of its cause stands in the step before."""
    data = {'error': event.data['error']} if event.name == 'failed' else {}
    return Event(name=event.name, at=event.at, data=data)


class _Condition(Condition):
    def check(self, event_data: Any) -> bool:
        transition, scope = event_data.transition, event_data.machine.prefix_path
        source, dest = _join(scope, transition.source), _join(scope, transition.dest)
        cursor: Cursor = event_data.model
        asked = cursor.asked(self.func, source=source, dest=dest, wanted=self.target)
        return cursor.ask(asked) is self.target


class _Transition(NestedTransition):
    condition_cls = _Condition

    def execute(self, event_data: Any) -> bool:
        cursor: Cursor = event_data.model
        scope = list(event_data.machine.prefix_path)
        source = _join(scope, self.source)
        # The library asks every region, also those that an earlier one has left with all of them.
        if not _addressed(cursor.event, source) or not is_active(StatePath(source), tuple(cursor.active)):
            return False
        cursor.here = parent_of(source)
        if not super().execute(event_data):
            return False
        cursor.edges.append(Edge(source=StatePath(source), dest=_join(scope, self.dest) if self.dest else ''))
        return True

    def _final_check(self, *args: Any) -> tuple[list[Any], bool]:
        # `_completed` says what is done. The library's own check breaks down when a region goes on whose last
        # sibling has ended: it takes what it last saw of a child for the state of all of them.
        return [], False


class _State(NestedState):
    """A state that takes our own keys; `engine.shape` reads them from the pattern's lists."""

    separator = '.'

    def __init__(self, *args: Any, **options: Any) -> None:
        for key in OUR_KEYS:
            options.pop(key, None)
        super().__init__(*args, **options)

    def enter(self, event_data: Any) -> None:
        event_data.model.entered.append(StatePath(self.name))
        self._at_home(super().enter, event_data)

    def exit(self, event_data: Any) -> None:
        event_data.model.left.append(StatePath(self.name))
        self._at_home(super().exit, event_data)

    def _at_home(self, call: Any, event_data: Any) -> None:
        cursor: Cursor = event_data.model
        before, cursor.here = cursor.here, StatePath(self.name)
        call(event_data)
        cursor.here = before


class _Machine(HierarchicalMachine):
    state_cls = _State
    transition_cls = _Transition

    def callback(self, func: Any, event_data: Any) -> None:
        cursor: Cursor = event_data.model
        cursor.ask(cursor.asked(func))


OUR_KEYS = ('invoke', 'within', 'retry', 'outcome', 'waits', 'agent')
"""What a state of ours has beside the keys of `transitions`."""


def _build(pattern: Pattern) -> _Machine:
    return _Machine(
        model=None,
        states=[{'name': START}, *pattern.chart_states()],
        transitions=[['start', START, pattern.initial], *pattern.chart_transitions()],
        initial=START,
        auto_transitions=False,
        send_event=True,
        ignore_invalid_triggers=True,
    )


def _addressed(event: Event, source: str) -> bool:
    if not event.at:
        return True
    exact = event.name in ('done', 'always')
    return source == event.at if exact else within(event.at, source)


def _join(scope: list[str], name: str | None) -> str:
    return '.'.join([*scope, name]) if name else ''
