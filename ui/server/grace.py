"""Grace period: time for live model calls to finish when their process is shut down."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Iterator

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextlib.contextmanager
def grace_period(seconds: float) -> Iterator[asyncio.Future[None]]:
    """Yield a future that is done after these seconds, or at the next signal to exit."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def end() -> None:
        if not over.done():
            over.set_result(None)

    timer = loop.call_later(seconds, end)
    for number in SIGNALS:
        loop.add_signal_handler(number, end)
    try:
        yield over
    finally:
        timer.cancel()
        for number in SIGNALS:
            loop.remove_signal_handler(number)
