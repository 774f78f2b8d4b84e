"""Debugger: stops a live run at breakpoints, and at the end of a step over or out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from engine.journal.pause_state import PendingStep
from engine.journal.projection import RunProjection
from engine.records import CONTROL, Event, Transition
from engine.records.breakpoint import Breakpoint
from engine.records.payloads import BreakpointsData, PauseData
from engine.records.shape import RUN, Shape, StatePath, is_active, is_within
from engine.runtime.debugger.condition import parse_condition
from engine.runtime.debugger.condition_context import ConditionContext
from engine.runtime.debugger.regions import has_ended, nearest, of_workflow, region_of
from engine.statechart.expressions.values import EvaluationError
from engine.statechart.run_state import RunState

NON_STOPPING_EVENTS = CONTROL - {'start', 'retry', 'warn', 'exhaust'}
"""Events that never stop a run: people's actions, and the debugger's own."""


@dataclass(slots=True)
class _Stop:
    """Why one region stops: reasons in words, and the numbers of the breakpoints hit."""

    reasons: list[str] = field(default_factory=list)
    breakpoints: list[str] = field(default_factory=list)


class Debugger:
    """Examines each turn of a run before the work it causes starts.

    Args:
        projection: the run's derived state.
        shape: its chart.
        state: returns its data.
    """

    def __init__(self, projection: RunProjection, shape: Shape, state: Callable[[], RunState]) -> None:
        self._projection, self._shape, self._state = projection, shape, state
        self._true_conditions: set[tuple[str, str]] = set()
        """Conditions true at the last check, with their breakpoints' numbers; these do not stop it again."""

    def due_events(self, steps: Sequence[Transition]) -> list[Event]:
        """Return the control events a turn requires, to be journaled with it."""
        pauses = self._projection.pauses
        if not steps or self._projection.status.ended or not (pauses.breakpoints or pauses.pending_steps):
            return []
        seen = [step for step in steps if step.raised or step.event.name not in NON_STOPPING_EVENTS]
        stops: dict[StatePath, _Stop] = {}
        if seen:
            for region, pending in pauses.pending_steps.items():
                if self._is_done(pending, region, seen):
                    stop = stops.setdefault(self._target(region), _Stop())
                    stop.reasons.append(_step_reason(pending, seen[-1]))
        problems: dict[str, str] = {}
        for item in pauses.breakpoints:
            if not item.enabled:
                self._true_conditions.discard((item.id, item.when))
                continue
            try:
                hit = self._hit(item, steps, seen)
            except EvaluationError as error:
                if str(error) != item.problem:
                    problems[item.id] = str(error)
                continue
            if hit:
                step, place = hit
                stop = stops.setdefault(
                    self._target(place) if item.stop == 'region' else StatePath(''), _Stop()
                )
                stop.reasons.append(f'breakpoint {item.id} at step {step.seq}: {item.label}')
                stop.breakpoints.append(item.id)
        return [*_problem_events(problems), *_pauses(stops)]

    def _hit(
        self, item: Breakpoint, steps: Sequence[Transition], seen: Sequence[Transition]
    ) -> tuple[Transition, str] | None:
        """Return the step that hits a breakpoint, and where."""
        condition = parse_condition(item.when) if item.when else None
        if condition and condition.is_persistent and not item.place:
            return self._step_turning_true(item, steps, seen)
        for step in seen:
            place = _place(item, step)
            if place is None:
                continue
            context = ConditionContext(step, self._projection, self._state(), item.enter or item.leave)
            if condition is None or condition.holds(context):
                return step, place
        return None

    def _step_turning_true(
        self, item: Breakpoint, steps: Sequence[Transition], seen: Sequence[Transition]
    ) -> tuple[Transition, str] | None:
        """Return the step at which a lasting condition becomes true; not again until it has been false."""
        key, last = (item.id, item.when), steps[-1]
        fresh = [step for step in steps if step.event.name in ('breakpoints', 'recover')]
        if not (seen or fresh):
            return None
        context = ConditionContext(last, self._projection, self._state())
        if not parse_condition(item.when).holds(context):
            self._true_conditions.discard(key)
            return None
        was_true = key in self._true_conditions
        self._true_conditions.add(key)
        # A condition that was true before a restart has already stopped the run.
        if was_true or any(step.event.name == 'recover' for step in fresh):
            return None
        return last, last.event.at

    def _is_done(self, pending: PendingStep, region: str, seen: Sequence[Transition]) -> bool:
        active = self._projection.active
        if region and not is_active(region, active):
            return True
        if pending.how == 'out':
            left = any(pending.until in step.left for step in seen)
            return left or has_ended(self._shape, pending.until, active)
        moved = (path for step in seen for path in (*step.left, *step.entered) if is_within(path, region))
        return any(of_workflow(self._shape, path) for path in moved)

    def _target(self, place: str) -> StatePath:
        return region_of(self._shape, nearest(place, self._projection.active))


def _place(item: Breakpoint, step: Transition) -> str | None:
    """Return where a step matches the breakpoint's place; None if it does not."""
    if item.enter:
        return item.enter if item.enter in step.entered else None
    if item.leave:
        return item.leave if item.leave in step.left else None
    if item.edge:
        taken = (edge for edge in step.edges if f'{edge.source}>{edge.dest or edge.source}' == item.edge)
        return next((edge.dest or edge.source for edge in taken), None)
    return step.event.at or next(iter(step.entered), '')


def _step_reason(pending: PendingStep, step: Transition) -> str:
    what = f'stepped out of {pending.until}' if pending.how == 'out' else 'stepped over'
    return f'{what} at step {step.seq}'


def _problem_events(problems: dict[str, str]) -> Iterator[Event]:
    if problems:
        data: BreakpointsData = {'problems': problems}
        yield Event(name='breakpoints', data=data)


def _pauses(stops: dict[StatePath, _Stop]) -> Iterator[Event]:
    """Yield one pause per region or, if the whole run stops, a single one."""
    if RUN in stops:
        merged = _Stop()
        for stop in stops.values():
            merged.reasons += stop.reasons
            merged.breakpoints += stop.breakpoints
        stops = {RUN: merged}
    for path, stop in stops.items():
        data: PauseData = {'reason': '; '.join(stop.reasons), 'breakpoints': stop.breakpoints}
        yield Event(name='pause', at=path, data=data)
