"""Reloads the pages of people who were logged out, so that they see the login page."""

from __future__ import annotations

import asyncio

from nicegui import Client, app

from engine import EngineError
from engine.errors import SignedOut
from ui.app.access.caller import IDENTITY, Identity
from ui.app.backend import Backend

CHECK_SECONDS = 3.0
RELOAD = 'location.reload()'


def watch_sockets(backend: Backend) -> None:
    """Reload a page if its socket is not opened by the person who loaded it."""

    def check(client: Client) -> None:
        page, here = identity_of(client), IDENTITY.get()
        if backend.access and (not page or not here or page.last_caller.name != here.last_caller.name):
            client.run_javascript(RELOAD)

    app.on_connect(check)


async def reload_signed_out(backend: Backend) -> None:
    """Reload the pages of sessions that have ended, forever."""
    while backend.access:
        await asyncio.sleep(CHECK_SECONDS)
        for client in list(Client.instances.values()):
            identity = identity_of(client)
            if identity is None or not client.has_socket_connection:
                continue
            try:
                await identity.check()
            except SignedOut:
                client.run_javascript(RELOAD)
            except EngineError:
                break  # the journal cannot be read now


def identity_of(client: Client) -> Identity | None:
    """Return the identity of the person who loaded a page."""
    identity: Identity | None = client.request.scope.get('state', {}).get('identity')
    return identity
