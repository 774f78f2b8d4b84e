"""Signals to exit, and the grace period in which live model calls may finish after one."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import NoReturn

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def signal_handlers(handlers: Mapping[signal.Signals, Callable[[], object]]) -> Iterator[None]:
    """Call these functions on the event loop when their signals arrive."""
    loop = asyncio.get_running_loop()
    for number, handler in handlers.items():
        loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        for number in handlers:
            loop.remove_signal_handler(number)


@contextlib.contextmanager
def exit_cleanly() -> Iterator[None]:
    """Exit on SIGTERM and SIGHUP as on Ctrl+C, so that what is half written is removed."""

    def leave(number: int, frame: object) -> NoReturn:
        raise SystemExit(128 + number)

    ending = [one for one in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(one) is signal.SIG_DFL]
    for number in ending:  # `nohup` has SIGHUP ignored.
        signal.signal(number, leave)
    try:
        yield
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def grace_period(seconds: float) -> Iterator[asyncio.Future[None]]:
    """Yield a future that is done after these seconds, or at the next signal to exit."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not over.done():
            over.set_result(None)

    timer = loop.call_later(seconds, end)
    with signal_handlers(dict.fromkeys(SIGNALS, end)):
        try:
            yield over
        finally:
            timer.cancel()
