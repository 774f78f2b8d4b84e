"""Expressions: a subset of Python expressions on JSON values, compiled without `eval`."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from engine.statechart.expressions.compiler import (
    Compiler,
    Defined,
    Evaluation,
    ExpressionError,
    Part,
    ValueProvider,
)
from engine.statechart.expressions.values import EvaluationError


@dataclass(frozen=True, slots=True)
class Expression:
    """An expression, parsed and compiled."""

    text: str
    tree: ast.expr
    names: frozenset[str]
    """The names it uses, without variables."""
    fields: Mapping[str, int]
    """The memory fields it names, with their columns."""
    part: Part
    defined: Mapping[str, Defined]
    """Names in it that stand for other expressions may be among these."""

    def evaluate(self, context: ValueProvider) -> Any:
        """Return its value, with the default budget of work. Raises `EvaluationError`."""
        return compute(self.part, Evaluation(context))


def compute(part: Part, run: Evaluation) -> Any:
    """Return the value of a part.

    Raises:
        EvaluationError: types do not match, it divides by zero, or it takes too long.
    """
    try:
        return part(run)
    except EvaluationError:
        raise
    except RecursionError:
        raise EvaluationError('it is nested too deeply') from None
    except ArithmeticError as error:
        raise EvaluationError(str(error)) from None
    except Exception as error:
        raise EvaluationError(f'{type(error).__name__}: {error}'[:200]) from None


def parse_expression(
    text: str,
    names: Collection[str],
    local: Sequence[str] = (),
    defined: Mapping[str, Defined] = MappingProxyType({}),
) -> Expression:
    """Parse an expression.

    A subset of Python expressions: `and`, `or`, `not`; `== != < <= > >= in not in`; `+ - * / // %` on
    numbers, `+` on texts and lists too; `a if c else b`; texts, numbers, lists, objects, `true`, `false`,
    `null`; the names, with `.name` and `[index]` to reach into them as into JSON; `FUNCTIONS`; and
    `[item.title for item in memory.plan if item.score < 60]`, also as the one argument of a function.

    A missing value is null. Every comparison with null is false except `x == null` and `x != null`; anything
    computed from null is null.

    Args:
        text: the expression.
        names: the available names.
        local: the names of variables.
        defined: names that stand for other expressions, with these.

    Raises:
        ExpressionError: with the column.
    """
    source = re.sub(r'\s', ' ', text)
    indent = len(source) - len(source.lstrip())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            tree = ast.parse(source.strip(), mode='eval')
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        column = getattr(error, 'offset', None) or len(source.strip()) + 1
        problem = _explain_syntax_error(source.strip()[column - 1 :], getattr(error, 'msg', ''))
        raise ExpressionError(problem, column + indent) from None
    reader = Compiler(names, source, local, defined)
    part = reader.read(tree.body, 0)
    return Expression(
        text=text,
        tree=tree.body,
        names=frozenset(reader.names),
        fields=dict(reader.fields),
        part=part,
        defined=defined,
    )


def _explain_syntax_error(rest: str, problem: str) -> str:
    """Rephrase Python's syntax error at `rest` for readers who do not know Python."""
    if rest.startswith('='):
        return 'use == to compare two values'
    if problem and not problem.startswith('invalid syntax'):
        return problem
    return 'it cannot be parsed from here on' if rest else 'it ends too early'
