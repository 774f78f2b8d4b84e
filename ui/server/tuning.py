"""Tunes the interpreter for a server: short GC pauses, quick thread switches, quick pages."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from nicegui import helpers

THRESHOLDS = (300, 5, 13_000)
"""A step makes some hundred objects that die at once and do not count; what a run keeps does. The first
bounds how long the two frequent kinds of collection take. It counts what is made less what has died, old
objects included: with 1,000 runs at once, collections at 1,000 looked at up to 27,000 objects, for 13 ms, at
300 for 4 ms, and all together take no longer. The last keeps full collections rare: after as many objects as
with 100 before."""
SWITCH_INTERVAL = 0.0005
"""Seconds before a waiting thread gets the interpreter: a tenth of Python's default, for the writer."""


def tune() -> None:
    """Call this once everything is imported: what exists then stays, and is never scanned again.

    Without it, each full collection walks all modules and stops the event loop for a tenth of a second. To
    collect first would take two tenths of the start, and find little.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(*THRESHOLDS)
    sys.setswitchinterval(SWITCH_INTERVAL)
    helpers.expects_arguments = memoize_signature(helpers.expects_arguments)  # type: ignore[assignment]


def memoize_signature(ask: Callable[[Callable[..., Any]], bool]) -> Callable[[Callable[..., Any]], bool]:
    """The same answers, computed once per method rather than once per object.

    NiceGUI inspects the signatures of three methods for every element it makes. Kept although it replaces a
    function of NiceGUI: a page of 2,000 elements takes 30 % longer without it (660 ms against 480 ms).
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
