"""Condition probe: a condition's result at the run's present step, and the values of its names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.journal.projection import RunProjection
from engine.records import Transition
from engine.records.jsonable import to_jsonable
from engine.runtime.debugger.condition import parse_condition
from engine.runtime.debugger.condition_context import ConditionContext
from engine.runtime.debugger.debugger import NON_STOPPING_EVENTS
from engine.statechart.expressions.values import EvaluationError, get_item
from engine.statechart.run_state import RunState

WHOLE = frozenset({'memory', 'data'})
"""Names of values too large to show in full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionResult:
    """What a condition evaluates to at one step."""

    seq: int
    """The step: the newest one that conditions apply to."""
    holds: bool = False
    values: Mapping[str, Any] = field(default_factory=dict)
    """The values of its names as JSON; for memory, the fields it names."""
    problem: str = ''
    """Why it could not be evaluated."""


def probe_condition(
    text: str, steps: Sequence[Transition], projection: RunProjection, state: RunState
) -> ConditionResult | None:
    """Return a condition's present result; None if there is no step yet that conditions apply to.

    Args:
        text: the condition.
        steps: the newest steps, in order.
        projection: the derived state after all steps.
        state: the run's data now.

    Raises:
        InvalidInput: it cannot be parsed.
    """
    condition = parse_condition(text)
    step = next(
        (step for step in reversed(steps) if step.raised or step.event.name not in NON_STOPPING_EVENTS), None
    )
    if step is None:
        return None
    context = ConditionContext(step, projection, state)
    values = {name: to_jsonable(context.value(name)) for name in sorted(condition.names - WHOLE)}
    values |= {f'memory.{name}': to_jsonable(get_item(state.memory, name)) for name in condition.fields}
    try:
        return ConditionResult(seq=step.seq, holds=condition.holds(context), values=values)
    except EvaluationError as error:
        return ConditionResult(seq=step.seq, values=values, problem=str(error))
