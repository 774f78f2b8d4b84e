"""Probing: what a condition is at the present step of a run, and what its names are there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.outline import Shape
from engine.plain import plain
from engine.records import Transition
from engine.state import RunState
from engine.stepping.debugger import UNSEEN
from engine.stepping.expression import parsed
from engine.stepping.moment import StepMoment
from engine.stepping.values import Unfit, reach
from engine.view import Ledger

WHOLE = frozenset({'memory', 'data'})
"""Names of what is too large to be shown as a whole."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """A condition at one step."""

    seq: int
    """The step: the newest one that conditions look at."""
    holds: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    """What its names are, as JSON values; of memory, the fields that it names."""
    problem: str = ''
    """Why it could not be evaluated."""


def probed(
    text: str, steps: Sequence[Transition], shape: Shape, ledger: Ledger, state: RunState
) -> Probed | None:
    """What a condition is now; None where there is no step yet that conditions look at.

    Args:
        text: the condition.
        steps: the newest steps, in order.
        shape: the run's chart.
        ledger: what follows from all steps.
        state: the run's data now.

    Raises:
        InvalidInput: it cannot be read.
    """
    condition = parsed(text)
    step = next((step for step in reversed(steps) if step.raised or step.event.name not in UNSEEN), None)
    if step is None:
        return None
    moment = StepMoment(step, shape, ledger, state)
    values = {name: plain(moment.value(name)) for name in sorted(condition.names - WHOLE)}
    values |= {f'memory.{name}': plain(reach(state.memory, name)) for name in condition.fields}
    try:
        return Probed(seq=step.seq, holds=condition.holds(moment), values=values)
    except Unfit as error:
        return Probed(seq=step.seq, values=values, problem=str(error))
