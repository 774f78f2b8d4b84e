"""Clients: limits who may request pages and how many wait for a browser, and frees closed pages."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from collections.abc import Collection
from typing import Final

from nicegui import Client, app, background_tasks
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_WAITING: Final = 12
"""Maximum pages whose browser has not connected yet. A page dropped too early reloads."""
MAX_DISCONNECTED: Final = 6
"""Maximum pages whose browser has disconnected and may return. If dropped too early, typed text is lost."""
COLLECT_AFTER: Final = 4
"""Closed pages that justify a full garbage collection, which blocks the event loop briefly."""
COLLECT_SECONDS = 10.0
"""Seconds after which fewer closed pages are collected, too."""
COLLECT_PAUSE_FACTOR, MAX_CLOSED = 50.0, 12
"""The next collection waits for this multiple of the last one's duration (half a second with 1,000 active
runs), unless this many pages have been closed, which take some megabytes each."""
EMBEDDED: Final = frozenset({'iframe', 'frame', 'embed', 'object', 'fencedframe'})
FOREIGN: Final = frozenset({'cross-site', 'same-site'})
"""Browsers' names for other sites, including other ports of this machine (Fetch Metadata)."""


class OwnRequests:
    """Middleware that lets other sites only link to pages, and refuses frames.

    Args:
        app: the application.
        shared: paths that pages of other sites may use; their handlers decide which sites.
        origins: these sites.
    """

    def __init__(self, app: ASGIApp, shared: Collection[str] = (), origins: Collection[str] = ()) -> None:
        self._app, self._shared, self._origins = app, tuple(shared), frozenset(origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 403 with the reason."""
        if scope['type'] != 'http':
            await self._app(scope, receive, send)
        elif not self._is_shared(scope) and (problem := _refusal(Headers(scope=scope))):
            await PlainTextResponse(problem, 403)(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    def _is_shared(self, scope: Scope) -> bool:
        origin = Headers(scope=scope).get('origin')
        return origin in self._origins and scope['path'].startswith(self._shared)


class HeadRequests:
    """Middleware that answers `HEAD` without building the page, and limits pages that wait for a browser.

    Args:
        app: the application. Unauthorized requests do not get this far.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer `HEAD` for a page at once; pass all other requests on."""
        if scope['type'] != 'http':
            await self._app(scope, receive, send)
            return
        head = scope['method'] == 'HEAD' and scope['path'] != '/_nicegui_ws'
        if head and _is_page(scope):
            await PlainTextResponse('', media_type='text/html')(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message['type'] == 'http.response.start':
                if 'X-NiceGUI-Content' in Headers(scope=message):
                    drop_pages_without_browser()
            elif head:
                message = {**message, 'body': b''}
            await send(message)

        await self._app({**scope, 'method': 'GET'} if head else scope, receive, send_head)


def _refusal(headers: Headers) -> str:
    """Return why a browser's request is refused, or ''. Other programs do not send these headers."""
    place, dest = headers.get('sec-fetch-site', ''), headers.get('sec-fetch-dest', '')
    if dest in EMBEDDED:
        return 'Hemicycle is not shown inside other pages.'
    is_link = headers.get('sec-fetch-mode') == 'navigate' and dest == 'document'
    return 'Other sites may only link to Hemicycle.' if place in FOREIGN and not is_link else ''


def _is_page(scope: Scope) -> bool:
    """Whether the path is that of a page; NiceGUI wraps only page functions."""
    get_scope = {**scope, 'method': 'GET'}
    routes = (route for route in app.routes if route.matches(get_scope)[0] is Match.FULL)
    return any(hasattr(getattr(route, 'endpoint', None), '__wrapped__') for route in routes)


def drop_pages_without_browser() -> None:
    """Drop the oldest pages without a browser, beyond the limits for waiting and disconnected ones."""
    disconnected = [c for c in Client.instances.values() if not c.has_socket_connection and c._response_built]
    lost = [client for client in disconnected if client._delete_tasks]
    waiting = [client for client in disconnected if not client._delete_tasks]
    for client in lost[:-MAX_DISCONNECTED] + waiting[:-MAX_WAITING]:
        for task in client._delete_tasks.values():
            task.cancel()
        client.delete()


def free_closed_pages() -> None:
    """Free the memory of closed pages: elements and handlers form cycles, and collections are rare."""
    closed, some, many, most = 0, asyncio.Event(), asyncio.Event(), asyncio.Event()

    def count() -> None:
        nonlocal closed
        closed += 1
        some.set()
        if closed >= COLLECT_AFTER:
            many.set()
        if closed >= MAX_CLOSED:
            most.set()

    async def collect() -> None:
        nonlocal closed
        while True:
            await some.wait()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(COLLECT_SECONDS):
                    await many.wait()
            if not many.is_set():
                some.clear()  # Otherwise collect again: a page's senders and timers end shortly after it.
            many.clear()
            most.clear()
            closed = 0
            began = time.perf_counter()
            gc.collect()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(COLLECT_PAUSE_FACTOR * (time.perf_counter() - began)):
                    await most.wait()

    app.on_delete(count)
    background_tasks.create(collect(), name='free closed pages')
