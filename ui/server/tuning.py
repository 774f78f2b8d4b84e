"""Tunes the interpreter for a server: short GC pauses, quick thread switches, quick pages."""

from __future__ import annotations

import asyncio
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
YOUNG_SECONDS, IDLE_SECONDS, MANY = 0.02, 0.1, 1_000
"""Seconds between looks at young objects, and while fewer than `MANY` of them are made meanwhile."""
MIDDLE = 2
"""Collections of the youngest generation for each one of the middle one."""
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


async def collect_young_objects() -> None:
    """Collect the young generations by the clock, until cancelled.

    The interpreter counts what is made less what has died, so while as many old objects die as new ones are
    made, it collects nothing, and then 400,000 objects at once: with 1,000 pipelines, the loop stood still
    for up to 40 ms.
    """
    number = 0
    while True:
        young = len(gc.get_objects(generation=0))
        number += 1
        gc.collect(0 if number % MIDDLE else 1)
        await asyncio.sleep(YOUNG_SECONDS if young > MANY else IDLE_SECONDS)


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
