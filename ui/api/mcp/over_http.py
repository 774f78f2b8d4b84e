"""The MCP server over HTTP at `/mcp`; its dependencies are imported when the first client connects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from starlette.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from engine import Conductor
from ui.api.access import SHARED, OwnOrigin, identify

if TYPE_CHECKING:
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager


class McpOverHttp:
    """The application at `/mcp`: streamable HTTP, behind the same checks as the API.

    Importing the protocol's package takes half as long as all other imports of the server, and would delay
    the recovery of interrupted runs, so it is deferred to the first client.

    Args:
        conductor: returns the conductor to work with.
        origins: other sites whose pages may use it; none by default.
    """

    def __init__(self, conductor: Callable[[], Conductor], origins: Collection[str] = ()) -> None:
        self._conductor = conductor
        self._requested, self._opened = asyncio.Event(), asyncio.Event()
        self._manager: StreamableHTTPSessionManager | None = None
        self._guarded: ASGIApp = OwnOrigin(self._serve, origins)
        if origins:
            self._guarded = CORSMiddleware(self._guarded, allow_origins=list(origins), **SHARED)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve clients while the context is open."""
        serving = asyncio.create_task(self._run(), name='serve chat agents')
        try:
            yield
        finally:
            serving.cancel()
            await asyncio.wait({serving})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        await self._guarded(scope, receive, send)

    async def _run(self) -> None:
        await self._requested.wait()
        self._manager = await asyncio.to_thread(_manager, self._conductor)
        async with self._manager.run():
            self._opened.set()
            await asyncio.Event().wait()

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        await identify(HTTPConnection(scope))
        self._requested.set()
        await self._opened.wait()
        assert self._manager is not None
        await self._manager.handle_request(scope, receive, send)


def _manager(conductor: Callable[[], Conductor]) -> StreamableHTTPSessionManager:
    """Build the session manager. Imports the protocol's package, which takes a while."""
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from ui.api.mcp.server import build_mcp

    return StreamableHTTPSessionManager(app=build_mcp(conductor))
