"""Security headers of every answer, and a content security policy whose scripts have a nonce."""

from __future__ import annotations

import re
import secrets
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

PAGE: Final = (
    "default-src 'self'; script-src 'self' 'nonce-{nonce}' 'unsafe-eval'; style-src 'self' 'unsafe-inline';"
    " img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; worker-src 'self' blob:;"
    " object-src 'none'; frame-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
"""Vue compiles its templates in the browser: that takes `unsafe-eval`. Styles stand in the elements."""
DATA: Final = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
"""Responses that are not pages run nothing, even if opened as one."""
SCRIPTS: Final = ('text/css', 'text/javascript', 'application/javascript')
"""Parts of a page, to which the page's policy applies."""
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
"""Those on OWASP's list of secure headers."""
HSTS: Final = 'max-age=31536000'
SCRIPT: Final = re.compile(rb'<script(?=[\s>])(?![^>]*\snonce=)', re.IGNORECASE)


class SafeHeaders:
    """Middleware: adds the headers, unless an answer has stricter ones of its own.

    Scripts of a page get its nonce where they stand in the answer: what is written into a page later, by a
    model's text for example, has none and does not run. No text of people or models is raw HTML there.
    """

    def __init__(self, served: ASGIApp) -> None:
        self._served = served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        if scope['type'] != 'http':
            await self._served(scope, receive, send)
            return
        held: Message | None = None
        body, nonce = b'', ''

        async def sent(message: Message) -> None:
            nonlocal held, body, nonce
            if message['type'] == 'http.response.start':
                nonce = _add_headers(MutableHeaders(scope=message), https=scope['scheme'] == 'https')
                held = message if nonce else None
            if held is None:
                await send(message)
            elif message['type'] == 'http.response.body':
                body += message.get('body', b'')
                if not message.get('more_body'):
                    whole = SCRIPT.sub(b'<script nonce="%s"' % nonce.encode(), body)
                    headers = MutableHeaders(scope=held)
                    if 'content-length' in headers and scope['method'] != 'HEAD':
                        headers['Content-Length'] = str(len(whole))
                    await send(held)
                    await send({'type': 'http.response.body', 'body': whole})

        await self._served(scope, receive, sent)


def _add_headers(headers: MutableHeaders, *, https: bool) -> str:
    """Add what is missing; returns the nonce of a page's scripts, or ''."""
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
    headers['Content-Security-Policy'] = PAGE.format(nonce=nonce) if nonce else other
    return nonce
