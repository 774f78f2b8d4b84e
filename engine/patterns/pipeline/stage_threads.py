"""Daemon threads for blocking stages, which keep neither the run nor the process from ending."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from typing import Any, TypeVar
from weakref import WeakSet

T = TypeVar('T')


class StageThreads(ThreadPoolExecutor):
    """A default executor that runs each call from inside a stage in its own daemon thread.

    Libraries that a stage uses (LangGraph for synchronous nodes) block in the loop's default executor,
    and Python waits for its threads before it exits.
    """

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> Future[T]:
        """Call in a daemon thread if inside a stage, otherwise as usual."""
        if not _in_stage.get():
            return super().submit(fn, *args, **kwargs)
        future: Future[T] = Future()

        def work() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                result = fn(*args, **kwargs)
            except BaseException as error:
                future.set_exception(error)
            else:
                future.set_result(result)

        Thread(target=work, name='stage', daemon=True).start()
        return future


_in_stage: ContextVar[bool] = ContextVar('in_stage', default=False)
_prepared: WeakSet[asyncio.AbstractEventLoop] = WeakSet()


@contextmanager
def stage_threads() -> Iterator[None]:
    """Prevent calls in the running loop's executor from delaying the end of the process."""
    loop = asyncio.get_running_loop()
    if loop not in _prepared:
        loop.set_default_executor(StageThreads())
        _prepared.add(loop)
    token = _in_stage.set(True)
    try:
        yield
    finally:
        _in_stage.reset(token)
