"""Holds the server back until the conductor is open and its runs go on."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from engine import Conductor, EngineError

Lifespan = Callable[[Any], contextlib.AbstractAsyncContextManager[Any]]


class Opening:
    """Opens the conductor, and holds the server back until whoever asked for it is ready.

    Attributes:
        failure: why it could not be opened, if it could not.
    """

    def __init__(self, open_conductor: Callable[[], Awaitable[Conductor]]) -> None:
        self._open = open_conductor
        self._asked: asyncio.Future[asyncio.Task[Any] | None] | None = None
        self.failure: EngineError | OSError | None = None

    async def __call__(self) -> Conductor:
        """Open it; whoever calls is waited for. Raises what the opening raises, and keeps it as `failure`."""
        assert self._asked is not None  # NiceGUI calls it inside its own lifespan
        self._asked.set_result(asyncio.current_task())
        try:
            return await self._open()
        except (EngineError, OSError) as error:
            self.failure = error
            raise

    def before(self, lifespan: Lifespan) -> Lifespan:
        """A lifespan in which requests are taken only when the task that asked for the conductor is done."""

        @contextlib.asynccontextmanager
        async def held(served: Any) -> AsyncIterator[Any]:
            self._asked = asyncio.get_running_loop().create_future()
            async with lifespan(served) as state:
                starting = await self._asked
                if starting:
                    await asyncio.wait([starting])
                if self.failure:
                    # NiceGUI logs it and would serve on; the server ends as if Ctrl+C had been pressed.
                    signal.raise_signal(signal.SIGINT)
                yield state

        return held
