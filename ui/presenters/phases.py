"""The time of a run's phases in words: shares, what is used, forecasts, the step under way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from engine import Burn, PhaseClock, Shape, Status, View, burn_down
from ui.presenters.reading import span

NAMES = {'planning': 'Planning', 'executing': 'Execution', 'verifying': 'Verification'}


def clock_of(shape: Shape, view: View) -> PhaseClock | None:
    """The clock of a run at a step; None where it keeps none, or has not begun."""
    found = view.memory.get(shape.clock) if shape.clock else None
    if not isinstance(found, Mapping):
        return None
    try:
        clock = PhaseClock.model_validate(found)
    except ValidationError:  # of a version that is not there any more
        return None
    return clock if clock.limit else None


def ran_at(view: View, now: float) -> float:
    """The seconds of running that the run's own events would have `now`."""
    still = view.paused or view.status.ended or not view.seq
    return view.ran if still else view.ran + max(0.0, now - view.time)


def burns(clock: PhaseClock, ran: float) -> tuple[Burn, ...]:
    """The phases of the round, with their forecasts."""
    return burn_down(clock, ran, done=clock.done, steps=clock.steps)


def stands(clock: PhaseClock, burn: Burn) -> str:
    """How a phase stands, in a word: it is said beside the bar, for colour is not enough."""
    if burn.used > burn.allotted + 0.05:
        return 'over its share'
    if clock.phase == burn.phase and clock.stopped < 0:
        return 'under way'
    if burn.used:
        return 'over'
    return 'to come' if clock.stopped < 0 else 'not begun'


def said_of(clock: PhaseClock, burn: Burn) -> str:
    """A phase in one line: used, allotted, forecast."""
    now = clock.phase == burn.phase and clock.stopped < 0
    hope = f', forecast {span(burn.forecast)}' if now and burn.forecast > burn.used + 0.5 else ''
    late = ' (more than its share)' if now and burn.over else ''
    return f'{span(burn.used)} of {span(burn.allotted)}{hope}{late}'


def whole(clock: PhaseClock, ran: float, status: Status) -> str:
    """What is left of all of it."""
    if clock.stopped >= 0:
        left = max(0.0, clock.ends - clock.stopped)
        return f'ended with {span(left)} left' if left and status.ended else f'used up: {span(clock.limit)}'
    left = clock.left(ran)
    return f'{span(left)} of {span(clock.limit)} left' if left > 0 else f'{span(clock.limit)} used up'


def step_lines(clock: PhaseClock, ran: float) -> Iterator[tuple[str, str]]:
    """The step under way: its share, and what of it may go into fixes."""
    if clock.phase != 'executing' or clock.stopped >= 0 or not clock.step_budget:
        return
    left = clock.step_ends - ran
    yield 'This step', f'{span(max(0.0, left))} of {span(clock.step_budget)} left'
    if clock.fixes_end:
        left = clock.fixes_end - ran
        yield 'Fix cycles', f'{span(left)} left for new ones' if left > 0 else 'no new one begins'
    else:
        yield 'Fix cycles', f'may take {span(clock.fix_budget)}; none so far'


def grant(found: Any) -> str:
    """Time that a person has added."""
    return f'{span(found.seconds)} added after {span(found.ran)}' + (
        ', to go on after a stop' if found.resumed else ''
    )
