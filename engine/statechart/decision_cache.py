"""Decision cache: decisions as trees of the callbacks to call, branching on their answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from engine.errors import PatternError
from engine.records import Edge, Event, GuardResult, StatePath
from engine.statechart.shape_builder import callback_name

if TYPE_CHECKING:
    from engine.statechart.pattern import Pattern
    from engine.statechart.run_state import RunState


@dataclass(frozen=True, slots=True)
class CallbackContext:
    """A callback's place in the chart, and the run's data; for functions that several states share.

    A plain function is called like a pattern's method without `self`: `(memory, event)`, or for work
    `(memory, activity)`. If its first parameter is annotated with this class, it gets this instead of memory.
    """

    pattern: Pattern
    state: RunState
    path: StatePath


def needs_context(function: Callable[..., Any]) -> bool:
    """Return whether a plain function expects a `CallbackContext` instead of memory."""
    if not isinstance(function, FunctionType | MethodType | partial):
        kind: type = type(function)
        return _calls_need_context(kind)
    return _takes_context(function)


@cache
def _calls_need_context(kind: type) -> bool:
    """Return whether the objects of a class, called as functions, do so."""
    call = getattr(kind, '__call__', None)  # noqa: B004
    return isinstance(call, FunctionType) and _takes_context(partial(call, None))


def _takes_context(function: Callable[..., Any]) -> bool:
    try:
        first = next(iter(inspect.signature(function).parameters.values()), None)
    except ValueError:  # A built-in without a signature.
        return False
    return first is not None and first.annotation in (CallbackContext, CallbackContext.__name__)


def call_with_context(function: Callable[..., Any], state: RunState, path: StatePath, event: Event) -> Any:
    """Call a function that several states share, with memory or, if it expects it, its context."""
    first = CallbackContext(state.pattern, state, path) if needs_context(function) else state.memory
    return function(first, event)


@dataclass(frozen=True, slots=True)
class CallbackRef:
    """A guard, or an action (`wanted` is None), reached during a decision."""

    name: str
    call: Callable[[Any, Event], Any] | None
    """A plain function; None for the pattern's method `name`."""
    needs_context: bool
    """Whether the function gets a `CallbackContext` instead of memory."""
    path: StatePath
    source: StatePath = StatePath('')
    dest: str = ''
    wanted: bool | None = None


@dataclass(frozen=True, slots=True)
class DecisionOutcome:
    """The result of a decision: a microstep without the data of a particular run."""

    moved: bool
    left: tuple[StatePath, ...]
    entered: tuple[StatePath, ...]
    active: tuple[StatePath, ...]
    edges: tuple[Edge, ...]


@dataclass(slots=True)
class DecisionNode:
    """A decision tree: the next callback, and a branch for each answer.

    Which edges are taken depends only on the active states, the event and the guards' answers. So each path
    is resolved only once; after that it is followed here.
    """

    callback_ref: CallbackRef | None = None
    branches: dict[bool, DecisionNode] = field(default_factory=dict)
    end: DecisionOutcome | None = None

    def follow(self, cursor: DecisionContext) -> DecisionOutcome | None:
        """Follow the known path; return None if it is not known to its end."""
        node = self
        while node.end is None:
            if node.callback_ref is None:
                return None
            answer = cursor.invoke(node.callback_ref)
            if answer not in node.branches:
                return None
            node = node.branches[answer]
        return node.end

    def learn(self, answers: list[tuple[CallbackRef, bool]], end: DecisionOutcome) -> None:
        """Add the path of a decision."""
        node = self
        for callback_ref, answer in answers:
            node.callback_ref = callback_ref
            node = node.branches.setdefault(answer, DecisionNode())
        node.end = end


class DecisionContext:
    """The library's model: the state of one decision, and the callbacks it has reached."""

    def __init__(self, state: RunState, event: Event, active: tuple[StatePath, ...]) -> None:
        self.run_state, self.event = state, event
        self.active = active
        """The active leaves, in document order."""
        self.here = StatePath('')
        """The state whose callbacks are being called; for a transition, the one that contains its source."""
        self.source = StatePath('')
        """The source of the transition whose actions are being called."""
        self.answers: list[tuple[CallbackRef, bool]] = []
        self.replay = 0
        """How many callbacks have already been called and must not be called again."""
        self._replayed = 0
        self.left: list[StatePath] = []
        self.entered: list[StatePath] = []
        self.edges: list[Edge] = []
        self.guards: list[GuardResult] = []

    def invoke(self, callback: CallbackRef) -> bool:
        """Evaluate a guard or run an action; during a replay, return its earlier answer."""
        if self._replayed < self.replay:
            self._replayed += 1
            return self.answers[self._replayed - 1][1]
        result = self.call(callback)
        if callback.wanted is not None:
            self.guards.append(
                GuardResult(
                    name=callback.name,
                    value=result,
                    wanted=callback.wanted,
                    source=callback.source,
                    dest=callback.dest,
                )
            )
        self.answers.append((callback, result))
        return result

    def call(self, callback: CallbackRef) -> bool:
        """Call a guard and return its answer, or an action and return True. Raises `PatternError`."""
        state, log = self.run_state, self.run_state.log
        log.open = callback.wanted is None
        try:
            if callback.call is None:
                answer = getattr(state.pattern, callback.name)(state.memory, self.event)
            elif callback.needs_context:
                answer = callback.call(CallbackContext(state.pattern, state, callback.path), self.event)
            else:
                answer = callback.call(state.memory, self.event)
        except PatternError:
            raise
        except BaseException as error:  # `sys.exit()` in a pattern must end the run, not the process.
            kind = 'action' if callback.wanted is None else 'guard'
            problem = f'{kind} {callback.name!r} raised {type(error).__name__}: {error}'
            state_path = callback.source or callback.path or self.event.at
            where = f'trigger {self.event.name!r} in state {state_path!r}'
            raise PatternError(state.pattern.name, problem, where=where) from error
        finally:
            log.open = False
        return callback.wanted is None or bool(answer)

    def callback_ref(self, func: Any, **edge: Any) -> CallbackRef:
        """Look up a callback of the chart: a function, or the name of a pattern's method."""
        return CallbackRef(
            name=callback_name(func),
            call=func if callable(func) else None,
            needs_context=callable(func) and needs_context(func),
            path=self.here,
            **edge,
        )
