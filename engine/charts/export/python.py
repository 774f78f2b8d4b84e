"""Python: what a pattern's methods and functions say, as far as expressions of charts can say it too."""

from __future__ import annotations

import ast
import builtins
import inspect
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial, singledispatchmethod
from types import MethodType
from typing import Any, NamedTuple

from pydantic import BaseModel

from engine.charts.export.types_of import fields_of, item_type

MAX_INLINED = 6
"""How deeply functions may call each other."""
FUNCTIONS: Mapping[Any, str] = {
    len: 'len', min: 'min', max: 'max', sum: 'sum', any: 'any', all: 'all', abs: 'abs', round: 'round',
    range: 'range', str: 'string', sorted: 'sort',
}  # fmt: skip
"""Python's functions that charts have too, if they are called with values alone."""
METHODS: Mapping[str, tuple[str, int]] = {
    'lower': ('lower', 0), 'upper': ('upper', 0), 'capitalize': ('capitalize', 0), 'strip': ('trim', 0),
    'startswith': ('starts', 1), 'endswith': ('ends', 1), 'replace': ('replace', 2), 'split': ('split', 1),
    'count': ('count', 1), 'keys': ('keys', 0), 'values': ('values', 0),
}  # fmt: skip
"""Methods that are functions in charts, and how many values they take."""
ANSWERED = ('output', 'text', 'error')
"""The data of an event that have a name of their own in charts."""
SAME = (bool, list, tuple, float, int)
"""What converts a value into one that is the same for a chart."""


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


def call(function: str, *arguments: ast.expr) -> ast.expr:
    """Return a call of a chart's function."""
    return ast.Call(name(function), list(arguments), [])


