"""Kinds: finds what an expression cannot reach, from the types of memory, parameters and answers."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

Kinds = Mapping[str, Any]
"""The types of names, as annotations; a name without one may be anything."""
UNKNOWN = Any
WORDS: Mapping[Any, str] = {str: 'a text', int: 'a number', float: 'a number', bool: 'true or false'}


def problems_in(tree: ast.expr, kinds: Kinds) -> Iterator[tuple[str, int]]:
    """Yield what an expression looks for where it cannot be, each with the line of its text."""
    reader = _Reader(kinds)
    reader.kind(tree)
    yield from reader.problems


def without_null(kind: Any) -> Any:
    """Return a type without its limits, and without null."""
    while get_origin(kind) in (Union, UnionType, Annotated):
        kind = next(part for part in get_args(kind) if part is not type(None))
    return kind


def item_kind(kind: Any) -> Any:
    """Return the type of a list's items."""
    kind = without_null(kind)
    return get_args(kind)[0] if get_origin(kind) in (list, tuple) else UNKNOWN


def inner_kind(kind: Any, key: Any) -> Any:
    """Return the type of what is inside a value of a type at a key; None is an unknown key.

    Raises:
        LookupError: there can be nothing at this key; says why.
    """
    kind = without_null(kind)
    origin, parts = get_origin(kind), get_args(kind)
    if origin is dict:
        return parts[1]
    if origin in (list, tuple):
        if isinstance(key, str):
            raise LookupError(f'a list has no field {key!r}: write [0], [-1] or `for`')
        return parts[0]
    if isinstance(kind, type) and issubclass(kind, BaseModel) and key is not None:
        if key not in kind.model_fields:
            listed = ', '.join(kind.model_fields) or 'none'
            raise LookupError(f'{kind.__name__.lower()} has no field {key!r}; available: {listed}')
        return kind.model_fields[key].annotation
    if kind in WORDS or origin is Literal:
        raise LookupError(f'{WORDS.get(kind, "a choice")} has nothing inside, and so no {key!r}')
    return UNKNOWN


class _Reader:
    def __init__(self, kinds: Kinds) -> None:
        self._kinds = dict(kinds)
        self.problems: list[tuple[str, int]] = []

    def kind(self, node: ast.AST) -> Any:  # noqa: PLR0911  (one for each kind of node)
        """Return the type of an expression, as far as it is known."""
        match node:
            case ast.Name(id=name):
                return self._kinds.get(name, UNKNOWN)
            case ast.Attribute(value=inner, attr=name):
                return self._inside(self.kind(inner), name, node)
            case ast.Subscript(value=inner, slice=ast.Constant(value=str() | int() as key)):
                return self._inside(self.kind(inner), key, node)
            case ast.Subscript(value=inner, slice=key):
                self.kind(key)
                return self._inside(self.kind(inner), None, node)
            case ast.ListComp(elt=item, generators=loops) | ast.GeneratorExp(elt=item, generators=loops):
                return self._loop(item, loops)
            case ast.Call(func=ast.Name(id=name), args=args):
                given = [self.kind(arg) for arg in args]
                return _result(name, given)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.kind(test)
                first, second = self.kind(body), self.kind(orelse)
                return first if first == second else UNKNOWN
        for child in ast.iter_child_nodes(node):
            self.kind(child)
        return UNKNOWN

    def _loop(self, item: ast.expr, loops: Sequence[ast.comprehension]) -> Any:
        outside = dict(self._kinds)
        for loop in loops:
            kind = self.kind(loop.iter)
            if isinstance(loop.target, ast.Name):
                self._kinds[loop.target.id] = item_kind(kind)
            for test in loop.ifs:
                self.kind(test)
        kind = self.kind(item)
        self._kinds = outside
        return UNKNOWN if kind is UNKNOWN else list[kind]  # type: ignore[valid-type]

    def _inside(self, kind: Any, key: Any, node: ast.expr) -> Any:
        try:
            return inner_kind(kind, key)
        except LookupError as error:
            self.problems.append((str(error), getattr(node, 'lineno', 1)))
            return UNKNOWN


def _result(name: str, given: Sequence[Any]) -> Any:
    """Return the type of a function's result, as far as it depends on its first value."""
    if not given:
        return UNKNOWN
    if name in ('sort', 'reverse', 'unique', 'rest', 'order') or (
        name in ('first', 'last') and len(given) == 2
    ):
        return without_null(given[0])
    return item_kind(given[0]) if name in ('first', 'last') else UNKNOWN
