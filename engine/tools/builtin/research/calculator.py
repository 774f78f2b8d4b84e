"""calculator: arithmetic, evaluated from its syntax tree and never executed as code."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable
from typing import Annotated, Any

from pydantic import Field

from engine.errors import ToolError
from engine.tools.protocol import ToolContext, tool

OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}
MAX_BITS = 2_048
"""Maximum bits of an integer: larger ones are slow to compute and too long to read."""


@tool(category='mathematics')
async def calculator(
    context: ToolContext,
    expression: Annotated[str, Field(max_length=500, description='For example (3 + 4) * 2 / 7')],
) -> str:
    """Evaluate an arithmetic expression with + - * / // % ** and parentheses."""
    try:
        value = _evaluate(ast.parse(expression, mode='eval').body)
    except (SyntaxError, ValueError, RecursionError):
        raise ToolError(f'not an arithmetic expression: {expression!r}') from None
    except ArithmeticError as error:
        raise ToolError(str(error)) from None
    return f'{value:.12g}' if isinstance(value, float) else str(value)


def _evaluate(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            return number
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return OPERATORS[type(op)](_evaluate(operand))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            first, second = _evaluate(left), _evaluate(right)
            whole = isinstance(first, int) and isinstance(second, int)
            if (
                whole
                and isinstance(op, ast.Pow)
                and abs(first) > 1
                and first.bit_length() * second > MAX_BITS
            ):
                raise OverflowError(TOO_LARGE)
            return _check_number(OPERATORS[type(op)](first, second))
    raise ValueError(node)


def _check_number(value: Any) -> int | float:
    if isinstance(value, complex):
        raise ArithmeticError('the result is not a real number')
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise OverflowError(TOO_LARGE)
    if isinstance(value, float) and not math.isfinite(value):
        raise OverflowError(TOO_LARGE)
    return value  # type: ignore[no-any-return]


TOO_LARGE = 'an intermediate result is too large to compute'
