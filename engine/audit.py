"""Re-fires a journal through a fresh chart and compares: the first divergence is an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from engine.chart import Chart, Move
from engine.errors import Diverged, EngineError
from engine.pattern import Pattern
from engine.plain import short
from engine.records import CONTROL, RunId, StatePath, Transition
from engine.shape import START
from engine.state import RunState
from engine.view import Fold

COMPARED = ('event', 'left', 'entered', 'active', 'guards', 'changes')


def audit(run: RunId, pattern: Pattern, transitions: Iterable[Transition]) -> int:
    """Re-fire every recorded event.

    Returns:
        The number of steps that were found as recorded.

    Raises:
        Diverged: names the first step that the chart decides otherwise today, and what is different.
    """
    steps = list(transitions)
    pattern = _as_begun(pattern, steps)
    chart = Chart(pattern)
    fold, state = Fold(run, chart.shape), None
    active: tuple[StatePath, ...] = (START,)
    for turn in turns(steps):
        first = turn[0]
        if first.event.name == 'start':
            state = _begin(run, pattern, first)
        if state is None:
            raise Diverged(run, first.seq, 'the history does not begin with `start`')
        if first.event.name in CONTROL and first.event.name != 'start':
            fold.take(first)
            if _is_varied(first):
                state.pattern = pattern = _as_varied(pattern, first.event.data['varied'], 1)
                chart = Chart(pattern)
            if first.changes:
                state = RunState.load(pattern, fold.document)
            state.notices = fold.ledger.meter.notices
        else:
            ran = fold.ledger.ran_at(first.time)
            event = replace(first.event, time=first.time, ran=ran)
            _compare(run, turn, _fired(run, chart, state, active, replace(first, event=event)))
            fold.take_all(turn)
        active = turn[-1].active
    return fold.ledger.seq


def _as_begun(pattern: Pattern, steps: Iterable[Transition]) -> Pattern:
    """The pattern as it was when the run began: forks of it may have had other parameters since."""
    changed = (step.event.data['varied'] for step in steps if _is_varied(step))
    return _as_varied(pattern, next(changed, {}), 0)


def _is_varied(step: Transition) -> bool:
    return step.event.name == 'recover' and 'varied' in step.event.data


def _as_varied(pattern: Pattern, ways: Mapping[str, Any], after: int) -> Pattern:
    """The pattern with what a fork changed of it: as it was before (0), or is after it (1)."""
    found = pattern
    if 'parameters' in ways:
        found = type(pattern)(type(pattern).parse(ways['parameters'][after]))
        found.instructed = pattern.instructed
    if 'instructions' in ways:
        found = copy(found)
        found.instructed = ways['instructions'][after]
    return found


def turns(transitions: Iterable[Transition]) -> Iterator[list[Transition]]:
    """The steps in groups: an event, and what it raised."""
    turn: list[Transition] = []
    for transition in transitions:
        if turn and not transition.raised:
            yield turn
            turn = []
        turn.append(transition)
    if turn:
        yield turn


def _begin(run: RunId, pattern: Pattern, first: Transition) -> RunState:
    try:
        return RunState(pattern, pattern.Memory.model_validate(first.event.data.get('memory', {})))
    except ValidationError as error:
        raise Diverged(run, first.seq, f'the memory does not fit any more: {error}') from None


def _fired(
    run: RunId, chart: Chart, state: RunState, active: tuple[StatePath, ...], first: Transition
) -> list[Move]:
    unknown = [path for path in active if path not in chart.states and path != START]
    if unknown:
        raise Diverged(run, first.seq, f'the chart has no state {unknown[0]!r} any more')
    try:
        return chart.fire(active, state, first.event)
    except EngineError as error:
        raise Diverged(run, first.seq, str(error)) from None


def _compare(run: RunId, turn: list[Transition], moves: list[Move]) -> None:
    if not moves and len(turn) == 1 and not turn[0].left and not turn[0].entered:
        return
    for recorded, move in zip(turn, moves, strict=False):
        for name in COMPARED:
            was, now = getattr(recorded, name), getattr(move, name)
            if name == 'event':
                was, now = (
                    replace(was, data={}, since=0, attempt=1),
                    replace(now, data={}, since=0, attempt=1),
                )
            if was != now:
                raise Diverged(run, recorded.seq, f'{name} was {short(was)} and is now {short(now)}')
    if len(turn) != len(moves):
        step = turn[min(len(turn), len(moves)) - 1].seq
        raise Diverged(run, step, f'{len(turn)} moves were recorded and {len(moves)} are made now')