@dataclass(slots=True)
class Reader:
    """Reads one function: what its names stand for while it is read."""

    pattern: Any
    scope: Mapping[str, Any]
    """The names of its module and of the functions around it."""
    names: dict[str, Operand] = field(default_factory=dict)
    depth: int = 0

    def tree(self, node: ast.expr) -> ast.expr:
        """Return an expression as charts have it. Raises `Unsayable`."""
        return as_tree(self.value(node))

    @singledispatchmethod
    def value(self, node: ast.expr) -> Operand:
        """Return what an expression stands for. Raises `Unsayable`."""
        raise Unsayable(f'{source(node)} has no counterpart')

    @value.register
    def _(self, node: ast.Constant) -> Operand:
        return Known(node.value)

    @value.register
    def _(self, node: ast.Name) -> Operand:
        if node.id in self.names:
            return self.names[node.id]
        if node.id in self.scope:
            return Known(self.scope[node.id])
        return Known(getattr(builtins, node.id)) if hasattr(builtins, node.id) else refuse(f'`{node.id}`')

    @value.register
    def _(self, node: ast.Attribute) -> Operand:
        return self._attribute(self.value(node.value), node.attr)

    @value.register
    def _(self, node: ast.Subscript) -> Operand:
        return self._item(self.value(node.value), node.slice)

    @value.register(ast.List)
    @value.register(ast.Tuple)
    @value.register(ast.Set)
    def _(self, node: ast.List | ast.Tuple | ast.Set) -> Operand:
        return Value(ast.List([self.tree(item) for item in node.elts]))

    @value.register
    def _(self, node: ast.BoolOp) -> Operand:
        return Value(ast.BoolOp(node.op, [self.tree(value) for value in node.values]))

    @value.register
    def _(self, node: ast.UnaryOp) -> Operand:
        return Value(ast.UnaryOp(node.op, self.tree(node.operand)))

    @value.register
    def _(self, node: ast.BinOp) -> Operand:
        return Value(ast.BinOp(self.tree(node.left), node.op, self.tree(node.right)))

    @value.register
    def _(self, node: ast.Compare) -> Operand:
        same = {ast.Is: ast.Eq, ast.IsNot: ast.NotEq}
        signs = [same.get(type(sign), type(sign))() for sign in node.ops]
        return Value(ast.Compare(self.tree(node.left), signs, [self.tree(item) for item in node.comparators]))

    @value.register
    def _(self, node: ast.IfExp) -> Operand:
        body, other = self.value(node.body), self.value(node.orelse)
        kinds = [found.type for found in (body, other) if isinstance(found, Value) and found.type]
        tree = ast.IfExp(self.tree(node.test), as_tree(body), as_tree(other))
        return Value(tree, kinds[0] if kinds else None)

    def body(self, statements: Sequence[ast.stmt]) -> Operand:
        """Return what a function returns: names and conditions may come before. Raises `Unsayable`."""
        for index, statement in enumerate(statements):
            match statement:
                case ast.Return(value=ast.expr() as value):
                    return self.value(value)
                case ast.Expr(value=ast.Constant()) | ast.Assert() | ast.Pass():
                    pass
                case ast.If(test=test, body=inner, orelse=other):
                    rest = [*other, *statements[index + 1 :]]
                    first, second = (as_tree(self.copy().body(part)) for part in (inner, rest))
                    return Value(ast.IfExp(self.tree(test), first, second))
                case _ if not self.assign(statement):
                    raise Unsayable(f'{source(statement)} is a step, not a value')
        raise Unsayable('it returns nothing')

    def assign(self, statement: ast.stmt) -> bool:
        """Note what a local name stands for; return whether the statement gives one."""
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=target)], value=value)
                | ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value)
            ):
                self.names[target] = self.value(value)
                return True
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if all(
                isinstance(item, ast.Name) for item in targets
            ):
                found = [self.value(value) for value in values]
                self.names.update(
                    zip([item.id for item in targets if isinstance(item, ast.Name)], found, strict=True)
                )
                return True
        return False

    def copy(self) -> Reader:
        """Return a reader that knows the same, for a part of the function."""
        return Reader(self.pattern, self.scope, dict(self.names), self.depth)

    def _attribute(self, base: Operand, attr: str) -> Operand:
        match base:
            case EventMarker():
                return _of_event(attr)
            case ContextMarker(pattern=pattern):
                return {'state': base, 'pattern': Known(pattern), 'memory': memory_of(pattern)}.get(
                    attr
                ) or refuse(f'`{attr}` of an agent')
            case Known(value=value) if value is self.pattern and attr == 'parameters':
                return Value(name('parameters'), type(value.parameters))
            case Known(value=value):
                return self._attribute_of_known(value, attr)
            case Value(tree=tree, type=kind):
                if attr in fields_of(kind):
                    return Value(ast.Attribute(tree, attr), fields_of(kind)[attr])
                member = inspect.getattr_static(kind, attr, None) if isinstance(kind, type) else None
                if isinstance(member, property) and member.fget:
                    return self._inlined(member.fget, [base])
        raise Unsayable(f'`{attr}` of {source(as_tree(base))} is worked out by Python')

    def _attribute_of_known(self, value: Any, attr: str) -> Operand:
        member = inspect.getattr_static(type(value), attr, None)
        if isinstance(member, property) and member.fget and not isinstance(value, Enum):
            return self._inlined(member.fget, [Known(value)])
        if value is self.pattern and attr in vars(value):
            raise Unsayable(f'`{attr}` is worked out from the parameters')
        return Known(getattr(value, attr)) if hasattr(value, attr) else refuse(f'`{attr}`')

    def _item(self, base: Operand, index: ast.expr) -> Operand:
        if isinstance(index, ast.Slice):
            return self._slice(base, index)
        tree, key = as_tree(base), self.tree(index)
        kind = item_type(type_of(base))
        if ast.unparse(tree) == 'data' and isinstance(key, ast.Constant) and key.value in ANSWERED:
            return Value(name(key.value))
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value.isidentifier():
            return Value(ast.Attribute(tree, key.value), kind)
        return Value(ast.Subscript(tree, key), kind)

    def _slice(self, base: Operand, index: ast.Slice) -> Operand:
        tree, kind = as_tree(base), type_of(base)
        match index:
            case ast.Slice(lower=None, upper=ast.expr() as upper, step=None) if not isinstance(
                upper, ast.UnaryOp
            ):
                return Value(call('first', tree, self.tree(upper)), kind)
            case ast.Slice(lower=ast.UnaryOp(op=ast.USub(), operand=count), upper=None, step=None):
                return Value(call('last', tree, self.tree(count)), kind)
            case ast.Slice(lower=ast.expr() as lower, upper=None, step=None):
                return Value(call('rest', tree, self.tree(lower)), kind)
        raise Unsayable(f'{source(index)} has no counterpart')

    @value.register(ast.ListComp)
    @value.register(ast.GeneratorExp)
    def _(self, node: ast.ListComp | ast.GeneratorExp) -> Operand:
        match node.generators:
            case [ast.comprehension(target=ast.Name(id=local), iter=items, ifs=tests, is_async=0)]:
                pass
            case _:
                raise Unsayable(f'{source(node)} has more than one `for`')
        values = self.value(items)
        inner = self.copy()
        inner.names[local] = Value(name(local), item_type(type_of(values)))
        answer = inner.value(node.elt)
        generator = ast.comprehension(name(local), as_tree(values), [inner.tree(test) for test in tests], 0)
        kind = list[answer.type] if isinstance(answer, Value) and answer.type else list  # type: ignore[name-defined]
        return Value(ast.ListComp(as_tree(answer), [generator]), kind)

    @value.register
    def _(self, node: ast.JoinedStr) -> Operand:
        trees: list[ast.expr] = []
        for part in node.values:
            match part:
                case ast.Constant():
                    trees.append(part)
                case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                    trees.append(call('string', self.tree(value)))
                case _:
                    raise Unsayable(f'{source(part)} is formatted by Python')
        whole: ast.expr = trees[0] if trees else ast.Constant('')
        for tree in trees[1:]:
            whole = ast.BinOp(whole, ast.Add(), tree)
        return Value(whole, str)

    @value.register
    def _(self, node: ast.Call) -> Operand:
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if (found := self._call_of_method(base, node.func.attr, node)) is not None:
                return found
        function = self.value(node.func)
        if not isinstance(function, Known):
            raise Unsayable(f'{source(node)} has no counterpart')
        target = function.value
        if isinstance(target, type) and issubclass(target, BaseModel) and not node.args:
            fields = {word.arg: self.tree(word.value) for word in node.keywords if word.arg}
            return Value(ast.Dict([ast.Constant(key) for key in fields], list(fields.values())), target)
        if not callable(target):
            raise Unsayable(f'{source(node)} has no counterpart')
        arguments = self.arguments(node)
        if target in SAME and len(arguments) == 1:
            return arguments[0]
        if getattr(target, '__name__', '') in ('model_validate', 'cast') and arguments:
            kind = target.__self__ if isinstance(target, MethodType) else None
            return Value(as_tree(arguments[-1]), kind)
        if isinstance(target, type | type(len)) or target in FUNCTIONS:
            named = FUNCTIONS.get(target) or refuse(f'`{target.__name__}`')
            return Value(call(str(named), *map(as_tree, arguments)))
        return self._inlined(target, arguments)

    def _call_of_method(self, base: Operand, attr: str, node: ast.Call) -> Operand | None:
        """Return what a method of a value returns; None if it is not one of a value's."""
        if isinstance(base, Known) and isinstance(base.value, str) and attr == 'join' and len(node.args) == 1:
            return Value(call('join', self.tree(node.args[0]), ast.Constant(base.value)), str)
        if not isinstance(base, Value):
            return None
        member = inspect.getattr_static(base.type, attr, None) if fields_of(base.type) else None
        if inspect.isfunction(member):
            return self._inlined(member, [base, *self.arguments(node)])
        if attr == 'get' and 1 <= len(node.args) <= 2:
            found = self._item(base, node.args[0])
            tree, missing = as_tree(found), ast.Compare(as_tree(found), [ast.Eq()], [name('null')])
            other = node.args[1:]
            return Value(ast.IfExp(missing, self.tree(other[0]), tree)) if other else found
        named, count = METHODS.get(attr, ('', -1))
        if count != len(node.args) or node.keywords:
            raise Unsayable(f'{source(node)} has no counterpart')
        kind = base.type if attr == 'values' else None
        return Value(call(named, base.tree, *(self.tree(item) for item in node.args)), kind)

    def arguments(self, node: ast.Call) -> list[Operand]:
        """Return the arguments of a call by position. Raises `Unsayable`."""
        if node.keywords or any(isinstance(item, ast.Starred) for item in node.args):
            raise Unsayable(f'{source(node)} has no counterpart')
        return [self.value(item) for item in node.args]

    def inside(self, function: Any, arguments: Sequence[Operand]) -> tuple[Reader, Sequence[ast.stmt]]:
        """Return a reader of a function that this one calls, and its statements. Raises `Unsayable`."""
        if self.depth >= MAX_INLINED:
            raise Unsayable('its functions call each other too deeply')
        return read_function(function, self.pattern, arguments, self.depth + 1)

    def _inlined(self, function: Any, arguments: Sequence[Operand]) -> Operand:
        """Return what a function returns, with these arguments."""
        reader, statements = self.inside(function, arguments)
        return reader.body(statements)


