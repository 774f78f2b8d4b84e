"""Steps: what a pattern's actions do to memory, as far as steps of charts can do it."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from engine.charts.export.operands import (
    Known,
    Operand,
    Stale,
    Unsayable,
    Value,
    source,
)
from engine.charts.export.python import Reader, read_function
from engine.charts.export.templates import TextReader, literal, shown


def steps_of(function: Any, pattern: Any, arguments: Sequence[Operand]) -> list[dict[str, Any]]:
    """Return the steps that do what an action does. Raises `Unsayable`."""
    reader, statements = read_function(function, pattern, arguments)
    return StepReader(reader).steps(statements)


class StepReader:
    """Reads the steps of a function."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def steps(self, statements: Sequence[ast.stmt]) -> list[dict[str, Any]]:
        """Return the steps for statements. Raises `Unsayable`."""
        steps: list[dict[str, Any]] = []
        for index, statement in enumerate(statements):
            match statement:
                case ast.Expr(value=ast.Constant()) | ast.Assert() | ast.Pass():
                    continue
                case ast.Return(value=None):
                    return steps
                case ast.If(test=test, body=[*inner, ast.Return(value=None)], orelse=[]):
                    rest = self._inner().steps(statements[index + 1 :])
                    done = self._inner().steps(inner)
                    condition = ast.unparse(self._reader.tree(test))
                    return [*steps, _choice(condition, done, rest)]
            step = self._step(statement)
            if step:
                steps += step
                self._forget(set(_written(step)))
        return steps

    def _step(self, statement: ast.stmt) -> list[dict[str, Any]]:
        match statement:
            case ast.Assign(targets=targets, value=value) if not any(map(_is_local, targets)):
                return self._assignment(targets, value)
            case ast.AugAssign(target=target, op=ast.Add(), value=ast.Constant(value=int() | float() as by)):
                path = self._path(target)
                return [{'increment': path if by == 1 else {path: by}}]
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=items, attr='append'), args=[item])):
                return [{'append': {self._path(items): self._value(item)}}]
            case ast.If() | ast.For():
                return [self._nested(statement)]
            case ast.Expr(value=ast.Call() as call):
                return self._call(call)
        if self._reader.assign(statement):
            return []
        raise Unsayable(f'{source(statement)} has no counterpart')

    def _nested(self, statement: ast.If | ast.For) -> dict[str, Any]:
        match statement:
            case ast.If(test=test, body=inner, orelse=other):
                condition = ast.unparse(self._reader.tree(test))
                return _choice(condition, self._inner().steps(inner), self._inner().steps(other))
            case ast.For(target=target, iter=items, body=body, orelse=[]):
                local, values, inside = self._reader.loop(target, items)
                return {'for': f'{local} in {ast.unparse(values)}', 'do': StepReader(inside).steps(body)}
        raise Unsayable(f'{source(statement)} has no counterpart')

    def _assignment(self, targets: Sequence[ast.expr], value: ast.expr) -> list[dict[str, Any]]:
        match targets, value:
            case [ast.Tuple(elts=several)], ast.Tuple(elts=values):
                pairs = zip(several, values, strict=True)
                return [{'set': {self._path(target): self._value(item) for target, item in pairs}}]
        return [{'set': {self._path(target): self._value(value)}} for target in targets]

    def _call(self, call: ast.Call) -> list[dict[str, Any]]:
        """Return the steps of another action that is called."""
        if (
            call.keywords
            or any(isinstance(item, ast.Starred) for item in call.args)
            or self._reader.depth >= 4
        ):
            raise Unsayable(f'{source(call)} has no counterpart')
        arguments = [self._reader.value(item) for item in call.args]
        function: Any
        if isinstance(call.func, ast.Attribute) and isinstance(
            base := self._reader.value(call.func.value), Value
        ):
            function = getattr(base.type, call.func.attr, None)
            arguments = [base, *arguments]
        else:
            callee = self._reader.value(call.func)
            function = callee.value if isinstance(callee, Known) else None
        if not callable(function) or isinstance(function, type | type(len)):
            raise Unsayable(f'{source(call)} has no counterpart')
        reader, statements = self._reader.inside(function, arguments)
        return StepReader(reader).steps(statements)

    def _path(self, target: ast.expr) -> str:
        """Return where in memory a value is put."""
        path = ast.unparse(self._reader.tree(target))
        if not path.startswith('memory.') or not path.removeprefix('memory.')[:1].isalpha():
            raise Unsayable(f'{source(target)} is not a place in memory')
        return path.removeprefix('memory.')

    def _value(self, node: ast.expr) -> Any:
        """Return a value as steps have it: plain, an expression, or a template."""
        if isinstance(node, ast.JoinedStr):
            text = TextReader(self._reader).text(node)
            return text if '{{' in text else repr(text)
        tree = self._reader.tree(node)
        if isinstance(tree, ast.Dict) and all(isinstance(key, ast.Constant) for key in tree.keys):
            keys = [str(key.value) for key in tree.keys if isinstance(key, ast.Constant)]
            return dict(zip(keys, map(_plain, tree.values), strict=True))
        return _plain(tree)

    def _inner(self) -> StepReader:
        return StepReader(self._reader.copy())

    def _forget(self, written: Collection[str]) -> None:
        """Forget the local names whose value has changed, now that these places in memory were written."""
        for local, operand in list(self._reader.names.items()):
            if isinstance(operand, Value) and any(_changes(place, operand.tree) for place in written):
                self._reader.names[local] = Stale(local)


