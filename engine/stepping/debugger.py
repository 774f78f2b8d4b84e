"""Debugger: says where a live run stops: at breakpoints, and where a step over or out is done."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from engine.outline import Shape
from engine.path import RUN, StatePath, is_active, within
from engine.records import CONTROL, Event, Transition
from engine.state import RunState
from engine.stepping.breakpoint import Breakpoint
from engine.stepping.expression import parsed
from engine.stepping.halts import Stride
from engine.stepping.moment import StepMoment
from engine.stepping.regions import has_ended, nearest, of_workflow, region_of
from engine.stepping.values import Unfit
from engine.view import Ledger

UNSEEN = CONTROL - {'start', 'retry', 'warn', 'exhaust'}
"""Steps that stop nothing: what people do, and what the debugger does itself."""


@dataclass(slots=True)
class _Stop:
    """What holds one region: sentences, and the numbers of breakpoints."""

    reasons: list[str] = field(default_factory=list)
    breakpoints: list[str] = field(default_factory=list)


class Debugger:
    """Looks at each turn of a run before anything starts because of it.

    Args:
        ledger: what follows from its steps.
        shape: its chart.
        state: gives its data.
    """

    def __init__(self, ledger: Ledger, shape: Shape, state: Callable[[], RunState]) -> None:
        self._ledger, self._shape, self._state = ledger, shape, state
        self._held: set[tuple[str, str]] = set()
        """Conditions that lasted at the last look, with their breakpoints' numbers: they stop it no more."""

    def due(self, steps: Sequence[Transition]) -> list[Event]:
        """The control events that a turn calls for: to be journaled with it."""
        halts = self._ledger.halts
        if not steps or self._ledger.status.ended or not (halts.breakpoints or halts.strides):
            return []
        seen = [step for step in steps if step.raised or step.event.name not in UNSEEN]
        stops: dict[StatePath, _Stop] = {}
        if seen:
            for region, stride in halts.strides.items():
                if self._is_done(stride, region, seen):
                    stop = stops.setdefault(self._target(region), _Stop())
                    stop.reasons.append(_said(stride, seen[-1]))
        problems: dict[str, str] = {}
        for item in halts.breakpoints:
            if not item.enabled:
                self._held.discard((item.id, item.when))
                continue
            try:
                hit = self._hit(item, steps, seen)
            except Unfit as error:
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
        return [*_told(problems), *_pauses(stops)]

    def _hit(
        self, item: Breakpoint, steps: Sequence[Transition], seen: Sequence[Transition]
    ) -> tuple[Transition, str] | None:
        """The step that hits a breakpoint, and where it does."""
        condition = parsed(item.when) if item.when else None
        if condition and condition.lasts and not item.place:
            return self._came_to_hold(item, steps, seen)
        for step in seen:
            place = _place(item, step)
            if place is None:
                continue
            moment = StepMoment(step, self._shape, self._ledger, self._state(), item.enter or item.leave)
            if condition is None or condition.holds(moment):
                return step, place
        return None

    def _came_to_hold(
        self, item: Breakpoint, steps: Sequence[Transition], seen: Sequence[Transition]
    ) -> tuple[Transition, str] | None:
        """The step at which a condition that lasts comes to hold: not again before it has ceased to."""
        key, last = (item.id, item.when), steps[-1]
        fresh = [step for step in steps if step.event.name in ('breakpoints', 'recover')]
        if not (seen or fresh):
            return None
        moment = StepMoment(last, self._shape, self._ledger, self._state())
        if not parsed(item.when).holds(moment):
            self._held.discard(key)
            return None
        known = key in self._held
        self._held.add(key)
        # What held before a restart has stopped the run then.
        if known or any(step.event.name == 'recover' for step in fresh):
            return None
        return last, last.event.at

    def _is_done(self, stride: Stride, region: str, seen: Sequence[Transition]) -> bool:
        active = self._ledger.active
        if region and not is_active(region, active):
            return True
        if stride.how == 'out':
            left = any(stride.until in step.left for step in seen)
            return left or has_ended(self._shape, stride.until, active)
        moved = (path for step in seen for path in (*step.left, *step.entered) if within(path, region))
        return any(of_workflow(self._shape, path) for path in moved)

    def _target(self, place: str) -> StatePath:
        return region_of(self._shape, nearest(place, self._ledger.active))


def _place(item: Breakpoint, step: Transition) -> str | None:
    """Where a step is at the place of a breakpoint; None where it is not."""
    if item.enter:
        return item.enter if item.enter in step.entered else None
    if item.leave:
        return item.leave if item.leave in step.left else None
    if item.edge:
        taken = (edge for edge in step.edges if f'{edge.source}>{edge.dest or edge.source}' == item.edge)
        return next((edge.dest or edge.source for edge in taken), None)
    return step.event.at or next(iter(step.entered), '')


def _said(stride: Stride, step: Transition) -> str:
    what = f'stepped out of {stride.until}' if stride.how == 'out' else 'stepped over'
    return f'{what} at step {step.seq}'


def _told(problems: dict[str, str]) -> Iterator[Event]:
    if problems:
        yield Event(name='breakpoints', data={'problems': problems})


def _pauses(stops: dict[StatePath, _Stop]) -> Iterator[Event]:
    """One pause for each region; where the whole run is held, for all of them."""
    if RUN in stops:
        merged = _Stop()
        for stop in stops.values():
            merged.reasons += stop.reasons
            merged.breakpoints += stop.breakpoints
        stops = {RUN: merged}
    for path, stop in stops.items():
        data = {'reason': '; '.join(stop.reasons), 'breakpoints': stop.breakpoints}
        yield Event(name='pause', at=path, data=data)
