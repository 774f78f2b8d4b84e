"""Serving below a path of a site, as behind a proxy for https://site.example/hemicycle/."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlsplit, urlunsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SUB_PATH: Final = 'x-forwarded-prefix'
"""The header with that path, if any."""
PATH: Final = re.compile(r'(?:/(?!\.{1,2}(?:/|$))[\w.~-]+)+', re.ASCII)
"""A path that stands in pages, headers and cookies as it is."""


class SubPath:
    """Middleware that takes the path of the proxy off each address, and adds it to redirects.

    Everything behind it sees our own paths, and finds the proxy's in the header, as NiceGUI does.

    Args:
        app: the application.
        root_path: the path if it is configured; otherwise each request's proxy names it.
    """

    def __init__(self, app: ASGIApp, root_path: str = '') -> None:
        self._app, self._root_path = app, root_path

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket."""
        if scope['type'] not in ('http', 'websocket'):
            await self._app(scope, receive, send)
            return
        named = Headers(scope=scope).get(SUB_PATH, '').rstrip('/')
        prefix = self._root_path or (named if PATH.fullmatch(named) else '')
        headers = [item for item in scope['headers'] if item[0] != SUB_PATH.encode()]
        if not prefix:
            await self._app({**scope, 'headers': headers}, receive, send)
            return
        path, raw = scope['path'], scope.get('raw_path') or b''
        if f'{path}/'.startswith(f'{prefix}/'):  # Most proxies have taken it off already.
            path, raw = path[len(prefix) :] or '/', raw[len(prefix) :] or b'/'
        headers.append((SUB_PATH.encode(), prefix.encode()))

        async def send_below(message: Message) -> None:
            if message['type'] == 'http.response.start':
                answered = MutableHeaders(scope=message)
                if target := answered.get('location'):
                    answered['Location'] = _place_below(prefix, target, path)
            await send(message)

        await self._app({**scope, 'path': path, 'raw_path': raw, 'headers': headers}, receive, send_below)


class BelowSubPath:
    """Tells an application the whole path below which it is served: FastAPI's documents name it.

    Args:
        app: an application that is mounted behind `SubPath`.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket."""
        prefix = Headers(scope=scope).get(SUB_PATH, '')
        whole = {name: prefix + scope.get(name, '') for name in ('path', 'root_path')}
        await self._app({**scope, **whole} if prefix else scope, receive, send)


def _place_below(prefix: str, target: str, path: str) -> str:
    """Return the address of a redirect with the prefix, unless it has it, or leads to another site."""
    parts = urlsplit(target)
    is_own = not parts.netloc or parts.path.rstrip('/') == path.rstrip('/')  # A slash more or less is ours.
    if not is_own or not parts.path.startswith('/') or f'{parts.path}/'.startswith(f'{prefix}/'):
        return target
    return urlunsplit(parts._replace(path=prefix + parts.path))
