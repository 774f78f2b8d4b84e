"""Access to the API: identifies callers, and rejects requests from pages of other sites."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.api.problems import problem
from ui.app.access.caller import ANYONE, IDENTITY, Caller

PREFIX: Final = '/api/v1'
"""The path under which the API is served."""
READING = frozenset({'GET', 'HEAD', 'OPTIONS'})
RAW = ('/imports', '/uploads')
"""Ends of the paths of routes whose bodies are files."""


SHARED: Final[dict[str, Any]] = {
    'allow_methods': ['*'],
    'allow_headers': ['*'],
    'expose_headers': [
        'ETag', 'Location', 'Retry-After', 'Idempotency-Replayed', 'Mcp-Session-Id', 'MCP-Protocol-Version'
    ],
}  # fmt: skip
"""CORS settings: what pages of allowed sites may send and read. No cookies."""


async def identify(connection: HTTPConnection) -> Caller:
    """Return the caller. Without accounts, anyone who can reach the server may do anything.

    Every route depends on it. `ui.app.access.http` has identified the caller; the conductor's guard
    (`ui.app.access.guard`) decides what it may do.
    """
    identity = IDENTITY.get()
    return await identity.check() if identity else ANYONE


class OwnOrigin:
    """Middleware: rejects requests from pages of other sites, and bodies of unsupported types.

    Programs send no `Origin`; browsers always send one for sockets and for requests that change something.
    """

    def __init__(self, app: ASGIApp, origins: Collection[str] = ()) -> None:
        self._app, self._origins = app, frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket."""
        if scope['type'] not in ('http', 'websocket'):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if self._is_foreign(scope, headers):
            if scope['type'] == 'websocket':
                await send({'type': 'websocket.close', 'code': 1008, 'reason': 'another site'})
                return
            refused = problem(403, 'other-site', 'pages of other sites may not do this')
            await refused(scope, receive, send)
        elif scope['type'] == 'http' and not _is_understood(Request(scope), headers):
            await problem(415, 'media-type', 'send JSON: Content-Type: application/json')(
                scope, receive, send
            )
        else:
            await self._app(scope, receive, send)

    def _is_foreign(self, scope: Scope, headers: Headers) -> bool:
        origin = headers.get('origin')
        if origin is None or origin in self._origins:
            return False
        if scope['type'] == 'http' and scope['method'] in READING:
            return False  # The page cannot read the response: CORS allows only `origins`.
        return urlsplit(origin).netloc != headers.get('host')


def _is_understood(request: Request, headers: Headers) -> bool:
    has_body = headers.get('content-length', '0') != '0' or 'transfer-encoding' in headers
    if request.method in READING or not has_body or request.url.path.endswith(RAW):
        return True
    kind = headers.get('content-type', '').partition(';')[0].strip().lower()
    return kind == 'application/json' or (kind.startswith('application/') and kind.endswith('+json'))
