"""Replays a journal through a fresh chart; the first divergence is an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from engine.errors import Diverged, EngineError
from engine.journal.projection import Fold
from engine.records import CONTROL, RunId, StatePath, Transition
from engine.records.jsonable import shorten
from engine.records.payloads import RecoverData, payload
from engine.statechart.chart import Chart, Microstep
from engine.statechart.pattern import Pattern
from engine.statechart.run_state import RunState
from engine.statechart.shape_builder import START

COMPARED_FIELDS = ('event', 'left', 'entered', 'active', 'guards', 'changes')


def audit(run: RunId, pattern: Pattern, transitions: Iterable[Transition]) -> int:
    """Re-fire every recorded event.

    Returns:
        The number of steps, all as recorded.

    Raises:
        Diverged: names the first step that the current chart decides differently, and the difference.
    """
    steps = list(transitions)
    # Forks may have changed its parameters since the run began.
    pattern = _apply_variation(pattern, next(filter(None, map(_variation, steps)), {}), 0)
    chart = Chart(pattern)
    fold, state = Fold(run, chart.shape), None
    active: tuple[StatePath, ...] = (START,)
    for turn in group_turns(steps):
        first = turn[0]
        if first.event.name == 'start':
            state = _create_state(run, pattern, first)
        if state is None:
            raise Diverged(run, first.seq, 'the history does not begin with `start`')
        if first.event.name in CONTROL and first.event.name != 'start':
            fold.apply(first)
            if varied := _variation(first):
                state.pattern = pattern = _apply_variation(pattern, varied, 1)
                chart = Chart(pattern)
            if first.changes:
                state = RunState.load(pattern, fold.document)
            state.notices = fold.projection.meter.notices
        else:
            ran = fold.projection.ran_at(first.time)
            event = replace(first.event, time=first.time, ran=ran)
            _compare(run, turn, _fire(run, chart, state, active, replace(first, event=event)))
            fold.apply_all(turn)
        active = turn[-1].active
    return fold.projection.seq


def _variation(step: Transition) -> Mapping[str, Any]:
    """Return what a fork changed about the pattern when it began in this step."""
    return payload(RecoverData, step.event).get('varied', {}) if step.event.name == 'recover' else {}


def _apply_variation(pattern: Pattern, varied_parts: Mapping[str, Any], after: int) -> Pattern:
    """Return the pattern before (0) or after (1) a fork's changes."""
    varied = pattern
    if 'parameters' in varied_parts:
        varied = type(pattern)(type(pattern).parse(varied_parts['parameters'][after]))
        varied.instruction_overrides = pattern.instruction_overrides
    if 'instructions' in varied_parts:
        varied = copy(varied)
        varied.instruction_overrides = varied_parts['instructions'][after]
    return varied


def group_turns(transitions: Iterable[Transition]) -> Iterator[list[Transition]]:
    """Group the steps into turns: each event with the steps it raised."""
    turn: list[Transition] = []
    for transition in transitions:
        if turn and not transition.raised:
            yield turn
            turn = []
        turn.append(transition)
    if turn:
        yield turn


def _create_state(run: RunId, pattern: Pattern, first: Transition) -> RunState:
    try:
        return RunState(pattern, pattern.Memory.model_validate(first.event.data.get('memory', {})))
    except ValidationError as error:
        raise Diverged(run, first.seq, f'the memory no longer fits: {error}') from None


def _fire(
    run: RunId, chart: Chart, state: RunState, active: tuple[StatePath, ...], first: Transition
) -> list[Microstep]:
    unknown = [path for path in active if path not in chart.states and path != START]
    if unknown:
        raise Diverged(run, first.seq, f'the chart no longer has a state {unknown[0]!r}')
    try:
        return chart.fire(active, state, first.event)
    except EngineError as error:
        raise Diverged(run, first.seq, str(error)) from None


def _compare(run: RunId, turn: list[Transition], microsteps: list[Microstep]) -> None:
    if not microsteps and len(turn) == 1 and not turn[0].left and not turn[0].entered:
        return
    for recorded, microstep in zip(turn, microsteps, strict=False):
        for name in COMPARED_FIELDS:
            was, now = getattr(recorded, name), getattr(microstep, name)
            if name == 'event':
                was, now = (
                    replace(was, data={}, since=0, attempt=1),
                    replace(now, data={}, since=0, attempt=1),
                )
            if was != now:
                raise Diverged(run, recorded.seq, f'{name} was {shorten(was)} and is now {shorten(now)}')
    if len(turn) != len(microsteps):
        step = turn[min(len(turn), len(microsteps)) - 1].seq
        raise Diverged(
            run, step, f'{len(turn)} steps were recorded, the current chart makes {len(microsteps)}'
        )
