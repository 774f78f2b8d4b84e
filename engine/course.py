"""The course of a decision: what is asked on the way, and where each answer leads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from engine.errors import PatternError
from engine.records import Edge, Event, Guard, StatePath
from engine.shape import name_of

if TYPE_CHECKING:
    from engine.pattern import Pattern
    from engine.state import RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a plain function gets as a guard or an action: the run's data and where it stands."""

    pattern: Pattern
    state: RunState
    path: StatePath


@dataclass(frozen=True, slots=True)
class Asked:
    """A guard, or an action (`wanted` is None), met on the way through a decision."""

    name: str
    call: Callable[[Scope, Event], Any] | None
    """A function of the engine's own, which gets a `Scope`; None is the pattern's method `name`, which gets
    memory."""
    path: StatePath
    source: StatePath = StatePath('')
    dest: str = ''
    wanted: bool | None = None


@dataclass(frozen=True, slots=True)
class End:
    """Where a course leads: a move without what is the run's own."""

    moved: bool
    left: tuple[StatePath, ...]
    entered: tuple[StatePath, ...]
    active: tuple[StatePath, ...]
    edges: tuple[Edge, ...]


@dataclass(slots=True)
class Node:
    """A tree of decisions: what is asked next, and where each answer leads.

    The library's resolution of nested states depends on nothing but the active states, the event and the
    guards' answers. So each course is found by the library once and walked from then on.
    """

    asked: Asked | None = None
    answers: dict[bool, Node] = field(default_factory=dict)
    end: End | None = None

    def follow(self, cursor: Cursor) -> End | None:
        """Walk as far as the course is known; None when it is not known to the end."""
        node = self
        while node.end is None:
            if node.asked is None:
                return None
            answer = cursor.ask(node.asked)
            if answer not in node.answers:
                return None
            node = node.answers[answer]
        return node.end

    def learn(self, course: list[tuple[Asked, bool]], end: End) -> None:
        """Add the course of a decision."""
        node = self
        for asked, answer in course:
            node.asked = asked
            node = node.answers.setdefault(answer, Node())
        node.end = end


def _leaves(state: Any) -> Iterator[StatePath]:
    """The library's states, which are lists in lists where parallel states nest."""
    if isinstance(state, list):
        for item in state:
            yield from _leaves(item)
    else:
        yield StatePath(state)


class Cursor:
    """The library's model: where one decision stands, and what it met."""

    def __init__(self, state: RunState, event: Event, active: tuple[StatePath, ...]) -> None:
        self.run_state, self.event = state, event
        self.state: str | list[str] = list(active) if len(active) > 1 else active[0]
        """Read and written by `transitions`: the active leaf, or a list of them."""
        self.here = StatePath('')
        """The state whose callbacks are being called; for a transition, the one its source is in."""
        self.course: list[tuple[Asked, bool]] = []
        self.replay = 0
        """How many steps of the course have been taken already and are not to be taken again."""
        self._replayed = 0
        self.left: list[StatePath] = []
        self.entered: list[StatePath] = []
        self.edges: list[Edge] = []
        self.guards: list[Guard] = []

    @property
    def active(self) -> list[StatePath]:
        """The active leaves."""
        return list(_leaves(self.state))

    def ask(self, asked: Asked) -> bool:
        """Evaluate a guard or carry out an action; during a replay, repeat the answer it gave."""
        if self._replayed < self.replay:
            self._replayed += 1
            return self.course[self._replayed - 1][1]
        state, log = self.run_state, self.run_state.log
        log.open = asked.wanted is None
        try:
            if asked.call is None:
                answer = getattr(state.pattern, asked.name)(state.memory, self.event)
            else:
                answer = asked.call(Scope(pattern=state.pattern, state=state, path=asked.path), self.event)
        except PatternError:
            raise
        except BaseException as error:  # `sys.exit()` in a pattern ends a run, not the process.
            kind = 'action' if asked.wanted is None else 'guard'
            problem = f'{kind} {asked.name!r} raised {type(error).__name__}: {error}'
            where = f'trigger {self.event.name!r} in state {asked.source or asked.path or self.event.at!r}'
            raise PatternError(state.pattern.name, problem, where=where) from error
        finally:
            log.open = False
        result = True
        if asked.wanted is not None:
            result = bool(answer)
            self.guards.append(
                Guard(
                    name=asked.name, value=result, wanted=asked.wanted, source=asked.source, dest=asked.dest
                )
            )
        self.course.append((asked, result))
        return result

    def asked(self, func: Any, **edge: Any) -> Asked:
        """Look up a callback of the chart: a function, or the name of a method of the pattern."""
        return Asked(
            name=name_of(func),
            call=func if callable(func) else None,
            path=self.here,
            **edge,
        )
