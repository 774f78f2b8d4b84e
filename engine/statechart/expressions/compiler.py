"""Compiler: compiles an expression's syntax tree into functions; rejects unsupported syntax."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

from engine.statechart.expressions.functions import FUNCTIONS
from engine.statechart.expressions.values import (
    ARITHMETIC,
    COMPARISONS,
    CONSTANTS,
    EvaluationError,
    calculate,
    call_cost,
    comparison_cost,
    finite,
    get_item,
    is_missing,
    is_present,
    kind_of,
    null_safe,
    own_size,
    require_list,
)

MAX_DEPTH = 30
"""Maximum nesting depth of an expression's parts."""
MAX_STEPS = 10_000
"""Maximum number of parts evaluated per result; an expression that needs more is aborted."""
MAX_TEXT = 200_000
"""Maximum number of characters that one evaluation writes."""
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
    text: int = MAX_TEXT
    """How many more characters it may write."""

    def count(self, parts: int = 1) -> None:
        """Count evaluated parts. Raises `EvaluationError` after `MAX_STEPS`."""
        self.left -= parts
        if self.left < 0:
            raise EvaluationError('it takes too long: it looks at too many items')

    def spend(self, count: int) -> None:
        """Count inspected values. Raises `EvaluationError` after `MAX_ITEMS`."""
        self.items -= count
        if self.items < 0:
            raise EvaluationError('it takes too long: it looks at too many items')

    def write(self, count: int) -> None:
        """Count characters that are written. Raises `EvaluationError` if they are too many."""
        self.text -= count
        if self.text < 0:
            raise EvaluationError('it writes too much text')


Part = Callable[[Evaluation], Any]


@dataclass(frozen=True, slots=True)
class Defined:
    """What a name stands for: an expression, and the names it uses in turn."""

    part: Part
    names: frozenset[str]
    tree: ast.expr | None = None
    """None for a template."""


class ExpressionError(ValueError):
    """An expression that cannot be parsed, or uses what is not there.

    Attributes:
        column: where, from 1; 0 if it is not known.
        line: the line of a template, from 1.
    """

    def __init__(self, problem: str, column: int = 0, line: int = 1) -> None:
        self.problem, self.column, self.line = problem, column, line
        super().__init__(f'column {column}: {problem}' if column else problem)


