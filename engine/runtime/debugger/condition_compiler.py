"""ConditionCompiler: compiles a condition's syntax tree into functions; rejects unsupported syntax."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from engine.errors import InvalidInput
from engine.runtime.debugger.condition_values import (
    ARITHMETIC,
    COMPARISONS,
    CONSTANTS,
    FUNCTIONS,
    EvaluationError,
    calculate,
    call_cost,
    comparison_cost,
    get_item,
    is_missing,
    is_present,
    null_safe,
    require_list,
)

MAX_DEPTH = 30
"""Maximum nesting depth of a condition's parts."""
MAX_STEPS = 10_000
"""Maximum number of parts evaluated per result; a condition that needs more is aborted."""
MAX_ITEMS = 100_000
"""Maximum number of values these parts inspect: items of lists, fields of records, pieces of text."""


class ValueProvider(Protocol):
    """Provides the values of names."""

    def value(self, name: str) -> Any:
        """Return the name's value at this step; None if there is none."""


@dataclass(slots=True)
class Evaluation:
    """One evaluation: the names' values, and how many more parts and values it may use."""

    context: ValueProvider
    local: dict[str, Any] = field(default_factory=dict)
    left: int = MAX_STEPS
    items: int = MAX_ITEMS

    def spend(self, count: int) -> None:
        """Count inspected values. Raises `EvaluationError` after `MAX_ITEMS`."""
        self.items -= count
        if self.items < 0:
            raise EvaluationError('it takes too long: it looks at too many items')


Part = Callable[[Evaluation], Any]


def condition_error(column: int, problem: str) -> InvalidInput:
    """Return the error for a condition, with its position; columns count from 1."""
    return InvalidInput({'when': f'column {column}: {problem}'})


class ConditionCompiler:
    """Compiles the output of Python's parser into functions; rejects all syntax not handled here."""

    def __init__(self, source: str, names: Collection[str]) -> None:
        """`names` are the available names."""
        self._known = names
        self._source, self._indent = (
            source.strip().encode('utf-8', 'replace'),
            len(source) - len(source.lstrip()),
        )
        self.names: set[str] = set()
        self.fields: dict[str, int] = {}
        self._local: list[str] = []

    def read(self, node: ast.expr, depth: int = 0) -> Part:
        """Return a function that computes the node's value. Raises `InvalidInput`."""
        if depth > MAX_DEPTH:
            raise self._unsupported(node, 'it is nested too deeply')
        evaluate = self._read(node, depth + 1)

        def part(run: Evaluation) -> Any:
            run.left -= 1
            if run.left < 0:
                raise EvaluationError('it takes too long: it looks at too many items')
            return evaluate(run)

        return part

    def _read(self, node: ast.expr, depth: int) -> Part:
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return lambda run: value
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute() | ast.Subscript(slice=ast.expr()) | ast.List() | ast.Tuple():
                return self._structure(node, depth)
            case ast.BoolOp() | ast.UnaryOp() | ast.BinOp():
                return self._operation(node, depth)
            case ast.Compare():
                return self._comparison(node, depth)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(node, name, args, depth)
        raise self._unsupported(node)

    def _structure(self, node: ast.expr, depth: int) -> Part:
        match node:
            case ast.Attribute(value=inner, attr=name):
                self._note_field(inner, name)
                return _index(self.read(inner, depth), lambda run: name)
            case ast.Subscript(value=inner, slice=index) if not isinstance(index, ast.Slice):
                if isinstance(index, ast.Constant):
                    self._note_field(inner, index.value)
                return _index(self.read(inner, depth), self.read(index, depth))
            case ast.List(elts=items) | ast.Tuple(elts=items):
                parts = [self.read(item, depth) for item in items]
                return lambda run: [part(run) for part in parts]
        raise self._unsupported(node)

    def _operation(self, node: ast.expr, depth: int) -> Part:
        match node:
            case ast.BoolOp(op=kind, values=values):
                return _bool_op(isinstance(kind, ast.Or), [self.read(value, depth) for value in values])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                part = self.read(operand, depth)
                return lambda run: not part(run)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _binary(operator.sub, lambda run: 0, self.read(operand, depth))
            case ast.BinOp(left=first, op=operation, right=second) if type(operation) in ARITHMETIC:
                return _binary(ARITHMETIC[type(operation)], self.read(first, depth), self.read(second, depth))
        raise self._unsupported(node)

    def _name(self, node: ast.expr, name: str) -> Part:
        if name in self._local:
            return lambda run: run.local[name]
        if name in CONSTANTS:
            value = CONSTANTS[name]
            return lambda run: value
        if name not in self._known:
            raise self._unsupported(node, f'there is no {name!r}; available: {", ".join(self._known)}')
        self.names.add(name)
        return lambda run: run.context.value(name)

    def _note_field(self, inner: ast.expr, name: object) -> None:
        if isinstance(inner, ast.Name) and inner.id == 'memory' and 'memory' not in self._local:
            self.fields.setdefault(str(name), self._column(inner))

    def _comparison(self, node: ast.Compare, depth: int) -> Part:
        nodes = [node.left, *node.comparators]
        parts = [self.read(item, depth) for item in nodes]
        steps: list[Callable[[Any, Any], bool]] = []
        for number, kind in enumerate(node.ops):
            pair = nodes[number : number + 2]
            to_null = any(_is_null(item) for item in pair)
            if to_null and isinstance(kind, ast.Eq | ast.Is | ast.NotEq | ast.IsNot):
                steps.append(is_present if isinstance(kind, ast.NotEq | ast.IsNot) else is_missing)
            elif type(kind) in COMPARISONS:
                steps.append(null_safe(COMPARISONS[type(kind)]))
            else:
                raise self._unsupported(node, '`is` only compares with null')

        def compare(run: Evaluation) -> bool:
            first = parts[0](run)
            for step, part in zip(steps, parts[1:], strict=True):
                second = part(run)
                run.spend(comparison_cost(first, second, run.items))
                if not step(first, second):
                    return False
                first = second
            return True

        return compare

    def _call(self, node: ast.expr, name: str, args: Sequence[ast.expr], depth: int) -> Part:
        if name in ('any', 'all') and len(args) == 1 and isinstance(args[0], ast.GeneratorExp):
            return self._each(name, args[0], depth)
        if name not in FUNCTIONS:
            raise self._unsupported(node, f'there is no function {name!r}; available: {", ".join(FUNCTIONS)}')
        function, least, most = FUNCTIONS[name]
        if not least <= len(args) <= most:
            takes = f'{least}' if least == most else f'{least} or more'
            raise self._unsupported(node, f'{name} takes {takes} values, not {len(args)}')
        parts = [self.read(arg, depth) for arg in args]

        def call(run: Evaluation) -> Any:
            values = [part(run) for part in parts]
            if any(value is None for value in values):
                return None
            if name != 'len':
                run.spend(call_cost(values, run.items))
            return function(*values)

        return call

    def _each(self, name: str, node: ast.GeneratorExp, depth: int) -> Part:
        match node.generators:
            case [ast.comprehension(target=ast.Name(id=local), iter=items, ifs=ifs, is_async=0)]:
                pass
            case _:
                raise self._unsupported(node, 'only one `for name in list` is allowed')
        if local in self._known or local in CONSTANTS or local in FUNCTIONS:
            raise self._unsupported(node, f'{local!r} already means something else')
        source = self.read(items, depth)
        self._local.append(local)
        filters = [self.read(item, depth) for item in ifs]
        answer = self.read(node.elt, depth)
        self._local.pop()

        def search(run: Evaluation) -> bool:
            items = source(run)
            run.spend(len(items) if isinstance(items, Mapping) else 0)
            answers = _answers(run, local, [] if items is None else require_list(items), filters, answer)
            return any(answers) if name == 'any' else all(answers)

        return search

    def _unsupported(self, node: ast.expr, problem: str = '') -> InvalidInput:
        named = node.op if isinstance(node, ast.BinOp | ast.UnaryOp) else node
        word = SYNTAX_NAMES.get(type(named), type(named).__name__)
        return condition_error(self._column(node), problem or f'{word} cannot be used here')

    def _column(self, node: ast.expr) -> int:
        # Python's columns count bytes.
        before = self._source[: getattr(node, 'col_offset', 0)]
        return len(before.decode('utf-8', 'ignore')) + self._indent + 1


