"""The API application that tests share, since building its routes takes 0.3 s, and a server for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING

import uvicorn
from starlette.datastructures import State

from tests.support.harness import until
from ui.api.app import build_api
from ui.app.backend import Backend

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.types import ASGIApp


def serve_api(backend: Backend, server: str = '') -> FastAPI:
    """Return the shared application, one for each `server`, with this backend until the next call."""
    app = _build_once(server)
    app.state = State({'backend': backend})
    return app


@cache
def _build_once(server: str) -> FastAPI:
    return build_api(Backend())


@asynccontextmanager
async def serve_app(app: ASGIApp) -> AsyncIterator[str]:
    """Serve an application on this event loop, on a port of its own; yields its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level='critical', timeout_graceful_shutdown=1))
    serving = asyncio.create_task(server._serve())
    await until(lambda: server.started)
    yield f'http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}'
    server.should_exit = True
    await serving
