"""Syntax trees of Python, made by one thread at a time where Python does not see to that itself."""

from __future__ import annotations

import ast
import functools
import sys
from threading import RLock
from typing import Any


def parse_in_turn() -> None:
    """Let `ast.parse` of this process, whoever calls it, serve one thread at a time.

    Before 3.13, Python counts the depth of the tree that it makes in one place for all threads. If another
    thread makes one meanwhile, as it may while a finalizer runs, either raises `SystemError`: a rehearsal in
    its thread, or NiceGUI, which reads each property of an element with it.
    """
    if sys.version_info >= (3, 13) or hasattr(ast.parse, '__wrapped__'):
        return
    parse, turn = ast.parse, RLock()  # A finalizer may parse, too.

    @functools.wraps(parse)
    def parse_alone(*args: Any, **options: Any) -> Any:
        with turn:
            return parse(*args, **options)

    ast.parse = parse_alone
