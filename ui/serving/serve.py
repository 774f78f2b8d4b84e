"""Serves the dashboard: the port, the address, the secret of the sessions, and NiceGUI's server."""

from __future__ import annotations

import contextlib
import errno
import ipaddress
import os
import secrets
import signal
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import NoReturn

from engine import Conductor
from ui.commands.exits import Refused
from ui.serving.opening import Opening
from ui.settings import Places

HERE = ('localhost', '127.0.0.1', '::1', '[::1]')
"""What a browser on this machine calls it. Any other name may be a page's that had it point here."""
PORTS = 100
"""How many ports are tried, from the one asked for."""
PATIENCE = 15
"""Seconds for which a page that cannot be reached is kept as it is, with what was typed into it."""
HISTORY = 10_000
"""Messages to a page that are sent again when it is back: six panes that stream get fewer in that time."""


def check_host(host: str) -> None:
    """Refuse to be seen from other machines: whoever reaches the page may do anything.

    Raises:
        Refused
    """
    try:
        local = host == 'localhost' or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise Refused(
            f'--host {host} can be reached from other machines, and there is no login yet: use 127.0.0.1,'
            ' localhost or ::1 (an SSH tunnel brings the page to another machine)'
        )


def listen(host: str, port: int) -> socket.socket:
    """A listening socket on the port, or on the next free one; it queues requests until they are served.

    Raises:
        Refused: none can be had.
    """
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    for candidate in range(port, min(port + PORTS, 65_536)):
        found = socket.socket(family, socket.SOCK_STREAM)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # Connections inherit it: the server, which gets a bare descriptor, does not know that it is TCP.
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            found.bind((host, candidate))
            found.listen(128)
        except OSError as error:
            found.close()
            if error.errno != errno.EADDRINUSE:
                raise Refused(f'port {candidate} of {host} cannot be used: {error.strerror}') from None
        else:
            return found
    raise Refused(f'none of the ports {port} to {port + PORTS - 1} is free: name another one with --port')


def address(listening: socket.socket) -> str:
    """Where a browser finds the page."""
    host, port = listening.getsockname()[:2]
    return f'http://{f"[{host}]" if ":" in host else host}:{port}'


def secret(folder: Path) -> str:
    """What signs the browser's sessions: random, kept in a file for its owner alone.

    Raises:
        OSError
    """
    path = folder / 'secret'
    with contextlib.suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, 'w') as file:
            file.write(secrets.token_urlsafe(32))
    return path.read_text()


def run(
    listening: socket.socket,
    open_conductor: Callable[[], Awaitable[Conductor]],
    *,
    folder: Path,
    show: bool,
    places: Places | None = None,
) -> None:
    """Serve until a signal comes; then let go of the runs, which the next server goes on with.

    Raises:
        EngineError: the conductor could not be opened; nothing has been served.
    """
    os.environ['NICEGUI_STORAGE_PATH'] = str(folder / 'browser')  # read when NiceGUI is imported
    signal.signal(signal.SIGTERM, _leave)
    from nicegui import app, core, ui
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    from ui.app import build

    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(HERE))
    core.sio.eio.cors_allowed_origins = None  # the page's own origin only; NiceGUI takes any
    opening = Opening(open_conductor)
    build(opening, places)
    # NiceGUI does not wait for what it calls at its start: the first page would find no conductor.
    app.router.lifespan_context = opening.before(app.router.lifespan_context)
    host, port = listening.getsockname()[:2]
    with contextlib.suppress(KeyboardInterrupt):
        ui.run(
            host=host,
            port=port,
            fd=listening.fileno(),
            title='Hemicycle',
            dark=None,
            language='en-US',
            tailwind=False,
            reload=False,
            show=show,
            storage_secret=secret(folder),
            show_welcome_message=False,
            log_config=None,
            reconnect_timeout=PATIENCE,
            message_history_length=HISTORY,
            timeout_graceful_shutdown=3,
        )
    if opening.failure:
        raise opening.failure


def _leave(number: int, frame: object) -> NoReturn:
    raise SystemExit(0)
