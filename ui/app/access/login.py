"""The login page and logging out: plain HTML without scripts, for visitors who are not logged in."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from engine import EngineError
from ui.app.access.access import Access, AuthenticatedIdentity, LoginRefused
from ui.app.access.accounts import MAX_SESSION_SECONDS
from ui.app.access.caller import IDENTITY
from ui.app.access.http import CALLBACK, LOGO, PROVIDER, cookie_name, is_own, is_secure, set_cookie
from ui.app.access.oidc import STATE_COOKIE, STATE_SECONDS, Provider
from ui.app.access.sub_path import SUB_PATH
from ui.app.colours import system_colour_sheet

CSP: Final = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; frame-ancestors 'none';"
    " base-uri 'none'"
)
HEADERS: Final = {'Content-Security-Policy': CSP, 'Cache-Control': 'no-store'}
CACHED: Final = {'Cache-Control': 'public, max-age=3600'}
MAX_FORM: Final = 16_384
"""Maximum bytes of a login form."""
PAGE_TEMPLATE: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Log in · Hemicycle</title>
<link rel="icon" href="{below}/login/mark.svg"><link rel="stylesheet" href="{below}/login.css">
</head>
<body><main>
<div class="brand"><img src="{below}/login/mark.svg" alt="">Hemicycle</div>
<h1>Log in</h1>
{problem}{password}{provider}
</main></body>
</html>
"""
PASSWORD: Final = """<form method="post" action="{below}/login">
<input type="hidden" name="next" value="{next}">
<label>Name<input name="name" value="{name}" autocomplete="username" autocapitalize="none" spellcheck="false"
 required maxlength="100"{focus_name}></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required
 maxlength="1000"{focus_password}></label>
<button class="btn primary">Log in</button>
</form>"""


