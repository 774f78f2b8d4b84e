"""Conditions of breakpoints: expressions about one step of a run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from engine.errors import InvalidInput
from engine.statechart.expressions.compiler import ExpressionError, ValueProvider
from engine.statechart.expressions.expression import Expression, parse_expression

MAX_CONDITION = 500
"""Maximum number of characters in a condition."""

CONDITION_NAMES = {
    'cost': 'dollars the run has used',
    'tokens': 'tokens the run has used',
    'seconds': 'running time, as budgets count it',
    'step': "the step's number",
    'disagree': 'whether the latest positions in the debate differ',
    'memory': 'what the run remembers: memory.plan[0].title',
    'state': 'the innermost state that was entered; the last if there are several',
    'entered': 'all states that were entered',
    'left': 'all states that were left',
    'event': 'the name of the event',
    'attempt': 'its number, from 1',
    'loops': 'how often the outermost state that was entered (or left) has been entered',
    'text': 'the text of the reply, or of the tool results',
    'tools': 'names of the tools that are about to run',
    'agent': 'the path of the agent',
    'role': 'its role',
    'model': 'its model',
    'error': 'what went wrong',
    'score': 'the score in the answer',
    'data': 'all data of the event: data.output.summary',
}
"""The names available in a condition, with descriptions. A name without a value at a step is null."""
PERSISTENT_NAMES = frozenset({'cost', 'tokens', 'seconds', 'step', 'disagree', 'memory'})
"""Names whose values persist between steps; the others belong to a single step."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition, parsed and compiled."""

    expression: Expression

    @property
    def names(self) -> frozenset[str]:
        """The names from `CONDITION_NAMES` it uses."""
        return self.expression.names

    @property
    def fields(self) -> Mapping[str, int]:
        """The memory fields it names, with their columns."""
        return self.expression.fields

    @property
    def is_persistent(self) -> bool:
        """Whether it uses only names whose values persist between steps."""
        return self.names <= PERSISTENT_NAMES

    def holds(self, context: ValueProvider) -> bool:
        """Return whether it holds. Raises `EvaluationError`."""
        return bool(self.expression.evaluate(context))


@lru_cache(256)
def parse_condition(text: str) -> Condition:
    """Parse a condition, as `parse_expression` does, with the names in `CONDITION_NAMES`.

    Raises:
        InvalidInput: names `when`, the column (from 1), and the problem.
    """
    if len(text) > MAX_CONDITION:
        raise InvalidInput({'when': f'must be at most {MAX_CONDITION} characters, not {len(text)}'})
    try:
        return Condition(parse_expression(text, CONDITION_NAMES))
    except ExpressionError as error:
        raise InvalidInput({'when': str(error)}) from None


def check_condition(text: str, fields: Collection[str]) -> None:
    """Parse a condition for a run with these memory fields. Raises `InvalidInput`, as `parse_condition`."""
    for name, column in parse_condition(text).fields.items():
        if name not in fields:
            listed = f'; available: {", ".join(fields)}' if fields else ''
            error = ExpressionError(f'memory has no field {name!r}{listed}', column)
            raise InvalidInput({'when': str(error)})
