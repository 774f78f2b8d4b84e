"""Path: a scorer of the way a run took, by its journal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, field_validator
from typing_extensions import override

from engine.history.forks.regression_tests import Expectations, expectation_failures
from engine.operations.experiments.records import Score
from engine.operations.experiments.scorers.base import Evidence, Scorer, decide
from engine.records import Transition
from engine.records.payloads import calls_of
from engine.runtime.debugger.condition import MAX_CONDITION
from engine.statechart.expressions.compiler import ExpressionError
from engine.statechart.expressions.expression import parse_expression

APPROVING = 'approving'
"""The state of an agent that waits for the approval of its tool calls."""
MAX_PATHS = 200
RUN_NAMES: Mapping[str, Callable[[Evidence], Any]] = {
    'answer': lambda run: run.answer,
    'memory': lambda run: dict(run.fold.view.memory),
    'parameters': lambda run: dict(run.info.parameters),
    'expectation': lambda run: run.case.expectation,
    'entered': lambda run: [path for step in run.steps for path in step.entered],
    'visits': lambda run: dict(Counter(path for step in run.steps for path in step.entered)),
    'calls': lambda run: [_call(call) for step in run.steps for call in calls_of(step.event)],
    'steps': lambda run: len(run.steps),
    'tokens': lambda run: run.fold.view.usage.total,
    'cost': lambda run: run.fold.view.usage.dollars,
    'seconds': lambda run: run.fold.view.seconds,
    'caveat': lambda run: run.info.error,
}
"""The names of an expression about a whole run. `entered` has all states in order, `visits` how often each
was entered, `calls` the `name` and the `arguments` of each tool call."""


class PathScorer(Scorer):
    """Whether all conditions on the way of a run hold; what is left out is not asked for."""

    reads_steps: ClassVar[bool] = True

    visited: list[str] = Field(default_factory=list, max_length=MAX_PATHS)
    """States that it has to enter."""
    not_visited: list[str] = Field(default_factory=list, max_length=MAX_PATHS)
    """States that it must not enter."""
    visits: dict[str, int] = Field(default_factory=dict, max_length=MAX_PATHS)
    """How often it may enter a state at most, by state."""
    order: list[str] = Field(default_factory=list, max_length=MAX_PATHS)
    """States that it has to enter in this order, whatever it enters in between."""
    tool: str = Field('', max_length=200)
    """A tool that has to be called."""
    arguments: dict[str, Any] = Field(default_factory=dict)
    """Arguments of such a call; others do not matter."""
    approval: bool | None = None
    """Whether a person has to be asked for approval of a tool call, or must not be."""
    tokens: int | None = Field(None, ge=0)
    """How many tokens it may use at most."""
    dollars: float | None = Field(None, ge=0)
    seconds: float | None = Field(None, ge=0)
    """How long it may work at most, without pauses and waiting for people."""
    when: str = Field('', max_length=MAX_CONDITION)
    """An expression that has to hold, in the language of the conditions of breakpoints, about the whole run;
    `RUN_NAMES` are its names."""

    @field_validator('when')
    @classmethod
    def _parses(cls, value: str) -> str:
        if value:
            try:
                parse_expression(value, RUN_NAMES)
            except ExpressionError as error:
                raise ValueError(str(error)) from None
        return value

    @override
    async def score(self, evidence: Evidence) -> Score:
        problems = [*self._problems(evidence)]
        return decide(not problems, '; '.join(problems))

    def _problems(self, evidence: Evidence) -> Iterator[str]:
        view, shape, steps = evidence.fold.view, evidence.fold.shape, evidence.steps
        expect = Expectations(
            visited=self.visited,
            not_visited=self.not_visited,
            visits=self.visits,
            tokens=self.tokens,
            dollars=self.dollars,
            seconds=self.seconds,
        )
        for failure in expectation_failures(
            expect, view, evidence.answer, steps, {state.path for state in shape.states}
        ):
            at = f' at step {failure.step}' if failure.step else ''
            yield f'{failure.what}: {failure.wanted}, but {failure.came}{at}'
        if lost := _first_out_of_order(self.order, steps):
            yield f'order: {lost} was not entered after what comes before it'
        if self.tool and not any(self._fits(call) for step in steps for call in calls_of(step.event)):
            given = f' with {json.dumps(self.arguments, ensure_ascii=False)}' if self.arguments else ''
            yield f'tool: {self.tool} was not called{given}'
        if self.when and not parse_expression(self.when, RUN_NAMES).evaluate(_WholeRun(evidence)):
            yield f'{self.when}: does not hold'
        was_asked = any(path.rpartition('.')[2] == APPROVING for step in steps for path in step.entered)
        if self.approval is not None and was_asked is not self.approval:
            yield f'approval: it was {"" if was_asked else "not "}asked for'

    def _fits(self, call: Mapping[str, Any]) -> bool:
        arguments = _call(call)['arguments']
        return call.get('name') == self.tool and all(
            name in arguments and arguments[name] == value for name, value in self.arguments.items()
        )


@dataclass(frozen=True, slots=True)
class _WholeRun:
    """Provides the values of the names of an expression."""

    evidence: Evidence

    def value(self, name: str) -> Any:
        """Return the value of a name."""
        return RUN_NAMES[name](self.evidence)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a tool call with its arguments as an object; a model may have written any text."""
    arguments = call.get('arguments')
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            arguments = None
    return {'name': call.get('name'), 'arguments': arguments if isinstance(arguments, Mapping) else {}}


def _first_out_of_order(order: Sequence[str], steps: Sequence[Transition]) -> str:
    """Return the first state that was not entered in its place; '' if all were."""
    missing = iter(order)
    next_one = next(missing, '')
    for step in steps:
        for path in step.entered:
            if next_one and path == next_one:
                next_one = next(missing, '')
    return next_one
