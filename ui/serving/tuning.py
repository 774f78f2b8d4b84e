"""Sets the interpreter up for a server: short pauses for garbage, quick turns, quick pages."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import helpers

THRESHOLDS = (50_000, 20, 100)
"""A step makes some hundred objects that die at once: collections are for what does not, and can be rare."""
TURN = 0.0005
"""Seconds after which a waiting thread gets the interpreter: a tenth of Python's own, for the writer."""


def tune() -> None:
    """To be called once everything is imported: what is there now will stay, and is not looked at again.

    Without it, each full collection walks over all modules and stops the event loop for a tenth of a second.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    sys.setswitchinterval(TURN)
    helpers.expects_arguments = remembering(helpers.expects_arguments)  # type: ignore[assignment]


def remembering(ask: Callable[[Callable[..., Any]], bool]) -> Callable[[Callable[..., Any]], bool]:
    """The same answers, worked out once for a method of whatever object.

    NiceGUI asks of three methods of each element that it makes, and works out a signature each time: a fifth
    of the time in which a page is made.
    """
    known: WeakKeyDictionary[FunctionType, bool] = WeakKeyDictionary()

    def answer(func: Callable[..., Any]) -> bool:
        method = func.__func__ if isinstance(func, MethodType) else None
        if not isinstance(method, FunctionType):
            return ask(func)
        if method not in known:
            known[method] = ask(func)
        return known[method]

    return answer
