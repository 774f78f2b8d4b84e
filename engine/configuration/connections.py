"""The connections of a catalog: its endpoints, MCP servers and agents, tested, changed and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from typing_extensions import override

from engine.configuration.catalog import Catalog
from engine.configuration.editing import Kind, read_section, remove_section, write_section
from engine.configuration.last_tests import LastTests
from engine.configuration.secrets import checked_key, forget_key, keep_key
from engine.errors import UnknownAgent, UnknownEndpoint, UnknownMcpServer
from engine.host.clock import Clock
from engine.host.home import home_folder
from engine.models.registry import EndpointHealth, EndpointInfo
from engine.tools.acp.agents import AgentHealth, ExternalAgentInfo
from engine.tools.mcp.config import ServerHealth
from engine.workspace.sandbox.sandbox import Sandbox


class _Sections:
    """The sections of one kind in the configuration file."""

    def __init__(self, catalog: Catalog, kind: Kind) -> None:
        self._catalog, self._kind = catalog, kind

    async def get(self, name: str) -> Mapping[str, Any]:
        """Return a section; empty if there is none. Raises `EngineError`."""
        return await asyncio.to_thread(read_section, self._catalog.configured, self._kind, name)

    async def save(self, name: str, values: Mapping[str, Any]) -> None:
        """Add or change a section, and use it from now on.

        Raises:
            EngineError: the file cannot be written, or would become invalid; nothing was changed.
        """
        await asyncio.to_thread(write_section, self._catalog.configured, self._kind, name, values)
        self._catalog.reconfigure()

    async def remove(self, name: str) -> None:
        """Remove a section, and stop using it. Raises `EngineError`."""
        await asyncio.to_thread(remove_section, self._catalog.configured, self._kind, name)
        self._catalog.reconfigure()


class CatalogEndpoints(_Sections):
    """The endpoints of a catalog.

    Args:
        catalog: has them.
        clock: says when a test was made.
    """

    def __init__(self, catalog: Catalog, clock: Clock) -> None:
        super().__init__(catalog, 'endpoints')
        self._tests, self._clock = LastTests(_folder(catalog), 'endpoint', EndpointHealth), clock

    async def list(self) -> list[EndpointInfo]:
        """Return all endpoints, including those found in the environment and on this machine."""
        tests = await self._tests.all()
        return [
            replace(info, tested=tested) if tested and tested.url == info.url else info
            for info in self._catalog.registry.endpoint_infos()
            for tested in [tests.get(info.endpoint)]
        ]

    @override
    async def save(self, name: str, values: Mapping[str, Any], *, secret: str = '') -> None:
        """Add or change a section, keep its key if one is given, and use both from now on.

        Raises:
            InvalidInput: the key cannot be one.
            EngineError: something cannot be written, or the file would become invalid; nothing was changed.
        """
        await asyncio.to_thread(self._save, name, values, checked_key(secret) if secret else '')
        await self._use(name)

    @override
    async def remove(self, name: str) -> None:
        """Remove a section and the key kept for it, and stop using both. Raises `EngineError`."""
        reference = (await self.get(name)).get('key', '')
        await asyncio.to_thread(remove_section, self._catalog.configured, self._kind, name)
        await asyncio.to_thread(forget_key, name, reference)
        await self._use(name)

    async def test(self, name: str, *, model: str = '') -> EndpointHealth:
        """Ask an endpoint for its models; see `ModelRegistry.test`. Raises `UnknownEndpoint`."""
        if name not in {info.endpoint for info in self._catalog.registry.endpoint_infos()}:
            raise UnknownEndpoint(name)
        health = replace(await self._catalog.registry.test(name, model), at=self._clock.now())
        if health.url:
            await self._tests.keep(name, health)
        return health

    async def discover(self) -> None:
        """Look for model servers on this machine."""
        await self._catalog.registry.discover()

    def _save(self, name: str, values: Mapping[str, Any], secret: str) -> None:
        path = self._catalog.configured
        before = str(read_section(path, self._kind, name).get('key', ''))
        if not secret:
            write_section(path, self._kind, name, values)
            if values.get('key', before) != before:
                forget_key(name, before)
            return
        # Checks the section before the key is kept: of a section that is refused, no key stays behind.
        write_section(path, self._kind, name, {**values, 'key': f'file:{name}'}, check_only=True)
        reference = keep_key(name, secret)
        write_section(path, self._kind, name, {**values, 'key': reference})
        if reference != before:
            forget_key(name, before)

    async def _use(self, name: str) -> None:
        self._catalog.reconfigure()
        await self._tests.keep(name, None)


class CatalogServers(_Sections):
    """The MCP servers of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog, 'mcp')

    async def list(self) -> list[ServerHealth]:
        """Return all servers as last used, without contacting them."""
        return self._catalog.mcp.last_health()

    async def test(self, name: str) -> ServerHealth:
        """Connect to a server and list its tools. Raises `UnknownMcpServer`."""
        return await self._catalog.mcp.test(self._known(name))

    async def sign_in(self, name: str, show: Callable[[str], Awaitable[None]]) -> ServerHealth:
        """Sign in to a server; see `McpServers.sign_in`. Raises `UnknownMcpServer`."""
        return await self._catalog.mcp.sign_in(self._known(name), show)

    def _known(self, name: str) -> str:
        if name not in self._catalog.mcp.names:
            raise UnknownMcpServer(name)
        return name


class CatalogAgents:
    """The coding agents of a catalog.

    Args:
        catalog: has them.
        sandbox: where they are tested.
        clock: says when a test was made.
    """

    def __init__(self, catalog: Catalog, sandbox: Sandbox, clock: Clock) -> None:
        self._catalog, self._sandbox = catalog, sandbox
        self._tests, self._clock = LastTests(_folder(catalog), 'agent', AgentHealth), clock

    async def list(self) -> list[ExternalAgentInfo]:
        """Return all agents."""
        tests = await self._tests.all()
        return [replace(info, tested=tests.get(info.name)) for info in self._catalog.agents.infos()]

    async def test(self, name: str) -> AgentHealth:
        """Begin a session with an agent in an empty folder, without a prompt. Raises `UnknownAgent`."""
        if name not in {info.name for info in self._catalog.agents.infos()}:
            raise UnknownAgent(name)
        health = replace(await self._catalog.agents.test(name, self._sandbox), at=self._clock.now())
        await self._tests.keep(name, health)
        return health


def _folder(catalog: Catalog) -> Path | None:
    """Return where results are kept, if the catalog is that of an installation."""
    return home_folder() if catalog.file else None
