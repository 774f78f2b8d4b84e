"""Access to the API: the one place through which every request and socket passes."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final
from urllib.parse import urlsplit

from fastapi import Request
from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from ui.access.caller import ANYONE, IDENTITY, Caller
from ui.api.problems import problem

PREFIX: Final = '/api/v1'
"""Where the API is served."""
READING = frozenset({'GET', 'HEAD', 'OPTIONS'})
RAW = ('/imports',)
"""Routes whose bodies are files."""


SHARED: Final[dict[str, Any]] = {
    'allow_methods': ['*'],
    'allow_headers': ['*'],
    'expose_headers': [
        'ETag', 'Location', 'Retry-After', 'Idempotency-Replayed', 'Mcp-Session-Id', 'MCP-Protocol-Version'
    ],
}  # fmt: skip
"""What pages of allowed sites may send and read. No cookies."""


async def identify(connection: HTTPConnection) -> Caller:
    """The caller. Without accounts, anyone who can reach the server may do anything.

    Every route depends on it. `ui.access.http` has found out; what a caller may do is up to the guard of the
    conductor (`ui.access.guard`).
    """
    identity = IDENTITY.get()
    return await identity.check() if identity else ANYONE


class OwnOrigin:
    """Middleware: rejects requests from pages of other sites, and bodies of unsupported types.

    Programs send no `Origin`; a browser always does with a socket and with anything that changes something.
    """

    def __init__(self, served: ASGIApp, origins: Collection[str] = ()) -> None:
        self._served, self._origins = served, frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket."""
        if scope['type'] not in ('http', 'websocket'):
            await self._served(scope, receive, send)
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
            await self._served(scope, receive, send)

    def _is_foreign(self, scope: Scope, headers: Headers) -> bool:
        origin = headers.get('origin')
        if origin is None or origin in self._origins:
            return False
        if scope['type'] == 'http' and scope['method'] in READING:
            return False  # It cannot read the answer: CORS is for `origins` alone.
        return urlsplit(origin).netloc != headers.get('host')


def _is_understood(request: Request, headers: Headers) -> bool:
    has_body = headers.get('content-length', '0') != '0' or 'transfer-encoding' in headers
    if request.method in READING or not has_body or request.url.path.endswith(RAW):
        return True
    kind = headers.get('content-type', '').partition(';')[0].strip().lower()
    return kind == 'application/json' or (kind.startswith('application/') and kind.endswith('+json'))
