"""The API that tests share: an application builds its routes at its first request, in 0.3 s."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from starlette.datastructures import State

from ui.api.app import build_api
from ui.web.backend import Backend

if TYPE_CHECKING:
    from fastapi import FastAPI


def serve_api(backend: Backend, server: str = '') -> FastAPI:
    """The application of this process, or of one of its servers, with this backend until the next call."""
    app = _build_once(server)
    app.state = State({'backend': backend})
    return app


@cache
def _build_once(server: str) -> FastAPI:
    return build_api(Backend())
