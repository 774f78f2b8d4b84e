"""Conditions of breakpoints: a small subset of Python expressions, compiled without `eval`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache

from engine.errors import InvalidInput
from engine.runtime.debugger.condition_compiler import (
    ConditionCompiler,
    Evaluation,
    Part,
    ValueProvider,
    condition_error,
)
from engine.runtime.debugger.condition_values import EvaluationError

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

    text: str
    names: frozenset[str]
    """The names from `CONDITION_NAMES` it uses."""
    fields: Mapping[str, int]
    """The memory fields it names, with their columns."""
    part: Part

    @property
    def is_persistent(self) -> bool:
        """Whether it uses only names whose values persist between steps."""
        return self.names <= PERSISTENT_NAMES

    def holds(self, context: ValueProvider) -> bool:
        """Return whether it holds.

        Raises:
            EvaluationError: types do not match, it divides by zero, or it takes too long.
        """
        try:
            return bool(self.part(Evaluation(context)))
        except EvaluationError:
            raise
        except RecursionError:
            raise EvaluationError('it is nested too deeply') from None
        except Exception as error:
            raise EvaluationError(f'{type(error).__name__}: {error}'[:200]) from None


@lru_cache(256)
def parse_condition(text: str) -> Condition:
    """Parse a condition.

    A subset of Python expressions: `and`, `or`, `not`; `== != < <= > >= in not in`; `+ - * / // %` on
    numbers, `+` on strings too; strings, numbers, lists, `true`, `false`, `null`; the names in
    `CONDITION_NAMES`, with `.name` and `[index]` to reach into them as into JSON; the functions in
    `condition_values`; and `any(item.score < 60 for item in memory.verdicts)`, or `all`.

    A missing value is null. Every comparison with null is false except `x == null` and `x != null`; anything
    computed from null is null.

    Raises:
        InvalidInput: names `when`, the column (from 1), and the problem.
    """
    if len(text) > MAX_CONDITION:
        raise InvalidInput({'when': f'must be at most {MAX_CONDITION} characters, not {len(text)}'})
    source = re.sub(r'\s', ' ', text)
    indent = len(source) - len(source.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            tree = ast.parse(source.strip(), mode='eval')
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        column = getattr(error, 'offset', None) or len(source.strip()) + 1
        problem = _explain_syntax_error(source.strip()[column - 1 :], getattr(error, 'msg', ''))
        raise condition_error(column + indent, problem) from None
    reader = ConditionCompiler(source, CONDITION_NAMES)
    part = reader.read(tree.body, 0)
    return Condition(text=text, names=frozenset(reader.names), fields=dict(reader.fields), part=part)


def _explain_syntax_error(rest: str, problem: str) -> str:
    """Rephrase Python's syntax error at `rest` for readers who do not know Python."""
    if rest.startswith('='):
        return 'use == to compare two values'
    if problem and not problem.startswith('invalid syntax'):
        return problem
    return 'it cannot be parsed from here on' if rest else 'it ends too early'


def check_condition(text: str, fields: Collection[str]) -> None:
    """Parse a condition for a run with these memory fields. Raises `InvalidInput`, as `parse_condition`."""
    for name, column in parse_condition(text).fields.items():
        if name not in fields:
            listed = f'; available: {", ".join(fields)}' if fields else ''
            raise condition_error(column, f'memory has no field {name!r}{listed}')