def _written(steps: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the places in memory that steps write; of a list that gets longer, the place after its end."""
    for step in steps:
        for verb in ('set', 'increment'):
            places = step.get(verb, ())
            yield from [places] if isinstance(places, str) else places
        yield from (f'{place}[-1]' for place in step.get('append', ()))
        for inner in ('do', 'else'):
            yield from _written(step.get(inner, ()))


def _changes(place: str, tree: ast.expr) -> bool:
    """Return whether writing a place in memory gives an expression another value.

    A local name for a record, or a list, in memory still stands for it when something in it is written.
    """
    written, text = ast.parse(f'memory.{place}', mode='eval').body, ast.unparse(tree)
    top = written
    while not (isinstance(top, ast.Attribute) and isinstance(top.value, ast.Name)):
        top = top.value if isinstance(top, ast.Attribute | ast.Subscript) else ast.Attribute(top, '')
    if _is_place(tree) and (_is_place(written) or text == ast.unparse(top)):
        whole = ast.unparse(written)
        return text == whole or text.startswith((f'{whole}.', f'{whole}['))
    return ast.dump(top) in {ast.dump(node) for node in ast.walk(ast.parse(text, mode='eval'))}


def _is_place(tree: ast.expr) -> bool:
    """Return whether an expression is a place in memory that is the same whatever memory holds."""
    match tree:
        case ast.Name(id='memory'):
            return True
        case ast.Attribute(value=inner) | ast.Subscript(value=inner, slice=ast.Constant()):
            return _is_place(inner)
    return False


def _is_local(target: ast.expr) -> bool:
    items = target.elts if isinstance(target, ast.Tuple) else [target]
    return any(isinstance(item, ast.Name) for item in items)


def _plain(tree: ast.expr) -> Any:
    """Return a value: a number, a template for a text with values in it, or else an expression."""
    match tree:
        case ast.Constant(value=bool() | int() | float() as value):
            return value
        case ast.BinOp() if (parts := _parts(tree)) and any(isinstance(part, str) for part in parts):
            with suppress(Unsayable):
                return ''.join(part if isinstance(part, str) else shown(part) for part in parts)
    return ast.unparse(tree)


def _parts(tree: ast.expr) -> list[str | ast.expr]:
    """Return what is joined in a text: texts as they are, and values; nothing if it is no text."""
    match tree:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = [_parts(left), _parts(right)]
            return [*parts[0], *parts[1]] if all(parts) else []
        case ast.Constant(value=str() as text):
            return [literal(text)] if text else []
        case ast.Call(func=ast.Name(id='string'), args=[inner]):
            return [inner]
        case ast.List() | ast.ListComp() | ast.Constant():
            return []
    return [tree]


def _choice(condition: str, done: list[dict[str, Any]], other: list[dict[str, Any]]) -> dict[str, Any]:
    if not done:
        return {'if': f'not ({condition})', 'do': other}
    return {'if': condition, 'do': done, **({'else': other} if other else {})}
