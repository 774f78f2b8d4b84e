"""Settings of the fleet: the address of Temporal, the shared token, and timeouts."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import httpx

from engine import InvalidInput
from engine.runtime import ACTOR
from ui.api.client import Connection
from ui.app.settings import secret_in_file

TOKEN = 'HEMICYCLE_FLEET_TOKEN'
ACTOR_HEADER = 'X-Hemicycle-Actor'
"""The header that names the acting account."""
TIMEOUT = httpx.Timeout(10.0, connect=2.0)
"""Timeout of a request to a worker."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSettings:
    """Settings that all processes of a fleet share."""

    temporal: str
    """HOST:PORT"""
    namespace: str
    token: str
    """The token with which web servers authenticate to workers."""

    @classmethod
    def of(cls, temporal: str, namespace: str, home: Path) -> FleetSettings:
        """Create settings from options; the token comes from the environment, or from a file created once.

        Raises:
            InvalidInput: the address is invalid.
        """
        host, colon, port = temporal.strip().rpartition(':')
        if not (colon and host and port.isascii() and port.isdecimal()):
            raise InvalidInput({'--temporal': f'must be HOST:PORT, such as 127.0.0.1:7233, not {temporal!r}'})
        token = os.environ.get(TOKEN, '').strip() or secret_in_file(home / 'fleet-token')
        return cls(temporal=temporal.strip(), namespace=namespace, token=token)


async def _name_actor(request: httpx.Request) -> None:
    """Add the acting account, which the worker writes to the journal."""
    request.headers[ACTOR_HEADER] = quote(ACTOR.get(), safe='')


class Connections:
    """One connection to each worker, or server, of the fleet."""

    def __init__(self, settings: FleetSettings) -> None:
        self._headers = {'Authorization': f'Bearer {settings.token}'}
        self._connections: dict[str, Connection] = {}

    def __call__(self, url: str) -> Connection:
        """Return the connection to the worker at this URL."""
        if url not in self._connections:
            connection = Connection(url, patience=0.0, headers=self._headers, timeout=TIMEOUT)
            connection.http.event_hooks = {'request': [_name_actor]}
            self._connections[url] = connection
        return self._connections[url]

    async def close(self) -> None:
        """Close the connections to all workers."""
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()
