"""Templates: Jinja's syntax, evaluated by our expressions; nothing of one becomes Python code.

Jinja's parser reads a template. Each expression in it is translated to the tree that Python's parser would
give for ours, and compiled like any other: the same names, the same null, the same bounded work, and data
only, so that there are no attributes to misuse. A filter is a function with its first value before the bar.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import jinja2
from jinja2 import nodes

from engine.statechart.expressions.compiler import Compiler, Defined, Evaluation, ExpressionError, Part
from engine.statechart.expressions.functions import to_text
from engine.statechart.expressions.values import require_list

LOOP = ('index', 'first', 'last', 'length')
"""What `loop` has in a loop."""
OPERATORS: dict[type[nodes.Node], Any] = {
    nodes.Add: ast.Add, nodes.Sub: ast.Sub, nodes.Mul: ast.Mult, nodes.Div: ast.Div,
    nodes.FloorDiv: ast.FloorDiv, nodes.Mod: ast.Mod,
}  # fmt: skip
COMPARISONS = {
    'eq': ast.Eq, 'ne': ast.NotEq, 'lt': ast.Lt, 'lteq': ast.LtE, 'gt': ast.Gt, 'gteq': ast.GtE,
    'in': ast.In, 'notin': ast.NotIn,
}  # fmt: skip

Writer = Callable[[Evaluation, list[str]], None]
"""Adds to the pieces of a text."""


@cache
def _jinja() -> jinja2.Environment:
    return jinja2.Environment(autoescape=False, trim_blocks=True, lstrip_blocks=True, extensions=())


def is_template(text: str) -> bool:
    """Return whether a text holds what Jinja replaces."""
    return '{{' in text or '{%' in text or '{#' in text


def compile_template(
    text: str, names: Collection[str], local: Sequence[str], defined: Mapping[str, Defined]
) -> tuple[Part, TemplateReader]:
    """Return what gives a template's text, and its reader, which knows the expressions in it.

    Raises:
        ExpressionError: with the line.
    """
    try:
        tree = _jinja().parse(text)
        reader = TemplateReader(Compiler(names, local=local, defined=defined))
        write = reader.body(tree.body)
    except jinja2.TemplateSyntaxError as error:
        raise ExpressionError(str(error.message), line=error.lineno) from None
    except RecursionError:
        raise ExpressionError('it is nested too deeply') from None

    def render(run: Evaluation) -> str:
        pieces: list[str] = []
        write(run, pieces)
        return ''.join(pieces)

    return render, reader


class TemplateReader:
    """Compiles the nodes of a template."""

    def __init__(self, compiler: Compiler) -> None:
        self.compiler, self._depth = compiler, 0
        self.trees: list[ast.expr] = []

    def body(self, items: Sequence[nodes.Node]) -> Writer:
        """Return what writes nodes one after the other. Raises `ExpressionError`."""
        self._depth += 1
        if self._depth > 20:
            raise ExpressionError('it is nested too deeply', line=items[0].lineno if items else 1)
        writers = [self._write(item) for item in items]
        self._depth -= 1

        def write(run: Evaluation, pieces: list[str]) -> None:
            for writer in writers:
                writer(run, pieces)

        return write

    def _write(self, node: nodes.Node) -> Writer:
        match node:
            case nodes.Output():
                return self.body(node.nodes)
            case nodes.TemplateData(data=data):
                return lambda run, pieces: _add(run, pieces, data)
            case nodes.Expr():
                part = self._part(node)
                return lambda run, pieces: _add(run, pieces, to_text(part(run)))
            case nodes.If():
                return self._if(node)
            case nodes.For(target=nodes.Name(name=name), recursive=False):
                return self._for(node, name)
            case nodes.Assign(target=nodes.Name(name=name)):
                return self._assign(node, name)
        raise ExpressionError(f'`{_word(node)}` cannot be used here', line=node.lineno)

    def _part(self, node: nodes.Node) -> Part:
        tree = _translate(node)
        self.trees.append(tree)
        return self.compiler.read(tree)

    def _if(self, node: nodes.If) -> Writer:
        branches = [(self._part(item.test), self.body(item.body)) for item in (node, *node.elif_)]
        otherwise = self.body(node.else_)

        def write(run: Evaluation, pieces: list[str]) -> None:
            next((body for test, body in branches if test(run)), otherwise)(run, pieces)

        return write

    def _for(self, node: nodes.For, name: str) -> Writer:
        source = self._part(node.iter)
        self._check(name, node)
        with self.compiler.variables(name, 'loop'):
            test = self._part(node.test) if node.test else None
            body = self.body(node.body)
        otherwise = self.body(node.else_)

        def write(run: Evaluation, pieces: list[str]) -> None:
            outside = dict(run.local)
            listed = source(run)
            items = [] if listed is None else list(require_list(listed))
            run.spend(len(items))
            if test:
                items = [item for item in items if _bind(run, name, item) and test(run)]
            for number, item in enumerate(items, 1):
                run.spend(1)
                values = (number, number == 1, number == len(items), len(items))
                _bind(run, 'loop', dict(zip(LOOP, values, strict=True)))
                _bind(run, name, item)
                body(run, pieces)
            run.local = outside
            if not items:
                otherwise(run, pieces)

        return write

    def _assign(self, node: nodes.Assign, name: str) -> Writer:
        value = self._part(node.node)
        self._check(name, node)
        self.compiler.add_variable(name)
        return lambda run, pieces: run.local.__setitem__(name, value(run))

    def _check(self, name: str, node: nodes.Node) -> None:
        self.compiler.check_local(name, ast.Name(id=name, lineno=node.lineno))


def _bind(run: Evaluation, name: str, value: Any) -> bool:
    run.local[name] = value
    return True


def _add(run: Evaluation, pieces: list[str], text: str) -> None:
    run.write(len(text))
    pieces.append(text)


def _translate(node: nodes.Node) -> ast.expr:
    """Return Jinja's tree of an expression as Python's. Raises `ExpressionError`."""
    tree = _translated(node)
    tree.lineno, tree.col_offset = node.lineno, 0
    return tree


def _translated(node: nodes.Node) -> ast.expr:  # noqa: C901, PLR0911  (one for each kind of node)
    match node:
        case nodes.Const(value=value):
            return ast.Constant(value=value)
        case nodes.Name(name=name):
            return ast.Name(id={'none': 'null', 'None': 'null'}.get(name, name))
        case nodes.Getattr(node=inner, attr=name):
            return ast.Attribute(value=_translate(inner), attr=name)
        case nodes.Getitem(node=inner, arg=nodes.Slice()):
            raise ExpressionError('a part of a list cannot be used here', line=node.lineno)
        case nodes.Getitem(node=inner, arg=key):
            return ast.Subscript(value=_translate(inner), slice=_translate(key))
        case nodes.List(items=items) | nodes.Tuple(items=items):
            return ast.List(elts=[_translate(item) for item in items])
        case nodes.Dict(items=items):
            return ast.Dict(
                keys=[_translate(item.key) for item in items],
                values=[_translate(item.value) for item in items],
            )
        case nodes.Not(node=inner):
            return ast.UnaryOp(op=ast.Not(), operand=_translate(inner))
        case nodes.Neg(node=inner):
            return ast.UnaryOp(op=ast.USub(), operand=_translate(inner))
        case nodes.And(left=left, right=right) | nodes.Or(left=left, right=right):
            kind = ast.And() if isinstance(node, nodes.And) else ast.Or()
            return ast.BoolOp(op=kind, values=[_translate(left), _translate(right)])
        case nodes.BinExpr(left=left, right=right) if type(node) in OPERATORS:
            return ast.BinOp(left=_translate(left), op=OPERATORS[type(node)](), right=_translate(right))
        case nodes.Compare(expr=first, ops=operands):
            return ast.Compare(
                left=_translate(first),
                ops=[COMPARISONS[item.op]() for item in operands],
                comparators=[_translate(item.expr) for item in operands],
            )
        case nodes.CondExpr(test=test, expr1=body, expr2=otherwise):
            orelse = ast.Constant(value='') if otherwise is None else _translate(otherwise)
            return ast.IfExp(test=_translate(test), body=_translate(body), orelse=orelse)
        case nodes.Filter(node=inner, name=name, args=args, kwargs=[]) if inner is not None:
            return _call(name, [inner, *args], node)
        case nodes.Call(node=nodes.Name(name=name), args=args, kwargs=[]):
            return _call(name, args, node)
    raise ExpressionError(f'`{_word(node)}` cannot be used here', line=node.lineno)


def _call(name: str, args: Sequence[nodes.Node], node: nodes.Node) -> ast.expr:
    if getattr(node, 'dyn_args', None) or getattr(node, 'dyn_kwargs', None):
        raise ExpressionError('`*` before a value cannot be used here', line=node.lineno)
    return ast.Call(func=ast.Name(id=name), args=[_translate(arg) for arg in args], keywords=[])


def _word(node: nodes.Node) -> str:
    return WORDS.get(type(node), type(node).__name__.lower())


WORDS: dict[type[nodes.Node], str] = {
    nodes.Concat: '~',
    nodes.Pow: '**',
    nodes.Pos: '+',
    nodes.Test: 'is',
    nodes.CallBlock: 'call',
    nodes.FilterBlock: 'filter',
    nodes.ExprStmt: 'do',
    nodes.AssignBlock: 'set',
}
"""Syntax of Jinja that is left out, as named in errors."""
