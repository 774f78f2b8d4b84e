"""The server that a command uses: the one it names, or the one that serves its database."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from engine import Catalog
from engine.errors import UnknownPattern
from engine.records import RunInfo, Shape
from ui.cli.session import Session
from ui.formatting.fields.parameters import PatternInfo, PatternList, describe_pattern, describe_patterns

if TYPE_CHECKING:
    from ui.api.client import HttpConductor

RETRY_SECONDS = 10.0
"""Seconds for which requests are retried while a server does not answer."""


def server_at_work(session: Session) -> str:
    """Return the address of the server that does the work: the named one, or the database's own; or ''."""
    return next(iter(servers_at_work(session)), '')


def servers_at_work(session: Session) -> list[str]:
    """Return the addresses of the local servers that may do the work, or only that of the named server."""
    file = session.storage.file(session.settings)
    if session.server:
        return [session.server]
    if file and not file.exists():
        return []
    holders = session.storage.locks(session.settings).servers()
    matches = (re.match(r'https?://\S+', holder) for holder in holders)
    return [address[0] for address in matches if address]


def token_header() -> dict[str, str]:
    """Return the header that authenticates with the token in `HEMICYCLE_TOKEN`, if there is one."""
    token = os.environ.get('HEMICYCLE_TOKEN', '').strip()
    return {'Authorization': f'Bearer {token}'} if token else {}


@asynccontextmanager
async def connect(url: str, catalog: Catalog | None = None) -> AsyncIterator[HttpConductor]:
    """Connect to the conductor of a server. Raises `EngineError` if there is no server."""
    from ui.api.client import HttpConductor  # Slow to import.

    async with HttpConductor(url, catalog=catalog, patience=RETRY_SECONDS, headers=token_header()) as remote:
        yield remote


async def knows_pattern(url: str, pattern: str) -> bool:
    """Whether a server can run a pattern."""
    async with connect(url) as remote:
        try:
            await remote.pattern(pattern)
        except UnknownPattern:
            return False
        return True


async def find_pattern(session: Session, name: str, url: str = '', *, version: str = '') -> PatternInfo:
    """Describe a pattern: from the named server, or else from here, or else from the server at `url`.

    Raises:
        UnknownPattern
    """
    if not session.server and (name in session.catalog.patterns or not url):
        return describe_pattern(session.catalog.pattern(name, version))
    async with connect(session.server or url) as remote:
        return await remote.pattern(name, version)


async def find_pattern_of(session: Session, info: RunInfo) -> PatternInfo:
    """Describe the pattern of a run: its own version, or today's if that is gone. Raises `UnknownPattern`."""
    url = server_at_work(session)
    try:
        return await find_pattern(session, info.pattern, url, version=info.version)
    except UnknownPattern:
        return await find_pattern(session, info.pattern, url)


async def find_patterns(session: Session) -> PatternList:
    """List the patterns that can be run on the named server, or here."""
    if not session.server:
        return describe_patterns(session.catalog)
    async with connect(session.server) as remote:
        return await remote.patterns()


async def find_shape(session: Session, name: str, parameters: Mapping[str, Any], version: str = '') -> Shape:
    """Return a pattern's chart with these parameters, from the named server or here. Raises `EngineError`."""
    if session.server:
        async with connect(session.server) as remote:
            return await remote.draw(name, parameters, version)
    return session.catalog.draw(name, parameters, version)