def _answers(
    run: Evaluation, local: str, items: Sequence[Any], filters: list[Part], answer: Part
) -> Iterator[bool]:
    before = dict(run.local)
    try:
        for item in items:
            run.local[local] = item
            if all(part(run) for part in filters):
                yield bool(answer(run))
    finally:
        run.local = before


def _index(inner: Part, key: Part) -> Part:
    return lambda run: get_item(inner(run), key(run))


def _bool_op(is_or: bool, parts: list[Part]) -> Part:
    def evaluate(run: Evaluation) -> bool:
        return any(part(run) for part in parts) if is_or else all(part(run) for part in parts)

    return evaluate


def _binary(operation: Callable[[Any, Any], Any], first: Part, second: Part) -> Part:
    def compute(run: Evaluation) -> Any:
        left, right = first(run), second(run)
        run.spend(comparison_cost(left, right, run.items))
        return calculate(operation, left, right)

    return compute


def _is_null(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=None) | ast.Name(id='null'):
            return True
    return False


SYNTAX_NAMES: dict[type[ast.AST], str] = {
    ast.Pow: 'a power',
    ast.MatMult: '`@`',
    ast.LShift: '`<<`',
    ast.RShift: '`>>`',
    ast.BitAnd: '`&` (write `and`)',
    ast.BitOr: '`|` (write `or`)',
    ast.BitXor: '`^`',
    ast.Invert: '`~`',
    ast.UAdd: '`+` before a number',
    ast.Lambda: 'an inline function',
    ast.IfExp: '`if`',
    ast.Dict: 'an object',
    ast.JoinedStr: 'a string with embedded values',
    ast.Subscript: 'a part of a list',
    ast.Call: 'a call of this kind',
    ast.Constant: 'this kind of constant',
    ast.GeneratorExp: '`for` outside of any and all',
    ast.ListComp: '`for` outside of any and all',
    ast.SetComp: '`for` outside of any and all',
    ast.DictComp: '`for` outside of any and all',
    ast.Set: 'a set',
    ast.Starred: '`*` before a value',
    ast.NamedExpr: '`:=`',
}
"""Unsupported syntax, as named in errors."""