class Compiler:
    """Compiles the output of Python's parser into functions; rejects all syntax not handled here.

    Args:
        names: the available names.
        source: the text, for columns; '' if the tree was made otherwise.
        local: the names of variables, which are looked up in the evaluation.
        defined: names that stand for other expressions, with these.
    """

    def __init__(
        self,
        names: Collection[str],
        source: str = '',
        local: Sequence[str] = (),
        defined: Mapping[str, Defined] = MappingProxyType({}),
    ) -> None:
        self._known, self._defined = names, defined
        self._source, self._indent = (
            source.strip().encode('utf-8', 'replace'),
            len(source) - len(source.lstrip()),
        )
        self.names: set[str] = set()
        self.fields: dict[str, int] = {}
        self._local: list[str] = list(local)

    def read(self, node: ast.expr, depth: int = 0) -> Part:
        """Return a function that computes the node's value. Raises `ExpressionError`."""
        if depth > MAX_DEPTH:
            raise self._unsupported(node, 'it is nested too deeply')
        evaluate = self._read(node, depth + 1)
        if isinstance(node, ast.Constant | ast.Name):
            return evaluate  # What it is a part of counts.

        def part(run: Evaluation) -> Any:
            run.left -= 1
            if run.left < 0:
                run.count(0)
            return evaluate(run)

        return part

    def _read(self, node: ast.expr, depth: int) -> Part:  # noqa: PLR0911  (one for each kind of node)
        match node:
            case ast.Constant(value=bool() | int() | float() | str() | None as value):
                return self._constant(node, value)
            case ast.Name(id=name):
                return self._name(node, name)
            case ast.Attribute() | ast.Subscript(slice=ast.expr()) | ast.List() | ast.Tuple() | ast.Dict():
                return self._structure(node, depth)
            case ast.ListComp(elt=item, generators=loops):
                return self._list(node, item, loops, depth)
            case ast.BoolOp() | ast.UnaryOp() | ast.BinOp() | ast.IfExp():
                return self._operation(node, depth)
            case ast.Compare():
                return self._comparison(node, depth)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                return self._call(node, name, args, depth)
        raise self._unsupported(node)

    def _constant(self, node: ast.expr, value: Any) -> Part:
        try:
            finite(value)
        except EvaluationError:
            raise self._unsupported(node, 'the number is too large') from None
        return lambda run: value

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
            case ast.Dict(keys=keys, values=values) if None not in keys:
                pairs = [
                    (self.read(key, depth), self.read(value, depth))
                    for key, value in zip(keys, values, strict=True)
                    if key
                ]
                return lambda run: {_field_name(key(run)): value(run) for key, value in pairs}
        raise self._unsupported(node)

    def _operation(self, node: ast.expr, depth: int) -> Part:
        match node:
            case ast.BoolOp(op=kind, values=values):
                return _bool_op(isinstance(kind, ast.Or), [self.read(value, depth) for value in values])
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return _choose(*(self.read(part, depth) for part in (test, body, orelse)))
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
            return lambda run: run.local.get(name)
        if name in self._defined:
            self.names |= self._defined[name].names
            return self._defined[name].part
        if name in CONSTANTS:
            value = CONSTANTS[name]
            return lambda run: value
        if name not in self._known:
            available = ', '.join((*self._known, *self._defined, *self._local))
            raise self._unsupported(node, f'there is no {name!r}; available: {available}')
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
        match args:
            case [ast.GeneratorExp(elt=item, generators=loops)] if name in ('any', 'all'):
                return self._search(name, node, item, loops, depth)
        if name not in FUNCTIONS:
            raise self._unsupported(node, f'there is no function {name!r}; available: {", ".join(FUNCTIONS)}')
        function = FUNCTIONS[name]
        if not function.least <= len(args) <= function.most:
            takes = f'{function.least}' if function.least == function.most else f'{function.least} or more'
            raise self._unsupported(node, f'{name} takes {takes} values, not {len(args)}')
        parts = [
            self._list(node, arg.elt, arg.generators, depth)
            if isinstance(arg, ast.GeneratorExp)
            else self.read(arg, depth)
            for arg in args
        ]
        act, is_deep = function.call, function.deep

        def call(run: Evaluation) -> Any:
            values = [part(run) for part in parts]
            if any(value is None for value in values):
                return None
            if name != 'len':
                run.spend(call_cost(values, run.items, deep=is_deep))
            result = act(*values)
            run.spend(own_size(result))
            return result

        return call

    def _search(
        self, name: str, node: ast.expr, item: ast.expr, loops: Sequence[ast.comprehension], depth: int
    ) -> Part:
        """Return what looks for the first item that decides an `any` or `all`."""
        answers = self._each(node, item, loops, depth)
        return lambda run: any(answers(run)) if name == 'any' else all(answers(run))

    def _list(self, node: ast.expr, item: ast.expr, loops: Sequence[ast.comprehension], depth: int) -> Part:
        items = self._each(node, item, loops, depth)
        return lambda run: list(items(run))

    def _each(
        self, node: ast.expr, item: ast.expr, loops: Sequence[ast.comprehension], depth: int
    ) -> Callable[[Evaluation], Iterator[Any]]:
        """Return what yields a value for each item of a list, or of several lists inside each other."""
        levels: list[tuple[Part, str, list[Part]]] = []
        for loop in loops:
            if not isinstance(loop.target, ast.Name) or loop.is_async:
                raise self._unsupported(node, 'write `for name in list`, with one name')
            local = loop.target.id
            self.check_local(local, node)
            source = self.read(loop.iter, depth)
            self._local.append(local)
            levels.append((source, local, [self.read(test, depth) for test in loop.ifs]))
        answer = self.read(item, depth)
        del self._local[len(self._local) - len(levels) :]

        def values(run: Evaluation) -> Iterator[Any]:
            before = dict(run.local)
            try:
                for _ in _bindings(run, levels):
                    yield answer(run)
            finally:
                run.local = before

        return values

    @contextmanager
    def variables(self, *names: str) -> Iterator[None]:
        """Let these variables be used inside the block."""
        count = len(self._local)
        self._local.extend(names)
        yield
        del self._local[count:]

    def add_variable(self, name: str) -> None:
        """Let a variable be used from now on."""
        self._local.append(name)

    def check_local(self, name: str, node: ast.expr) -> None:
        """Refuse a variable that hides something. Raises `ExpressionError`."""
        if any(name in names for names in (self._known, self._defined, CONSTANTS, FUNCTIONS)):
            raise self._unsupported(node, f'{name!r} already means something else')

    def _unsupported(self, node: ast.expr, problem: str = '') -> ExpressionError:
        named = node.op if isinstance(node, ast.BinOp | ast.UnaryOp) else node
        word = SYNTAX_NAMES.get(type(named), type(named).__name__)
        line = getattr(node, 'lineno', 1)
        return ExpressionError(problem or f'{word} cannot be used here', self._column(node), line)

    def _column(self, node: ast.expr) -> int:
        if not self._source:
            return 0
        # Python's columns count bytes.
        before = self._source[: getattr(node, 'col_offset', 0)]
        return len(before.decode('utf-8', 'ignore')) + self._indent + 1


def _bindings(run: Evaluation, levels: Sequence[tuple[Part, str, list[Part]]]) -> Iterator[None]:
    """Set the variables of loops inside each other to one combination of items after the other."""
    if not levels:
        yield
        return
    (source, local, tests), *inner = levels
    items = source(run)
    run.spend(len(items) if isinstance(items, Mapping) else 0)
    for item in () if items is None else require_list(items):
        run.local[local] = item
        run.count()
        if all(test(run) for test in tests):
            yield from _bindings(run, inner)


def _choose(test: Part, body: Part, orelse: Part) -> Part:
    return lambda run: body(run) if test(run) else orelse(run)


def _field_name(value: Any) -> str:
    if not isinstance(value, str):
        raise EvaluationError(f'the name of a field is a text, not {kind_of(value)}')
    return value


def _index(inner: Part, key: Part) -> Part:
    return lambda run: get_item(inner(run), key(run))


def _bool_op(is_or: bool, parts: list[Part]) -> Part:
    def evaluate(run: Evaluation) -> Any:
        value: Any = None
        for part in parts:
            value = part(run)
            if bool(value) is is_or:
                break
        return value

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
    ast.Dict: 'an object of this kind',
    ast.JoinedStr: 'a string with embedded values',
    ast.Subscript: 'a part of a list',
    ast.Call: 'a call of this kind',
    ast.Constant: 'this kind of constant',
    ast.GeneratorExp: '`for` outside of a list or a function',
    ast.SetComp: '`for` in braces',
    ast.DictComp: '`for` in braces',
    ast.Set: 'a set',
    ast.Starred: '`*` before a value',
    ast.NamedExpr: '`:=`',
}
"""Unsupported syntax, as named in errors."""
