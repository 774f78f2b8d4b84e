"""Symbols in Python files: definitions, usages and outlines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Symbol:
    """An occurrence of a symbol on one line of a file."""

    path: str
    line: int
    kind: str
    """`class`, `function`, `variable`, `import` or `use`."""
    name: str
    """Qualified by the enclosing definitions, such as `Parser.read`."""


def find_symbols(path: str, source: str) -> list[Symbol]:
    """Find every definition and use in a file. Raises `SyntaxError`, `ValueError`, `RecursionError`."""
    return list(_walk(path, ast.parse(source), ''))


def _walk(path: str, node: ast.AST, around: str) -> Iterator[Symbol]:
    for child in ast.iter_child_nodes(node):
        inside = around
        match child:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                kind = 'class' if isinstance(child, ast.ClassDef) else 'function'
                inside = f'{around}.{name}' if around else name
                yield Symbol(path=path, line=child.lineno, kind=kind, name=inside)
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                for alias in names:
                    name = alias.asname or alias.name
                    yield Symbol(path=path, line=child.lineno, kind='import', name=name)
            case ast.Name(id=name, ctx=ctx):
                kind = 'use' if isinstance(ctx, ast.Load) else 'variable'
                yield Symbol(path=path, line=child.lineno, kind=kind, name=name)
            case ast.Attribute(attr=name):
                yield Symbol(path=path, line=child.lineno, kind='use', name=name)
        yield from _walk(path, child, inside)