class Login:
    """The pages for logging in and out.

    Args:
        access: identifies callers; None while no login is required.
        provider: the identity provider, if one is configured.
        assets: the folder with the style sheet and the mark.
    """

    def __init__(self, access: Callable[[], Access | None], provider: Provider | None, assets: Path) -> None:
        self._access, self._provider, self._assets = access, provider, assets

    def routes(self) -> list[Route]:
        """Return the routes of the login page, its files, logout, and the identity provider's callback."""
        return [
            Route('/login', self.show, methods=['GET']),
            Route('/login', self.log_in, methods=['POST']),
            Route('/logout', self.log_out, methods=['POST']),
            Route(PROVIDER, self.redirect_to_provider, methods=['GET']),
            Route(CALLBACK, self.handle_callback, methods=['GET']),
            Route('/login.css', self._style, methods=['GET']),
            Route(LOGO, self._file('favicon.svg'), methods=['GET']),
        ]

    def _render(
        self, request: Request, problem: str = '', name: str = '', status: int = 200, later: int = 0
    ) -> Response:
        target, below = local_path(request.query_params.get('next', '')), sub_path(request)
        message = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ''
        form = PASSWORD.format(
            below=below,
            next=escape(target),
            name=escape(name),
            focus_name='' if name else ' autofocus',
            focus_password=' autofocus' if name else '',
        )
        link = ''
        if self._provider:
            link = (
                '<p class="or">or</p>'
                f'<a class="btn" href="{below}/login/provider?next={quote(target, safe="")}">'
                f'Log in with {escape(self._provider.name)}</a>'
            )
        headers = HEADERS | ({'Retry-After': str(later)} if later else {})
        return HTMLResponse(
            PAGE_TEMPLATE.format(below=below, problem=message, password=form, provider=link),
            status,
            headers=headers,
        )

    async def show(self, request: Request) -> Response:
        """Show the page, or redirect a visitor who is logged in."""
        if self._access() is None or IDENTITY.get() is not None:
            return RedirectResponse(local_path(request.query_params.get('next', '')), 303)
        return self._render(request)

    async def log_in(self, request: Request) -> Response:
        """Log a person in by password."""
        access = self._access()
        if access is None:
            return RedirectResponse('/', 303)
        if not is_own(request.scope, request.headers):
            return self._render(request, 'This form came from another site. Log in here.', status=403)
        if int(request.headers.get('content-length') or MAX_FORM + 1) > MAX_FORM:
            return self._render(request, 'This is not a login form.', status=413)
        form = await request.form(max_files=0, max_fields=10)
        name, password = str(form.get('name', '')), str(form.get('password', ''))
        try:
            secret = await access.log_in(name, password, **_client_info(request))
        except LoginRefused as error:
            status, later = (429, 900) if error.retry_later else (401, 0)
            return self._render(request, str(error), name[:100], status, later)
        return self._redirect_logged_in(request, secret, local_path(str(form.get('next', ''))))

    async def log_out(self, request: Request) -> Response:
        """End the session, or all of them."""
        access, identity = self._access(), IDENTITY.get()
        if access is not None and isinstance(identity, AuthenticatedIdentity) and identity.is_session:
            await access.log_out(identity, everywhere=request.query_params.get('everywhere') == '1')
        answer = RedirectResponse('/login', 303, headers={'Clear-Site-Data': '"cache", "storage"'})
        set_cookie(answer, request.scope, '', secure=False, seconds=0)
        return answer

    async def redirect_to_provider(self, request: Request) -> Response:
        """Send the browser to the identity provider."""
        access = self._access()
        if access is None or self._provider is None:
            return PlainTextResponse('there is no identity provider', 404)
        target = local_path(request.query_params.get('next', ''))
        try:
            url, state = await self._provider.begin(_callback(request), target)
        except EngineError as error:
            return self._render(request, str(error), status=502)
        answer = RedirectResponse(url, 303, headers={'Cache-Control': 'no-store'})
        answer.set_cookie(
            cookie_name(request.scope, STATE_COOKIE),
            state,
            max_age=STATE_SECONDS,
            path=f'{sub_path(request)}/login/',
            secure=is_secure(request.scope),
            httponly=True,
            samesite='lax',
        )
        return answer

    async def handle_callback(self, request: Request) -> Response:
        """Handle the redirect back from the identity provider."""
        access = self._access()
        if access is None or self._provider is None:
            return PlainTextResponse('there is no identity provider', 404)
        try:
            account, target = await self._provider.finish(
                access,
                _callback(request),
                request.cookies.get(cookie_name(request.scope, STATE_COOKIE), ''),
                dict(request.query_params),
            )
        except EngineError as error:
            return self._render(request, str(error), status=401)
        secret = await access.begin(account, self._provider.name, **_client_info(request))
        answer = self._redirect_logged_in(request, secret, local_path(target))
        answer.delete_cookie(cookie_name(request.scope, STATE_COOKIE), path=f'{sub_path(request)}/login/')
        return answer

    def _redirect_logged_in(self, request: Request, secret: str, target: str) -> Response:
        answer = RedirectResponse(target, 303, headers={'Cache-Control': 'no-store'})
        # The browser's `Origin` is reliable even if the proxy does not report TLS.
        secure = is_secure(request.scope) or request.headers.get('origin', '').startswith('https://')
        set_cookie(answer, request.scope, secret, secure=secure, seconds=int(MAX_SESSION_SECONDS))
        return answer

    def _style(self, _request: Request) -> Response:
        rules = (self._assets / 'styles/pages/login.css').read_text('utf-8')
        return Response(system_colour_sheet() + rules, media_type='text/css', headers=CACHED)

    def _file(self, path: str) -> Callable[[Request], Response]:
        return lambda request: FileResponse(self._assets / path, headers=CACHED)


def local_path(target: str) -> str:
    """Return the address to redirect to if it is on this server; '/' for any other."""
    parts = urlsplit(target.replace('\\', '/'))
    harmless = target.startswith('/') and not target.startswith(('//', '/\\')) and target.isprintable()
    if not harmless or parts.scheme or parts.netloc or parts.path in ('/login', '/logout'):
        return '/'
    return target


def sub_path(request: Request) -> str:
    """Return the path below which a proxy serves us, or ''."""
    return request.headers.get(SUB_PATH, '')


def _client_info(request: Request) -> dict[str, str]:
    return {
        'address': request.client.host if request.client else '',
        'agent': request.headers.get('user-agent', ''),
    }


def _callback(request: Request) -> str:
    return f'{str(request.base_url).rstrip("/")}{sub_path(request)}{CALLBACK}'
