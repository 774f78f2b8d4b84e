"""Serves the dashboard: port, session secret, middleware that guards requests, and web server."""

from __future__ import annotations

import contextlib
import errno
import gc
import hashlib
import ipaddress
import os
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from engine import EngineError, LocalConductor
from ui.app.access.sub_path import PATH
from ui.app.backend import Backend
from ui.app.settings import secret_in_file
from ui.server.settings import LOCAL_NAMES, AccessSettings, ServerSettings

if TYPE_CHECKING:
    from fastapi import FastAPI

PORT_TRIES = 100
"""Number of ports to try, starting with the requested one."""
RECONNECT_SECONDS = 15
"""Seconds for which a disconnected page is kept, with everything typed into it."""
RESEND_MESSAGES = 10_000
"""Maximum messages resent to a page that reconnects: six streaming panes get fewer in that time."""
UNUSED_PACKAGES = ('aiohttp', 'requests')
"""Packages that NiceGUI's client imports if installed, which takes a tenth of the startup time."""
SECRET = 'HEMICYCLE_SECRET'
"""The environment variable with the secret shared by several servers behind one address."""
MIN_SECRET = 32


class CannotServe(EngineError):
    """The address cannot be served; the message says why."""


def is_local(host: str) -> bool:
    """Whether only this machine can reach the host."""
    try:
        return host == 'localhost' or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def check_host(host: str, *, login: bool) -> None:
    """Refuse to listen for other machines without a login.

    Raises:
        CannotServe
    """
    if not (login or is_local(host)):
        raise CannotServe(
            f'--host {host} can be reached from other machines, and there is no account to log in with:'
            ' create the first one with `hemicycle user add NAME`, or use 127.0.0.1'
        )


def served_names(host: str, url: str) -> list[str]:
    """Return the accepted host names: any other may belong to a site that points to this machine."""
    named = urlsplit(url).hostname or ''
    if is_local(host) or named:
        return [*LOCAL_NAMES, *filter(None, [named, host if not is_local(host) else ''])]
    return ['*']  # Everything requires a login, and a session cookie is only sent to its own host.


def valid_origin(text: str, option: str = '--origin') -> str:
    """Validate the origin of a site that may use this server.

    Raises:
        CannotServe
    """
    origin = text.strip().rstrip('/')
    try:
        parts = urlsplit(origin)
        is_origin = parts.scheme in ('http', 'https') and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_origin = False
    if not is_origin or origin.lower() != f'{parts.scheme}://{parts.netloc}'.lower() or '@' in origin:
        raise CannotServe(f'{option} must be a site such as https://tool.example:8443, not {text!r}')
    return origin.lower()


def valid_root_path(text: str) -> str:
    """Validate the path below which a proxy serves us; '' and '/' are none.

    Raises:
        CannotServe
    """
    path = text.strip().rstrip('/')
    if path and not PATH.fullmatch(path):
        raise CannotServe(f'--root-path must be a path such as /hemicycle, not {text!r}')
    return path


def listen(host: str, port: int) -> socket.socket:
    """Listen on the port, or on the next free one; requests are queued until they are served.

    Raises:
        CannotServe: no port is free.
    """
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    for candidate in range(port, min(port + PORT_TRIES, 65_536)):
        listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Connections inherit it. The server gets a bare descriptor and does not know that it is TCP.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            listener.bind((host, candidate))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if error.errno != errno.EADDRINUSE:
                raise CannotServe(f'port {candidate} of {host} cannot be used: {error.strerror}') from None
        else:
            return listener
    raise CannotServe(f'ports {port} to {port + PORT_TRIES - 1} are all in use: choose another with --port')


def page_url(listening: socket.socket) -> str:
    """Return the page's URL for a browser."""
    host, port = listening.getsockname()[:2]
    return f'http://{f"[{host}]" if ":" in host else host}:{port}'


def session_secret(folder: Path) -> str:
    """Return the secret that signs browser sessions: from `HEMICYCLE_SECRET`, or a random one in a file.

    Raises:
        CannotServe: the given secret is too short.
        OSError
    """
    if secret := os.environ.get(SECRET, '').strip():
        if len(secret) < MIN_SECRET:
            raise CannotServe(f'{SECRET} must have at least {MIN_SECRET} characters')
        return secret
    return secret_in_file(folder / 'secret')


