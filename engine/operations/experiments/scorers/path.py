"""Path: a scorer of the way a run took, by its journal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import Field, field_validator
from typing_extensions import override

from engine.errors import ToolError
from engine.operations.experiments.records import Miss, Score
from engine.operations.experiments.scorers.base import AnyEndScorer, Evidence, decide_by
from engine.records import Transition
from engine.records.payloads import calls_of
from engine.runtime.debugger.condition import MAX_CONDITION
from engine.statechart.expressions.compiler import ExpressionError
from engine.statechart.expressions.expression import parse_expression

APPROVING = 'approving'
"""The state of an agent that waits for the approval of its tool calls."""
MAX_PATHS = 2_000
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


class PathScorer(AnyEndScorer):
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
        misses = [*self._visit_misses(evidence), *self._limit_misses(evidence), *self._misses(evidence)]
        if not misses and self.dollars is not None and evidence.fold.view.usage.cost is None:
            raise ToolError('a part of its cost is not known')
        return decide_by(misses)

    def _visit_misses(self, evidence: Evidence) -> Iterator[Miss]:
        steps, paths = evidence.steps, {state.path for state in evidence.fold.shape.states}
        entered = _entered(steps)
        yield from self._unknown_states(paths)
        for path in self.visited:
            if path in paths and path not in entered:
                yield Miss(what='visited', wanted=path, came='it was never entered')
        for path in self.not_visited:
            if path in entered:
                yield Miss(what='not_visited', wanted=path, came='it was entered', step=entered[path][0])
        for path, most in self.visits.items():
            if len(seqs := entered.get(path, [])) > most:
                wanted, came = f'{path} {most} times at most', f'{len(seqs)} times'
                yield Miss(what='visits', wanted=wanted, came=came, step=seqs[max(most, 0)])
        if (lost := _first_out_of_order(self.order, steps)) in paths:
            wanted = f'{lost} after what comes before it'
            yield Miss(what='order', wanted=wanted, came='it was not entered there')

    def _unknown_states(self, paths: Collection[str]) -> Iterator[Miss]:
        # Without this, expecting that a nonexistent state is not entered would always succeed.
        for what in ('visited', 'not_visited', 'visits', 'order'):
            for path in getattr(self, what):
                if path not in paths:
                    yield Miss(what=what, wanted=path, came='the pattern has no such state')

    def _limit_misses(self, evidence: Evidence) -> Iterator[Miss]:
        view = evidence.fold.view
        for what, limit, used in (
            ('tokens', self.tokens, view.usage.total),
            ('dollars', self.dollars, view.usage.dollars),
            ('seconds', self.seconds, view.seconds),
        ):
            if limit is not None and used > limit + 1e-6:
                yield Miss(what=what, wanted=f'at most {limit:g}', came=f'{used:g}')

    def _misses(self, evidence: Evidence) -> Iterator[Miss]:
        steps = evidence.steps
        if self.tool and not any(self._fits(call) for step in steps for call in calls_of(step.event)):
            given = f' with {json.dumps(self.arguments, ensure_ascii=False)}' if self.arguments else ''
            yield Miss(what='tool', wanted=f'{self.tool}{given}', came='it was not called')
        if self.when and not parse_expression(self.when, RUN_NAMES).evaluate(_WholeRun(evidence)):
            yield Miss(what='when', wanted=self.when, came='it does not hold')
        was_asked = any(path.rpartition('.')[2] == APPROVING for step in steps for path in step.entered)
        if self.approval is not None and was_asked is not self.approval:
            wanted, came = ('a question', 'none') if self.approval else ('no question', 'there was one')
            yield Miss(what='approval', wanted=wanted, came=came)

    def _fits(self, call: Mapping[str, Any]) -> bool:
        arguments = _call(call)['arguments']
        return call.get('name') == self.tool and all(
            name in arguments and arguments[name] == value for name, value in self.arguments.items()
        )


def _entered(steps: Sequence[Transition]) -> dict[str, list[int]]:
    """Return the steps that entered each state."""
    entered: dict[str, list[int]] = {}
    for step in steps:
        for path in step.entered:
            entered.setdefault(path, []).append(step.seq)
    return entered


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
