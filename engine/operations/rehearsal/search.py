"""Search: looks for the shortest sequence of events that leads to each state and edge of a chart.

Regions of a parallel state take turns: the first that can still end goes on, the others wait. That is enough
to see each of their states, and grows with the number of regions instead of the product of their states.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from engine.operations.rehearsal.free_chart import FreeChart
from engine.operations.rehearsal.possibility import Possibility, outside_triggers
from engine.operations.rehearsal.records import PlayedEvent
from engine.records import Edge, Event, StatePath, is_active
from engine.records.shape import ancestry, parent_of
from engine.runtime import region_of
from engine.statechart.chart import MAX_MICROSTEPS, Microstep
from engine.statechart.run_state import History
from engine.statechart.shape_builder import START

SECONDS_FOR_WAYS = 1.0
"""How long after a search the ways to what it saw may take."""
Raised: TypeAlias = tuple[tuple[str, StatePath], ...]
"""Completed composites that still have to be told to the chart, each with the event."""


class _TimeOver(Exception):
    """The limit of time is reached."""


@dataclass(frozen=True, slots=True, eq=False)
class Node:
    """A moment of a run: after a microstep."""

    active: tuple[StatePath, ...]
    raised: Raised = ()
    answers: tuple[bool, ...] = ()
    """What guards have answered since the event."""
    event: Event | None = None
    """The event that is being handled; None where the chart waits for one."""
    before: Node | None = None
    microsteps: int = 0
    history: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """What is remembered for edges with `history`."""

    @property
    def settled(self) -> bool:
        """Whether the chart waits for an event."""
        return self.event is None


class Search:
    """Explores a chart breadth first, until nothing is left to see or the time is over.

    Args:
        chart: the chart.
        possible: what can happen at all; the search ends once all of it was seen.
        seconds: the limit of time.
        clock: seconds, from any start.
    """

    def __init__(
        self,
        chart: FreeChart,
        possible: Possibility,
        *,
        seconds: float,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._chart, self._possible = chart, possible
        self._clock, self._end = clock, clock() + seconds
        self._outside = outside_triggers(chart.shape)
        self.states: dict[StatePath, Node] = {}
        """The first moment at which each state was entered."""
        self.edges: dict[tuple[str, Edge], Node] = {}
        """The first moment at which each edge was taken, with its trigger."""
        self._onward: dict[object, tuple[tuple[bool, ...], tuple[StatePath, ...]]] = {}
        """By what makes a moment: further answers until the chart waits again, and the active states then."""
        self.complete = True

    def run(self) -> None:
        """Look for everything: first with regions that take turns, then, for what is missing, without."""
        try:
            _ = self._explore(turns=True) or self._explore(turns=False)
        except _TimeOver:
            self.complete = False
        self._end = self._clock() + SECONDS_FOR_WAYS

    def way_to(self, node: Node) -> tuple[PlayedEvent, ...]:
        """Return the events that led to a moment, and on to where the chart waits; () if it never does."""
        try:
            onward = self._way_on(node)
        except _TimeOver:
            self.complete, onward = False, None
        if onward is None:
            return ()
        further, active = onward
        chain: list[Node] = []
        while node.before is not None:
            chain.append(node)
            node = node.before
        events: list[PlayedEvent] = []
        for step in reversed(chain):
            if step.before is not None and step.before.settled and step.event is not None:
                events.append(PlayedEvent(name=step.event.name, at=step.event.at))
            events[-1] = replace(events[-1], answers=step.answers, active=step.active)
        events[-1] = replace(events[-1], answers=events[-1].answers + further, active=active)
        return tuple(events)

    def _way_on(self, node: Node) -> tuple[tuple[bool, ...], tuple[StatePath, ...]] | None:
        """Return further answers with which the chart waits again, if any, and the active states then."""
        queue, seen = deque([node]), {self._key(node, turns=False)}
        while queue:
            moment = queue.popleft()
            if moment.settled:
                self._note_settled(moment)
                return moment.answers[len(node.answers) :], moment.active
            if onward := self._onward.get(self._key(moment, turns=False)):
                further, active = onward
                return moment.answers[len(node.answers) :] + further, active
            for following, _ in self._automatic(moment):
                if (key := self._key(following, turns=False)) not in seen:
                    seen.add(key)
                    queue.append(following)
        return None

    def _explore(self, *, turns: bool) -> bool:
        """Explore, and return whether everything possible was seen."""
        start = Node(active=(START,))
        queue, seen = deque([start]), set[object]()
        while queue:
            node = queue.popleft()
            for following, microstep in self._following(node, turns=turns):
                if microstep is None:
                    self._note_settled(following)
                else:
                    self._record(following, microstep)
                key = self._key(following, turns=turns)
                if key not in seen:
                    seen.add(key)
                    queue.append(following)
        return self._has_seen_all()

    def _has_seen_all(self) -> bool:
        possible = self._possible
        taken = {(trigger, edge.source, edge.dest) for trigger, edge in self.edges}
        return (
            possible.states <= self.states.keys() | {START}
            and {(edge.trigger, edge.source, edge.dest) for edge in possible.edges} <= taken
        )

    def _following(self, node: Node, *, turns: bool) -> Iterator[tuple[Node, Microstep | None]]:
        if not node.settled:
            yield from self._automatic(node)
            return
        if node.active == (START,):
            events = [Event(name='start')]
        elif turns:
            events = self._events_in_turn(node.active)
        else:
            events = [event for leaf in node.active for event in self.events_of(leaf)]
        for event in {(event.name, event.at): event for event in events}.values():
            yield from self._moves(node, event, event)

    def _moves(
        self, node: Node, cause: Event, event: Event, raised: Raised = (), before: tuple[bool, ...] = ()
    ) -> Iterator[tuple[Node, Microstep]]:
        """Yield the moments after each microstep that `event`, a consequence of `cause`, can be."""
        for answers, microstep, history in self._decisions(node, event):
            if microstep is not None and node.microsteps < MAX_MICROSTEPS:
                following = Node(
                    active=microstep.active,
                    raised=(*raised, *self._chart.completions(microstep)),
                    answers=(*before, *answers),
                    event=cause,
                    before=node,
                    microsteps=node.microsteps + 1,
                    history=tuple(sorted(history.items())),
                )
                yield following, microstep

    def _automatic(self, node: Node) -> Iterator[tuple[Node, Microstep | None]]:
        """Yield the moments that follow without an event: edges without one, then completed composites."""
        cause, answers = node.event, node.answers
        assert cause is not None
        for path in self._chart.always:
            if is_active(path, node.active):
                event = Event(name='always', at=path)
                yield from self._moves(node, cause, event, node.raised, answers)
                stays = self._stays(node, event)
                if stays is None:
                    return
                answers += stays
        raised = node.raised
        while raised:
            (name, path), *rest = raised
            raised = tuple(rest)
            if is_active(path, node.active):
                event = Event(name=name, at=path)
                yield from self._moves(node, cause, event, raised, answers)
                stays = self._stays(node, event)
                if stays is None:
                    return
                answers += stays
        yield Node(active=node.active, answers=answers, before=node, history=node.history), None

    def _stays(self, node: Node, event: Event) -> tuple[bool, ...] | None:
        """Return answers with which an event moves nothing; None if it always does."""
        decisions = self._decisions(node, event)
        return next((answers for answers, microstep, _ in decisions if microstep is None), None)

    def _decisions(
        self, node: Node, event: Event
    ) -> Iterator[tuple[tuple[bool, ...], Microstep | None, History]]:
        """Yield the microsteps that an event can cause. Raises `_TimeOver`."""
        for decision in self._chart.decisions(node.active, event, dict(node.history)):
            if self._clock() >= self._end:
                raise _TimeOver
            yield decision

    def _note_settled(self, settled: Node) -> None:
        moment = settled.before
        while moment is not None and not moment.settled:
            further = settled.answers[len(moment.answers) :]
            self._onward.setdefault(self._key(moment, turns=False), (further, settled.active))
            moment = moment.before

    def _record(self, node: Node, microstep: Microstep) -> None:
        for path in microstep.entered:
            self.states.setdefault(path, node)
        for edge in microstep.edges:
            self.edges.setdefault((str(microstep.event.name), edge), node)

    def events_of(self, leaf: StatePath) -> list[Event]:
        """Return the events that a leaf and the states around it can get."""
        events = []
        if self._chart.states[leaf].invokes:
            events += [Event(name=name, at=leaf) for name in ('done', 'asked')]
        for around in ancestry(leaf):
            events.append(Event(name='failed', at=around))
            if self._possible.is_timed(around):
                events.append(Event(name='expired', at=around))
            events += [Event(name=trigger, at=around) for trigger in self._outside.get(around, ())]
        return events

    def _events_in_turn(self, active: tuple[StatePath, ...]) -> list[Event]:
        """Return the events of the first leaf that has any; those of regions that can end come first."""
        waiting = [leaf for leaf in active if self._chart.states[leaf].kind != 'final']
        ordered = sorted(waiting, key=lambda leaf: not self._region_can_end(leaf))
        events_by_leaf = (self.events_of(leaf) for leaf in ordered)
        return next((events for events in events_by_leaf if events), [])

    def _region_can_end(self, leaf: StatePath) -> bool:
        region = region_of(self._chart.shape, leaf)
        return not region or bool(self._possible.endings(region))

    def _key(self, node: Node, *, turns: bool) -> object:
        """Return what makes a moment new. In turn, it does not matter which regions ended how."""
        if not turns:
            return node.active, node.raised, node.settled, node.history
        states = self._chart.states
        ended = {leaf for leaf in node.active if states[leaf].kind == 'final' and '.' in leaf}
        outcomes = frozenset((parent_of(parent_of(leaf)), states[leaf].outcome) for leaf in ended)
        going = tuple(leaf for leaf in node.active if leaf not in ended)
        return going, outcomes, node.raised, node.settled, node.history