def run(
    listening: socket.socket,
    open_conductor: Callable[[], Awaitable[LocalConductor]],
    settings: ServerSettings | None = None,
    *,
    folder: Path,
    show: bool,
) -> None:
    """Serve until a signal arrives; then release the runs, so that the next server resumes them.

    Args:
        listening: where it serves.
        open_conductor: opens its conductor, on its event loop.
        settings: how it serves.
        folder: the home of Hemicycle, for the secret and what browsers store.
        show: whether to open the page in a browser.

    Raises:
        EngineError: the conductor could not be opened; nothing was served.
    """
    (browser := folder / 'browser').mkdir(mode=0o700, parents=True, exist_ok=True)  # drafts are private
    os.environ['NICEGUI_STORAGE_PATH'] = str(browser)  # read when NiceGUI is imported
    signal.signal(signal.SIGTERM, _raise_exit)
    gc.disable()  # Imported objects are permanent. `tune` enables it once the server is up.
    load_nicegui()
    import uvicorn
    from nicegui import core, ui

    from ui.server.app import build
    from ui.web.components.assets import ASSETS

    failure: Exception | None = None

    def end(error: Exception) -> None:
        nonlocal failure
        failure, server.should_exit = error, True

    settings = settings or ServerSettings()
    access = settings.access
    url = (access.url or page_url(listening)) + access.root_path
    secret = session_secret(folder)
    app = build(open_conductor, settings, url=url, failed=end)
    add_middleware(app, settings.origins, access)
    core.sio.eio.cors_allowed_origins = None  # the page's own origin only; NiceGUI accepts any
    ui.run_with(
        app,
        title='Hemicycle',
        favicon=ASSETS / 'favicon.svg',
        dark=None,
        language='en-US',
        tailwind=False,
        storage_secret=secret,
        session_middleware_kwargs={
            'https_only': url.startswith('https:'),
            # Browsers send it to every port and path of the host: another server there has its own.
            # The port would not do: in containers, all listen on the same one.
            'session_cookie': f'hemicycle-browser-{hashlib.sha256(secret.encode()).hexdigest()[:8]}',
        },
        show_welcome_message=False,
        gzip_middleware_factory=None,  # `add_middleware` compresses for pages and programs alike
        reconnect_timeout=RECONNECT_SECONDS,
        message_history_length=RESEND_MESSAGES,
    )
    if show:
        threading.Thread(
            target=webbrowser.open, args=(page_url(listening) + access.root_path,), daemon=True
        ).start()
    gc.freeze()  # NiceGUI searches all tracked objects for the server: leave few.
    server = uvicorn.Server(
        uvicorn.Config(
            app,
            fd=listening.fileno(),
            ws='wsproto',
            log_config=None,
            log_level='warning',
            server_header=False,
            timeout_graceful_shutdown=3,
        )
    )
    with contextlib.suppress(KeyboardInterrupt):
        server.run()
    gc.enable()
    if isinstance(failure, (EngineError, OSError)):
        raise failure
    if failure:
        raise CannotServe(f'the server could not start: {type(failure).__name__}: {failure}') from failure


def load_nicegui() -> None:
    """Import NiceGUI as if the packages of `UNUSED_PACKAGES` were not installed."""
    hidden = [name for name in UNUSED_PACKAGES if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: it cannot be imported
    try:
        import nicegui  # noqa: F401
    finally:
        for name in hidden:
            del sys.modules[name]


def add_middleware(app: FastAPI, origins: Collection[str], access_settings: AccessSettings) -> None:
    """Add the middleware for all requests; the last one added runs first."""
    from asgi_correlation_id import CorrelationIdMiddleware
    from starlette.middleware.gzip import GZipMiddleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from ui.api.access import PREFIX
    from ui.api.problems import PlainErrors
    from ui.app.access.http import RequireLogin
    from ui.app.access.sub_path import SubPath
    from ui.server.app import MCP
    from ui.server.clients import HeadRequests, OwnRequests
    from ui.server.headers import SafeHeaders
    from ui.server.logs import is_request_id

    backend: Backend = app.state.backend
    app.add_middleware(HeadRequests)
    app.add_middleware(RequireLogin, access=lambda: backend.access)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(access_settings.names))
    app.add_middleware(OwnRequests, shared=(PREFIX, MCP), origins=origins)
    app.add_middleware(PlainErrors, below=PREFIX)
    app.add_middleware(CorrelationIdMiddleware, validator=is_request_id)
    app.add_middleware(SafeHeaders)
    app.add_middleware(GZipMiddleware)
    app.add_middleware(SubPath, root_path=access_settings.root_path)


def _raise_exit(number: int, frame: object) -> NoReturn:
    raise SystemExit(0)