def read_function(
    function: Any, pattern: Any, arguments: Sequence[Operand], depth: int = 0
) -> tuple[Reader, Sequence[ast.stmt]]:
    """Return a function's statements, and a reader that knows its arguments. Raises `Unsayable`."""
    given: list[Operand] = []
    while True:
        if isinstance(function, partial) and not function.keywords:
            given = [*map(Known, function.args), *given]
            function = function.func
        elif isinstance(function, MethodType):
            given = [Known(function.__self__), *given]
            function = function.__func__
        else:
            break
    tree = _definition(function)
    names = [item.arg for item in (*tree.args.posonlyargs, *tree.args.args)]
    values = [*given, *arguments]
    required = len(names) - len(tree.args.defaults)
    if not required <= len(values) or tree.args.vararg or tree.args.kwarg or tree.args.kwonlyargs:
        raise Unsayable('it takes other arguments')
    closure = inspect.getclosurevars(function).nonlocals
    reader = Reader(
        pattern, {**function.__globals__, **closure}, dict(zip(names, values, strict=False)), depth
    )
    return reader, tree.body


def _definition(function: Any) -> ast.FunctionDef:
    function = inspect.unwrap(function) if callable(function) else function
    if not inspect.isfunction(function):
        raise Unsayable('it is not written in Python here')
    try:
        [tree] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    except (OSError, TypeError, SyntaxError, ValueError):
        raise Unsayable('its source cannot be read') from None
    if not isinstance(tree, ast.FunctionDef):
        raise Unsayable('it is not a plain function')
    return tree


def memory_of(pattern: Any) -> Value:
    """Return a pattern's memory, in an expression."""
    return Value(name('memory'), pattern.Memory)


def type_of(operand: Operand) -> Any:
    """Return the declared type of a value; None if there is none."""
    return operand.type if isinstance(operand, Value) else None


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


def _of_event(attr: str) -> Operand:
    match attr:
        case 'data':
            return Value(name('data'))
        case 'name':
            return Value(name('event'), str)
        case 'at' | 'attempt':
            return Value(name(attr))
    raise Unsayable(f'`{attr}` of an event, which expressions cannot see')


def refuse(what: str) -> Any:
    """Raise `Unsayable`."""
    raise Unsayable(f'{what} has no counterpart')


def source(node: ast.AST) -> str:
    """Return how something is written in Python, shortened."""
    return f'`{ast.unparse(node)[:80]}`'
