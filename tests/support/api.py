"""The API application that tests share: building its routes at the first request takes 0.3 s."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from starlette.datastructures import State

from ui.api.app import build_api
from ui.web.backend import Backend

if TYPE_CHECKING:
    from fastapi import FastAPI


def serve_api(backend: Backend, server: str = '') -> FastAPI:
    """Return the shared application, one for each `server`, with this backend until the next call."""
    app = _build_once(server)
    app.state = State({'backend': backend})
    return app


@cache
def _build_once(server: str) -> FastAPI:
    return build_api(Backend())
