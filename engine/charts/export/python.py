"""Python: what a pattern's methods and functions say, as far as expressions of charts can say it too."""

from __future__ import annotations

import ast
import builtins
import inspect
import operator
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache, partial, singledispatchmethod
from types import MethodType
from typing import Any

from pydantic import BaseModel

from engine.charts.export.operands import (
    ContextMarker,
    EventMarker,
    Known,
    Operand,
    Unsayable,
    Value,
    as_text,
    as_tree,
    call,
    memory_of,
    name,
    refuse,
    source,
    type_of,
    variable,
)
from engine.charts.export.types_of import fields_of, item_type

MAX_INLINED = 6
"""How deeply functions may call each other."""
FUNCTIONS: Mapping[Any, str] = {
    len: 'len', min: 'min', max: 'max', sum: 'sum', any: 'any', all: 'all', abs: 'abs', round: 'round',
    range: 'range', sorted: 'sort',
}  # fmt: skip
"""Python's functions that charts have too, if they are called with values alone."""
METHODS: Mapping[str, tuple[str, int]] = {
    'lower': ('lower', 0), 'upper': ('upper', 0), 'capitalize': ('capitalize', 0), 'strip': ('trim', 0),
    'startswith': ('starts', 1), 'endswith': ('ends', 1), 'replace': ('replace', 2), 'split': ('split', 1),
    'count': ('count', 1), 'keys': ('keys', 0), 'values': ('values', 0),
}  # fmt: skip
"""Methods that are functions in charts, and how many values they take."""
DECIDED: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_, ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items, ast.NotIn: lambda item, items: item not in items,
}  # fmt: skip
"""Comparisons that need no run if both sides are known."""
ANSWERED = ('output', 'text', 'error')
"""The data of an event that have a name of their own in charts."""
SAME = (bool, list, tuple, float, int)
"""What converts a value into one that is the same for a chart."""


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
        lists: list[ast.expr] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                lists.append(self.tree(item.value))
            elif lists and isinstance(lists[-1], ast.List):
                lists[-1].elts.append(self.tree(item))
            else:
                lists.append(ast.List([self.tree(item)]))
        return Value(_sum(lists) if lists else ast.List([]))

    @value.register
    def _(self, node: ast.Dict) -> Operand:
        keys = [self.tree(key) for key in node.keys if key]
        if len(keys) < len(node.keys):
            raise Unsayable(f'{source(node)} has no counterpart')
        return Value(ast.Dict(list(keys), [self.tree(value) for value in node.values]))

    @value.register
    def _(self, node: ast.NamedExpr) -> Operand:
        self.names[node.target.id] = self.value(node.value)
        return self.names[node.target.id]

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
        first, *others = (self.value(item) for item in (node.left, *node.comparators))
        match first, others, node.ops:
            case Known(value=left), [Known(value=right)], [sign] if type(sign) in DECIDED:
                return Known(DECIDED[type(sign)](left, right))
        same = {ast.Is: ast.Eq, ast.IsNot: ast.NotEq}
        signs = [same.get(type(sign), type(sign))() for sign in node.ops]
        return Value(ast.Compare(as_tree(first), signs, list(map(as_tree, others))))

    @value.register
    def _(self, node: ast.IfExp) -> Operand:
        test = self.value(node.test)
        if isinstance(test, Known):
            return self.value(node.body if test.value else node.orelse)
        body, other = self.value(node.body), self.value(node.orelse)
        kinds = [kind for operand in (body, other) if (kind := type_of(operand)) is not None]
        match body, other:
            case Value(tree=ast.Subscript(value=held)), Known(value=None):
                if ast.dump(held) == ast.dump(as_tree(test)):
                    return body  # What is not there is null.
        tree = ast.IfExp(as_tree(test), as_tree(body), as_tree(other))
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
                    condition, rest = self.value(test), [*other, *statements[index + 1 :]]
                    if isinstance(condition, Known):
                        return self.body([*inner, *rest] if condition.value else rest)
                    first, second = (as_tree(self.copy().body(part)) for part in (inner, rest))
                    return Value(ast.IfExp(as_tree(condition), first, second))
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
                operands = [self.value(value) for value in values]
                self.names.update(
                    zip([item.id for item in targets if isinstance(item, ast.Name)], operands, strict=True)
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
                known: dict[str, Operand] = {
                    'state': base, 'pattern': Known(pattern), 'memory': memory_of(pattern),
                }  # fmt: skip
                return known[attr] if attr in known else refuse(f'`{attr}`, which is no part of memory,')
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
    @value.register(ast.SetComp)
    def _(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Operand:
        match node.generators:
            case [ast.comprehension(target=target, iter=items, ifs=tests, is_async=0)]:
                local, values, inner = self.loop(target, items)
            case _:
                raise Unsayable(f'{source(node)} has more than one `for`')
        answer = inner.value(node.elt)
        generator = ast.comprehension(name(local), values, [inner.tree(test) for test in tests], 0)
        kind = list[answer.type] if isinstance(answer, Value) and answer.type else list  # type: ignore[name-defined]
        whole: ast.expr = ast.ListComp(as_tree(answer), [generator])
        return Value(call('unique', whole) if isinstance(node, ast.SetComp) else whole, kind)

    def loop(self, target: ast.expr, items: ast.expr) -> tuple[str, ast.expr, Reader]:
        """Return the variable of a loop, what it goes through, and a reader of what is in it.

        Of `name, item in items.items()`, the chart goes through the keys.
        """
        inner = self.copy()
        match target, items:
            case ast.Name(id=local), _:
                values = self.value(items)
                inner.names[local] = Value(name(variable(local)), item_type(type_of(values)))
                return variable(local), as_tree(values), inner
            case (
                ast.Tuple(elts=[ast.Name(id=key), ast.Name(id=local)]),
                ast.Call(func=ast.Attribute(value=mapping, attr='items'), args=[]),
            ) if isinstance(values := self.value(mapping), Value):
                inner.names[key] = Value(name(variable(key)), str)
                item = ast.Subscript(values.tree, name(variable(key)))
                inner.names[local] = Value(item, item_type(values.type))
                return variable(key), call('keys', values.tree), inner
        raise Unsayable(f'{source(target)} has no counterpart')

    @value.register
    def _(self, node: ast.JoinedStr) -> Operand:
        trees: list[ast.expr] = []
        for part in node.values:
            match part:
                case ast.Constant():
                    trees.append(part)
                case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                    trees.append(as_text(self.value(value)))
                case _:
                    raise Unsayable(f'{source(part)} is formatted by Python')
        return Value(_sum(trees) if trees else ast.Constant(''), str)

    @value.register
    def _(self, node: ast.Call) -> Operand:
        if isinstance(node.func, ast.Attribute):
            base = self.value(node.func.value)
            if (result := self._call_of_method(base, node.func.attr, node)) is not None:
                return result
        function = self.value(node.func)
        if not isinstance(function, Known):
            raise Unsayable(f'{source(node)} has no counterpart')
        target = function.value
        if isinstance(target, type) and issubclass(target, BaseModel) and not node.args:
            fields = {word.arg: self.tree(word.value) for word in node.keywords if word.arg}
            return Value(ast.Dict([ast.Constant(key) for key in fields], list(fields.values())), target)
        if not callable(target):
            raise Unsayable(f'{source(node)} has no counterpart')
        given, named = self._given(node)
        if isinstance(target, type | type(len)) or getattr(target, '__name__', '') == 'model_validate':
            return _built_in(target, self.arguments(node))
        return self._inlined(target, given, named)

    def _call_of_method(self, base: Operand, attr: str, node: ast.Call) -> Operand | None:
        """Return what a method of a value returns; None if it is not one of a value's."""
        if isinstance(base, Known) and isinstance(base.value, str) and attr == 'join' and len(node.args) == 1:
            return Value(call('join', self.tree(node.args[0]), ast.Constant(base.value)), str)
        if not isinstance(base, Value):
            return None
        member = inspect.getattr_static(base.type, attr, None) if fields_of(base.type) else None
        if inspect.isfunction(member):
            given, named = self._given(node)
            return self._inlined(member, [base, *given], named)
        if attr == 'get' and 1 <= len(node.args) <= 2:
            field = self._item(base, node.args[0])
            tree, missing = as_tree(field), ast.Compare(as_tree(field), [ast.Eq()], [name('null')])
            other = node.args[1:]
            return Value(ast.IfExp(missing, self.tree(other[0]), tree)) if other else field
        if attr in ('issuperset', 'issubset') and len(node.args) == 1:
            few, many = (base.tree, self.tree(node.args[0]))[:: 1 if attr == 'issubset' else -1]
            each = ast.comprehension(name('item'), few, [], 0)
            is_there = ast.Compare(name('item'), [ast.In()], [many])
            return Value(call('all', ast.ListComp(is_there, [each])))
        function, count = METHODS.get(attr, ('', -1))
        if count != len(node.args) or node.keywords:
            raise Unsayable(f'{source(node)} has no counterpart')
        kind = base.type if attr == 'values' else None
        return Value(call(function, base.tree, *(self.tree(item) for item in node.args)), kind)

    def arguments(self, node: ast.Call) -> list[Operand]:
        """Return the arguments of a call by position. Raises `Unsayable` if there are others."""
        given, named = self._given(node)
        if named:
            raise Unsayable(f'{source(node)} has no counterpart')
        return given

    def _given(self, node: ast.Call) -> tuple[list[Operand], dict[str, Operand]]:
        if any(isinstance(item, ast.Starred) for item in node.args) or not all(
            word.arg for word in node.keywords
        ):
            raise Unsayable(f'{source(node)} has no counterpart')
        named = {word.arg: self.value(word.value) for word in node.keywords if word.arg}
        return [self.value(item) for item in node.args], named

    def inside(
        self, function: Any, arguments: Sequence[Operand], named: Mapping[str, Operand] | None = None
    ) -> tuple[Reader, Sequence[ast.stmt]]:
        """Return a reader of a function that this one calls, and its statements. Raises `Unsayable`."""
        if self.depth >= MAX_INLINED:
            raise Unsayable('its functions call each other too deeply')
        return read_function(function, self.pattern, arguments, named, self.depth + 1)

    def _inlined(
        self, function: Any, arguments: Sequence[Operand], named: Mapping[str, Operand] | None = None
    ) -> Operand:
        """Return what a function returns, with these arguments."""
        reader, statements = self.inside(function, arguments, named)
        return reader.body(statements)


def read_function(
    function: Any,
    pattern: Any,
    arguments: Sequence[Operand],
    named: Mapping[str, Operand] | None = None,
    depth: int = 0,
) -> tuple[Reader, Sequence[ast.stmt]]:
    """Return a function's statements, and a reader that knows its arguments. Raises `Unsayable`."""
    given, named = list[Operand](), dict(named or {})
    while isinstance(function, partial | MethodType):
        if isinstance(function, MethodType):
            given, function = [Known(function.__self__), *given], function.__func__
        else:
            named = {**{key: Known(value) for key, value in function.keywords.items()}, **named}
            given, function = [*map(Known, function.args), *given], function.func
    tree = _definition(function)
    try:
        bound = inspect.signature(function).bind(*given, *arguments, **named)
    except TypeError:
        raise Unsayable('it takes other arguments') from None
    if tree.args.vararg or tree.args.kwarg:
        raise Unsayable('it takes any number of arguments')
    defaults = {
        key: Known(parameter.default)
        for key, parameter in inspect.signature(function).parameters.items()
        if parameter.default is not parameter.empty
    }
    closure = inspect.getclosurevars(function).nonlocals
    scope = {**function.__globals__, **closure}
    return Reader(pattern, scope, {**defaults, **bound.arguments}, depth), tree.body


def _built_in(target: Any, arguments: Sequence[Operand]) -> Operand:
    """Return what a function or a class of Python's makes of values. Raises `Unsayable`."""
    trees = [as_tree(argument) for argument in arguments]
    if len(trees) == 1 and (target in SAME or (isinstance(target, type) and issubclass(target, Enum))):
        return arguments[0]
    if target is str and len(trees) == 1:
        return Value(as_text(arguments[0]), str)
    if target is dict and [ast.unparse(tree) for tree in trees] == ['data']:
        return arguments[0]
    if len(trees) == 1 and target in (dict.fromkeys, set):
        return Value(call('unique', *trees), type_of(arguments[0]))
    if getattr(target, '__name__', '') == 'model_validate':
        return Value(trees[-1], target.__self__)
    if target in FUNCTIONS:
        return Value(call(FUNCTIONS[target], *trees), type_of(arguments[0]) if target is sorted else None)
    raise Unsayable(f'`{target.__name__}` has no counterpart')


def _sum(trees: Sequence[ast.expr]) -> ast.expr:
    whole = trees[0]
    for tree in trees[1:]:
        whole = ast.BinOp(whole, ast.Add(), tree)
    return whole


@lru_cache(2_000)
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


def _of_event(attr: str) -> Operand:
    match attr:
        case 'data':
            return Value(name('data'))
        case 'name':
            return Value(name('event'), str)
        case 'at' | 'attempt':
            return Value(name(attr))
    raise Unsayable(f'`{attr}` of an event, which expressions cannot see')
