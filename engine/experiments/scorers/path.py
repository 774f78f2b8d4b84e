"""Path: a scorer of the way a run took, by its journal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field
from typing_extensions import override

from engine.experiments.records import Score
from engine.experiments.scorers.base import Evidence, Scorer, decide
from engine.history.forks.regression_tests import Expectations, expectation_failures
from engine.records import Transition
from engine.records.payloads import calls_of

APPROVING = 'approving'
"""The state of an agent that waits for the approval of its tool calls."""
MAX_PATHS = 200


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
        asked = any(path.rpartition('.')[2] == APPROVING for step in steps for path in step.entered)
        if self.approval is not None and asked is not self.approval:
            yield f'approval: it was {"" if asked else "not "}asked for'

    def _fits(self, call: Mapping[str, Any]) -> bool:
        if call.get('name') != self.tool:
            return False
        arguments = call.get('arguments')
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments)
            except (ValueError, RecursionError):
                return False
        return isinstance(arguments, Mapping) and all(
            name in arguments and arguments[name] == value for name, value in self.arguments.items()
        )


def _first_out_of_order(order: Sequence[str], steps: Sequence[Transition]) -> str:
    """Return the first state that was not entered in its place; '' if all were."""
    missing = iter(order)
    next_one = next(missing, '')
    for step in steps:
        for path in step.entered:
            if next_one and path == next_one:
                next_one = next(missing, '')
    return next_one
