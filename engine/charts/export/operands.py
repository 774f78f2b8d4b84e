"""Operands: what the parts of a Python function stand for while it is read."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, get_origin

from engine.charts.compiling.scope import NAMES
from engine.charts.export.types_of import fields_of
from engine.statechart.expressions.functions import FUNCTIONS
from engine.statechart.expressions.values import CONSTANTS


class Unsayable(Exception):
    """Something that a chart cannot say; `str(error)` says what."""


@dataclass(frozen=True, slots=True)
class Known:
    """A value that does not depend on a run: a constant, a class, a function, the pattern."""

    value: Any


@dataclass(frozen=True, slots=True)
class Value:
    """A value in a run, as an expression of the chart."""

    tree: ast.expr
    type: Any = None
    """Its type, if that is declared."""


class EventMarker:
    """The event, in a function of the pattern."""


class ContextMarker(NamedTuple):
    """What callbacks of agents get: the pattern and the run's state."""

    pattern: Any


@dataclass(frozen=True, slots=True)
class Stale:
    """A local name for something in memory, which may have changed since."""

    local: str


Operand = Known | Value | EventMarker | ContextMarker | Stale


def name(text: str) -> ast.expr:
    """Return a name as an expression."""
    return ast.Name(text)


def variable(local: str) -> str:
    """Return what a loop's variable is called in a chart, where some names mean something already."""
    return f'one_{local}' if local in {*NAMES, *FUNCTIONS, *CONSTANTS, 'loop', 'region'} else local.lower()


def call(function: str, *arguments: ast.expr) -> ast.expr:
    """Return a call of a chart's function."""
    return ast.Call(name(function), list(arguments), [])


def memory_of(pattern: Any) -> Value:
    """Return a pattern's memory, in an expression."""
    return Value(name('memory'), pattern.Memory)


def type_of(operand: Operand) -> Any:
    """Return the declared type of a value; None if there is none."""
    match operand:
        case Value(type=kind):
            return kind
        case Known(value=str()):
            return str
    return None


def as_tree(operand: Operand) -> ast.expr:
    """Return a value as an expression. Raises `Unsayable`."""
    if isinstance(operand, Value):
        return operand.tree
    if isinstance(operand, Stale):
        raise Unsayable(f'`{operand.local}` is read before memory changes, and used after that')
    value = operand.value if isinstance(operand, Known) else operand
    if isinstance(value, Enum):
        value = value.value
    if value is None or isinstance(value, bool):
        return name({None: 'null', True: 'true', False: 'false'}[value])
    if isinstance(value, int | float | str):
        return ast.Constant(value)
    if isinstance(value, list | tuple | set | frozenset):
        return ast.List(
            [
                as_tree(Known(item))
                for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)
            ]
        )
    raise Unsayable(f'`{getattr(value, "__name__", type(value).__name__)}` is Python')


def as_text(operand: Operand) -> ast.expr:
    """Return a value as text. Raises `Unsayable` if charts write such a value in another way."""
    tree, kind = as_tree(operand), type_of(operand)
    if kind is str or (isinstance(tree, ast.Constant) and isinstance(tree.value, str)):
        return tree
    if kind in (bool, float) or get_origin(kind) is not None or fields_of(kind):
        raise Unsayable(f'{source(tree)} is no text, and Python writes it in its own way')
    return call('string', tree)


def refuse(what: str) -> Any:
    """Raise `Unsayable`."""
    raise Unsayable(f'{what} has no counterpart')


def source(node: ast.AST) -> str:
    """Return how something is written in Python, shortened."""
    return f'`{ast.unparse(node)[:80]}`'
