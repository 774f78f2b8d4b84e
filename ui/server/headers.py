"""Security headers for every response, and a content security policy with a nonce for scripts."""

from __future__ import annotations

import re
import secrets
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE_POLICY: Final = (
    "default-src 'self'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:;"
    " object-src 'none'; frame-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""Vue compiles templates in the browser, which needs `unsafe-eval`. Elements have inline styles."""
DATA: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
"""Responses that are not pages run no code, even if opened as one."""
SCRIPTS: Final = ('text/css', 'text/javascript', 'application/javascript')
"""Resources to which their page's policy applies."""
FRAMES: Final = "frame-ancestors 'none'"
HEADERS: Final = {
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
    'Referrer-Policy': 'same-origin',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'X-Permitted-Cross-Domain-Policies': 'none',
    'Permissions-Policy': 'accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(),'
    ' magnetometer=(), microphone=(), midi=(), payment=(), usb=()',
}
"""The headers on OWASP's list of secure headers."""
HSTS: Final = 'max-age=31536000'
SCRIPT: Final = re.compile(rb'<script(?=[\s>])(?![^>]*\snonce=)', re.IGNORECASE)


class SafeHeaders:
    """Middleware that adds the headers, unless a response has its own.

    Scripts in a page's response get its nonce. Scripts inserted into the page later, for example by a model's
    text, have none and do not run. Text from people or models is never raw HTML in the response.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope['type'] != 'http':
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body, nonce = b'', ''

        async def send_with_headers(message: Message) -> None:
            nonlocal start, body, nonce
            if message['type'] == 'http.response.start':
                nonce = _add_headers(MutableHeaders(scope=message), https=scope['scheme'] == 'https')
                start = message if nonce else None
            if start is None:
                await send(message)
            elif message['type'] == 'http.response.body':
                body += message.get('body', b'')
                if not message.get('more_body'):
                    whole = SCRIPT.sub(b'<script nonce="%s"' % nonce.encode(), body)
                    headers = MutableHeaders(scope=start)
                    if 'content-length' in headers and scope['method'] != 'HEAD':
                        headers['Content-Length'] = str(len(whole))
                    await send(start)
                    await send({'type': 'http.response.body', 'body': whole})

        await self._app(scope, receive, send_with_headers)


def _add_headers(headers: MutableHeaders, *, https: bool) -> str:
    """Add missing headers; return the nonce for a page's scripts, or ''."""
    for name, value in HEADERS.items():
        headers.setdefault(name, value)
    if https:
        headers.setdefault('Strict-Transport-Security', HSTS)
    kind = headers.get('content-type', '').partition(';')[0]
    if kind not in SCRIPTS and not kind.startswith(('image/', 'font/')):
        headers.setdefault('Cache-Control', 'no-store')
    if 'content-security-policy' in headers:
        return ''
    nonce = secrets.token_urlsafe(18) if kind == 'text/html' else ''
    other = DATA if kind and kind not in SCRIPTS else FRAMES
    headers['Content-Security-Policy'] = PAGE_POLICY.format(nonce=nonce) if nonce else other
    return nonce
