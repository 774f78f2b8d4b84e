"""Identifies the caller of each request and socket, and turns away callers without an identity."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers
from starlette.requests import cookie_parser
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocketClose

from engine.errors import JournalError, SignedOut
from engine.records import RunId
from ui.app.access.access import Access, AuthenticatedIdentity
from ui.app.access.caller import ADDRESS, IDENTITY
from ui.app.access.sub_path import SUB_PATH

COOKIE: Final = 'hemicycle-session'
LOGIN: Final = '/login'
PROVIDER, CALLBACK, LOGO = f'{LOGIN}/provider', f'{LOGIN}/callback', f'{LOGIN}/mark.svg'
OPEN_PATHS: Final = frozenset(
    {LOGIN, PROVIDER, CALLBACK, LOGO, '/login.css', '/healthz', '/readyz', '/favicon.ico'}
)
"""Paths that are open to everyone."""
SIGNED_PATHS: Final = re.compile(r'/api/v1/triggers/[^/]+/webhook')
"""Paths where a signature replaces a login: the webhooks of triggers."""
SAFE_METHODS: Final = frozenset({'GET', 'HEAD', 'OPTIONS'})
API_PREFIXES: Final = ('/api/', '/mcp', '/metrics')
"""Paths for programs: they get an error instead of the login page."""
DOWNLOAD_PATHS: Final = re.compile(
    r'(?:/api/v1)?/runs/(?P<run>[^/]+)/(?P<what>export|archive|patch|kept|files/archive)(?:/(?P<form>[^/]*))?'
)
"""Paths that return a run or its files."""


class RequireLogin:
    """Middleware: callers without an identity get only the login page.

    Args:
        app: the application.
        access: identifies callers; None while no login is required.
    """

    def __init__(self, app: ASGIApp, access: Callable[[], Access | None]) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket."""
        access = self._access() if scope['type'] in ('http', 'websocket') else None
        if access is None:
            await self._app(scope, receive, send)
            return
        headers, path = Headers(scope=scope), scope['path']
        ADDRESS.set(scope['client'][0] if scope.get('client') else '')
        IDENTITY.set(None)
        try:
            identity = await identify(access, scope)
        except JournalError as error:
            await _refusal(scope, 503, 'journal-unavailable', str(error))(scope, receive, send)
            return
        if identity is None:
            if _is_open(scope, path):
                await self._app(scope, receive, send)
            else:
                await _answer_anonymous(scope, headers)(scope, receive, send)
            return
        if identity.is_session and not is_own(scope, headers):
            refused = _refusal(scope, 403, 'other-site', 'pages of other sites may not do this')
            await refused(scope, receive, send)
            return
        IDENTITY.set(identity)
        scope.setdefault('state', {})['identity'] = identity
        if scope['type'] == 'http' and scope['method'] == 'GET' and (match := DOWNLOAD_PATHS.fullmatch(path)):
            send = _log_download(send, access, identity, match)
        await self._app(scope, receive, send)


def _log_download(send: Send, access: Access, identity: AuthenticatedIdentity, match: re.Match[str]) -> Send:
    """Write a line of the audit log, for a download or its refusal, before the response begins."""
    details = {'what': match['what'], 'form': match['form'] or ''}

    async def send_logged(message: Message) -> None:
        if message['type'] == 'http.response.start':
            status = message['status']
            refused = f'answered {status}' if status >= 400 else ''
            runs = [RunId(match['run'])]
            await access.audit.write(
                identity.last_caller, 'download', runs=runs, details=details, refused=refused
            )
        await send(message)

    return send_logged


def _is_open(scope: Scope, path: str) -> bool:
    """Whether a path is open to everyone."""
    if path in OPEN_PATHS:
        return True
    return scope['type'] == 'http' and scope['method'] == 'POST' and bool(SIGNED_PATHS.fullmatch(path))


async def identify(access: Access, scope: Scope) -> AuthenticatedIdentity | None:
    """Return the valid identity of a request, if any: from its token, or else from its session cookie."""
    kind, _, token = Headers(scope=scope).get('authorization', '').partition(' ')
    try:
        if kind.lower() == 'bearer':
            return await access.identify_token(token.strip())
        if secret := session_secret(scope):
            return await access.identify_session(secret)
    except SignedOut:
        pass
    return None


