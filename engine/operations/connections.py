"""Connections: the endpoints of models, MCP servers, and coding agents that are configured."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Protocol

from pydantic import Field

from engine.models.registry import EndpointHealth, EndpointInfo
from engine.operations.table import Role, operation
from engine.tools.acp.agents import AgentHealth, ExternalAgentInfo
from engine.tools.mcp.config import ServerHealth

Name = Annotated[str, Field(max_length=200)]
Entries = Annotated[
    Mapping[str, Any],
    Field(
        description='Entries of its section in the configuration file; an empty value removes one, and those'
        ' that are left out stay.'
    ),
]

Model = Annotated[
    str,
    Field(
        max_length=200,
        description='The model to ask; by default the first that is configured, or a small one of a known'
        ' provider.',
    ),
]
Secret = Annotated[
    str,
    Field(
        description='Its key itself, which is kept in the system’s keyring or, where there is none, in a file'
        ' that only its owner can read, and shown nowhere.',
        json_schema_extra={'format': 'password', 'writeOnly': True},
    ),
]


class Endpoints(Protocol):
    """The endpoints of models. All of one endpoint raise `UnknownEndpoint`."""

    @operation(Role.VIEWER, 'GET endpoints', id='list_endpoints')
    async def list(self) -> list[EndpointInfo]:
        """List the model endpoints. Keys are never shown, only where they are kept."""

    @operation(Role.OPERATOR, 'POST endpoints/{name}/test', id='try_endpoint')
    async def test(self, name: Name, *, model: Model = '') -> EndpointHealth:
        """Test an endpoint: list its models, and ask one for a single word. The result is kept."""

    @operation(Role.OPERATOR, 'POST discovery', id='discover_endpoints')
    async def discover(self) -> None:
        """Look for model servers on the server's machine."""

    @operation(Role.ADMIN, 'GET endpoints/{name}', id='get_endpoint', logged=False)
    async def get(self, name: Name) -> Mapping[str, Any]:
        """Show the section of an endpoint in the configuration file; empty if it has none."""

    @operation(Role.ADMIN, 'PUT endpoints/{name}', id='save_endpoint')
    async def save(self, name: Name, values: Entries, *, secret: Secret = '') -> None:
        """Add or change an endpoint in the configuration file, keep its key, and use both from now on."""

    @operation(Role.ADMIN, 'DELETE endpoints/{name}', id='remove_endpoint')
    async def remove(self, name: Name) -> None:
        """Remove an endpoint from the configuration file and the key kept for it, and stop using both."""


class McpServers(Protocol):
    """The MCP servers whose tools agents use. All of one server raise `UnknownMcpServer`."""

    @operation(Role.VIEWER, 'GET mcp-servers', id='list_mcp_servers')
    async def list(self) -> list[ServerHealth]:
        """List the MCP servers whose tools agents use, with their last known state."""

    @operation(Role.OPERATOR, 'POST mcp-servers/{name}/test', id='try_mcp_server')
    async def test(self, name: Name) -> ServerHealth:
        """Connect to an MCP server and list its tools."""

    @operation(Role.ADMIN)
    async def sign_in(self, name: str, show: Callable[[str], Awaitable[None]]) -> ServerHealth:
        """Sign in to an MCP server; `show` opens a page in a browser on this machine."""

    @operation(Role.ADMIN, 'GET mcp-servers/{name}', id='get_mcp_server', logged=False)
    async def get(self, name: Name) -> Mapping[str, Any]:
        """Show the section of an MCP server in the configuration file; empty if it has none."""

    @operation(Role.ADMIN, 'PUT mcp-servers/{name}', id='save_mcp_server')
    async def save(self, name: Name, values: Entries) -> None:
        """Add or change an MCP server in the configuration file, and use it from now on."""

    @operation(Role.ADMIN, 'DELETE mcp-servers/{name}', id='remove_mcp_server')
    async def remove(self, name: Name) -> None:
        """Remove an MCP server from the configuration file, and stop using it."""


class Agents(Protocol):
    """Coding agents that can take the place of a model. All of one agent raise `UnknownAgent`."""

    @operation(Role.VIEWER, 'GET agents', id='list_agents')
    async def list(self) -> list[ExternalAgentInfo]:
        """List the coding agents that can take the place of a model.

        Keys are never shown, only their names.
        """

    @operation(Role.OPERATOR, 'POST agents/{name}/test', id='try_agent')
    async def test(self, name: Name) -> AgentHealth:
        """Start an agent in an empty folder and begin a session, without a prompt. The result is kept."""
