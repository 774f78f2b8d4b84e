"""LazyApp: an application that is built at its first request, not when the server starts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from starlette.types import ASGIApp, Receive, Scope, Send


class LazyApp:
    """Builds an application in a thread at the first request, without blocking the rest of the server.

    Args:
        build: builds the application, including imports.
    """

    def __init__(self, build: Callable[[], ASGIApp]) -> None:
        self._build = build
        self._app: ASGIApp | None = None
        self._turn = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket."""
        app = await self._build_once()
        await app(scope, receive, send)

    async def _build_once(self) -> ASGIApp:
        async with self._turn:
            if self._app is None:
                self._app = await asyncio.to_thread(self._build)
            return self._app