def cookie_name(scope: Scope, name: str = COOKIE) -> str:
    """Return the name of a cookie of this server.

    Browsers send a cookie to every port of its host, and __Host- cookies to every path: the name tells
    servers apart.
    """
    headers = Headers(scope=scope)
    port = headers.get('host', '').rpartition(':')[2]
    path = headers.get(SUB_PATH, '').replace('/', '+')  # No such path has a plus sign.
    return f'{name}-{port}{path}' if port.isdecimal() else f'{name}{path}'


def session_secret(scope: Scope) -> str:
    """Return the secret in the session cookie, or ''."""
    # Not `SimpleCookie`: it reads none if another program of the host set one with JSON or a space.
    cookies = cookie_parser(Headers(scope=scope).get('cookie', ''))
    # Over TLS, only the name that no other host can set: other hosts of the domain can set the plain one.
    plain = cookie_name(scope)
    for name in (f'__Host-{plain}', *(() if is_secure(scope) else (plain,))):
        if name in cookies:
            return cookies[name]
    return ''


def is_own(scope: Scope, headers: Headers) -> bool:
    """Whether a request that changes anything or opens a socket comes from one of our own pages.

    Browsers send the cookie automatically, so they must name the page that sends the request, in `Origin` or
    `Sec-Fetch-Site` (Fetch Metadata). All current browsers do.
    """
    if scope['type'] == 'http' and scope['method'] in SAFE_METHODS:
        return True
    if origin := headers.get('origin'):
        parts = urlsplit(origin)
        if is_secure(scope) and parts.scheme != 'https':
            return False  # Without TLS, anyone on the way could have made that page.
        return parts.netloc == headers.get('host')
    return headers.get('sec-fetch-site') == 'same-origin'


def is_secure(scope: Scope) -> bool:
    """Whether the request came over TLS, directly or according to a trusted proxy."""
    return scope['scheme'] in ('https', 'wss')


def set_cookie(response: Response, scope: Scope, secret: str, *, secure: bool, seconds: int) -> None:
    """Set the session cookie, for this host only; '' deletes it."""
    plain = cookie_name(scope)
    for name in (f'__Host-{plain}', plain) if not secret else (f'__Host-{plain}' if secure else plain,):
        response.set_cookie(
            name,
            secret,
            max_age=seconds if secret else 0,
            path='/',
            secure=secure or name.startswith('__Host-'),
            httponly=True,
            samesite='lax',
        )


def _answer_anonymous(scope: Scope, headers: Headers) -> ASGIApp:
    asks_for_page = (
        scope['type'] == 'http'
        and scope['method'] in SAFE_METHODS
        and not scope['path'].startswith(API_PREFIXES)
        and headers.get('sec-fetch-dest', 'document') in ('document', 'empty')
        and 'text/html' in headers.get('accept', '')
    )
    if asks_for_page:
        query = scope.get('query_string', b'').decode('latin-1')
        target = scope['path'] + (f'?{query}' if query else '')
        suffix = '' if target == '/' else f'?next={quote(target, safe="")}'
        return RedirectResponse(f'{LOGIN}{suffix}', 303, headers={'Cache-Control': 'no-store'})
    return _refusal(scope, 401, 'signed-out', 'log in, or send a token: Authorization: Bearer ...')


def _refusal(scope: Scope, status: int, kind: str, detail: str) -> ASGIApp:
    """Return the answer to a request or socket that is turned away."""
    if scope['type'] == 'websocket':
        return WebSocketClose(1008, detail[:120])
    headers = {'Cache-Control': 'no-store'} | ({'WWW-Authenticate': 'Bearer'} if status == 401 else {})
    if not scope['path'].startswith(API_PREFIXES):
        return PlainTextResponse(detail, status, headers=headers)
    body = {
        'type': f'urn:hemicycle:{kind}',
        'title': '',
        'status': status,
        'detail': detail,
        'errors': [],
        'about': {},
    }
    return JSONResponse(body, status, headers=headers, media_type='application/problem+json')
