"""The server that a command uses: the one it names, or the one that serves its database."""

from __future__ import annotations

import functools
import inspect
import os
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, cast

from engine import Catalog, Conductor
from engine.errors import UnknownPattern
from engine.records import Shape
from ui.cli.options import Server, parameters_of, set_parameters
from ui.formatting.parameters import PatternInfo, PatternList, describe_pattern, describe_patterns
from ui.settings import Settings, Storage

if TYPE_CHECKING:
    from ui.api.client import Connection, HttpConductor

RETRY_SECONDS = 10.0
"""Seconds for which requests are retried while a server does not answer."""
SERVER_OPTION: ContextVar[str] = ContextVar('server', default='')
"""The value of `--server`."""


def with_server_option(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with an option `--server`."""

    @functools.wraps(command)
    def run(*args: Any, server: str = '', **options: Any) -> None:
        SERVER_OPTION.set(server.strip())
        command(*args, **options)

    option = inspect.Parameter('server', inspect.Parameter.KEYWORD_ONLY, default='', annotation=Server)
    set_parameters(run, [*parameters_of(command).values(), option])
    return run


def named_server() -> str:
    """Return the address that `--server` names, or ''."""
    return SERVER_OPTION.get()


def server_at_work(storage: Storage, settings: Settings) -> str:
    """Return the address of the server that does the work: the named one, or the database's own; or ''."""
    return next(iter(servers_at_work(storage, settings)), '')


def servers_at_work(storage: Storage, settings: Settings) -> list[str]:
    """Return the addresses of the local servers that may do the work, or only that of the named server."""
    file = storage.file(settings)
    if SERVER_OPTION.get():
        return [SERVER_OPTION.get()]
    if file and not file.exists():
        return []
    matches = (re.match(r'https?://\S+', holder) for holder in storage.locks(settings).servers())
    return [address[0] for address in matches if address]


def token_header() -> dict[str, str]:
    """Return the header that authenticates with the token in `HEMICYCLE_TOKEN`, if there is one."""
    token = os.environ.get('HEMICYCLE_TOKEN', '').strip()
    return {'Authorization': f'Bearer {token}'} if token else {}


@asynccontextmanager
async def connect(url: str, catalog: Catalog | None = None) -> AsyncIterator[Conductor]:
    """Connect to the conductor of a server. Raises `EngineError` if there is no server."""
    from ui.api.client import HttpConductor  # Slow to import.

    async with HttpConductor(url, catalog=catalog, patience=RETRY_SECONDS, headers=token_header()) as remote:
        yield cast(Conductor, remote)


@asynccontextmanager
async def connect_to_named() -> AsyncIterator[Connection | None]:
    """Connect to the server that `--server` names; None if it names none."""
    if not SERVER_OPTION.get():
        yield None
        return
    from ui.api.client import Connection

    ask = Connection(SERVER_OPTION.get(), patience=RETRY_SECONDS, headers=token_header())
    try:
        yield ask
    finally:
        await ask.close()


async def knows_pattern(url: str, pattern: str) -> bool:
    """Whether a server can run a pattern."""
    from ui.api.client import HttpConductor

    async with HttpConductor(url, patience=RETRY_SECONDS, headers=token_header()) as remote:
        try:
            await remote.pattern(pattern)
        except UnknownPattern:
            return False
        return True


async def find_pattern(catalog: Catalog, name: str, url: str = '') -> PatternInfo:
    """Describe a pattern: from the named server, or else from here, or else from the server at `url`.

    Raises:
        UnknownPattern
    """
    if not SERVER_OPTION.get() and (name in catalog.patterns or not url):
        return describe_pattern(catalog.pattern(name))
    async with connect(SERVER_OPTION.get() or url) as remote:
        return await cast('HttpConductor', remote).pattern(name)


async def find_patterns(catalog: Catalog) -> PatternList:
    """List the patterns that can be run on the named server, or here."""
    if not SERVER_OPTION.get():
        return describe_patterns(catalog)
    async with connect(SERVER_OPTION.get()) as remote:
        return await cast('HttpConductor', remote).patterns()


async def find_shape(catalog: Catalog, name: str, parameters: Mapping[str, Any]) -> Shape:
    """Return a pattern's chart with these parameters, from the named server or here. Raises `EngineError`."""
    if SERVER_OPTION.get():
        async with connect(SERVER_OPTION.get()) as remote:
            return await cast('HttpConductor', remote).draw(name, parameters)
    async with Conductor(catalog=catalog) as conductor:
        return conductor.draw(name, parameters)
