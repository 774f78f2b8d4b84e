"""Tunes the interpreter for a server: short GC pauses, fast thread switches, fast pages."""

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
"""A step creates some hundred objects that die immediately and do not count, unlike those a run keeps. The
first threshold bounds the duration of the two frequent kinds of collection. It counts objects created minus
objects freed, including old ones: with 1,000 concurrent runs, a threshold of 1,000 led to collections of up
to 27,000 objects that took 13 ms, and 300 to 4 ms, with no increase in total time. The last keeps full
collections rare: as many objects pass between them as with a threshold of 100 before."""
YOUNG_SECONDS, IDLE_SECONDS, MANY = 0.02, 0.1, 1_000
"""Seconds between collections of young objects, and when fewer than `MANY` were created since the last."""
MIDDLE = 2
"""The middle generation is collected every `MIDDLE`th time."""
SWITCH_INTERVAL = 0.0005
"""Seconds before a waiting thread gets the interpreter: a tenth of Python's default, for the writer."""


def tune() -> None:
    """Tune the interpreter once everything is imported: existing objects stay and are never scanned again.

    Otherwise each full collection scans all modules and blocks the event loop for a tenth of a second. A
    collection before the freeze would take two tenths of the startup time and find little.
    """
    gc.freeze()
    gc.enable()
    gc.set_threshold(*THRESHOLDS)
    sys.setswitchinterval(SWITCH_INTERVAL)
    helpers.expects_arguments = memoize_signature(helpers.expects_arguments)  # type: ignore[assignment]


async def collect_young_objects() -> None:
    """Collect the young generations at intervals, until cancelled.

    The interpreter counts objects created minus objects freed. While old objects die as fast as new ones are
    created, it collects nothing, and then 400,000 objects in one go: with 1,000 pipelines, the loop was
    blocked for up to 40 ms.
    """
    number = 0
    while True:
        young = len(gc.get_objects(generation=0))
        number += 1
        gc.collect(0 if number % MIDDLE else 1)
        await asyncio.sleep(YOUNG_SECONDS if young > MANY else IDLE_SECONDS)


def memoize_signature(check: Callable[[Callable[..., Any]], bool]) -> Callable[[Callable[..., Any]], bool]:
    """Cache the function's results per method instead of per object.

    NiceGUI inspects the signatures of three methods for every element it creates. Replacing its function is
    worth it: without it, a page of 2,000 elements takes 30 % longer (660 ms instead of 480 ms).
    """
    cache: WeakKeyDictionary[FunctionType, bool] = WeakKeyDictionary()

    def answer(func: Callable[..., Any]) -> bool:
        method = func.__func__ if isinstance(func, MethodType) else None
        if not isinstance(method, FunctionType):
            return check(func)
        if method not in cache:
            cache[method] = check(func)
        return cache[method]

    return answer
