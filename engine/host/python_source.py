"""Parsing of Python source, by one thread at a time."""

from __future__ import annotations

import ast
from threading import RLock

_ONE_AT_A_TIME = RLock()
"""Python 3.11 counts the depth of the tree that it makes in one place for all threads. If another thread
makes one meanwhile, as it may while a finalizer runs, it raises `SystemError`. A finalizer may parse, too."""


def parse_module(source: str | bytes) -> ast.Module:
    """Return the syntax tree of a module. Raises what `ast.parse` does, `SyntaxError` above all."""
    with _ONE_AT_A_TIME:
        return ast.parse(source)


def parse_expression(source: str) -> ast.Expression:
    """Return the syntax tree of an expression. Raises what `ast.parse` does, `SyntaxError` above all."""
    with _ONE_AT_A_TIME:
        return ast.parse(source, mode='eval')
