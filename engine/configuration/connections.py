"""The connections of a catalog: its endpoints, MCP servers and agents, tested, changed and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from engine.acp.agents import AgentHealth, ExternalAgentInfo
from engine.configuration.catalog import Catalog
from engine.configuration.editing import Kind, read_section, remove_section, write_section
from engine.errors import UnknownAgent, UnknownEndpoint, UnknownMcpServer
from engine.models.registry import EndpointHealth, EndpointInfo
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
    """The endpoints of a catalog."""

    def __init__(self, catalog: Catalog) -> None:
        super().__init__(catalog, 'endpoints')

    async def list(self) -> list[EndpointInfo]:
        """Return all endpoints, including those found in the environment and on this machine."""
        return self._catalog.registry.endpoint_infos()

    async def test(self, name: str) -> EndpointHealth:
        """Ask an endpoint for its models; see `ModelRegistry.test`. Raises `UnknownEndpoint`."""
        if name not in {info.endpoint for info in self._catalog.registry.endpoint_infos()}:
            raise UnknownEndpoint(name)
        return await self._catalog.registry.test(name)

    async def discover(self) -> None:
        """Look for model servers on this machine."""
        await self._catalog.registry.discover()


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
    """The coding agents of a catalog."""

    def __init__(self, catalog: Catalog, sandbox: Sandbox) -> None:
        self._catalog, self._sandbox = catalog, sandbox

    async def list(self) -> list[ExternalAgentInfo]:
        """Return all agents."""
        return self._catalog.agents.infos()

    async def test(self, name: str) -> AgentHealth:
        """Begin a session with an agent in an empty folder, without a prompt. Raises `UnknownAgent`."""
        if name not in {info.name for info in self._catalog.agents.infos()}:
            raise UnknownAgent(name)
        return await self._catalog.agents.test(name, self._sandbox)
