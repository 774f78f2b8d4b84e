"""The MCP servers that are configured: their tools among all others, found when they are needed."""

from __future__ import annotations

import asyncio
import fnmatch
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.errors import ToolError
from engine.mcp.names import WILDCARD, named
from engine.mcp.remote import RemoteTool, remote, text_of
from engine.mcp.server import Server, ServerHealth
from engine.mcp.session import Session
from engine.plain import said
from engine.tool import Tool, ToolContext

if TYPE_CHECKING:
    from mcp import Client, types

FRESH = 60.0
"""Seconds after which a server is asked for its tools anew, though it has not said that they changed."""
MOST_PAGES = 50
MOST_TOOLS = 1_000
MOST_AT_ONCE = 120
"""Tools of one server that an agent may be given by a wildcard: some providers take 128 in all."""


class Servers:
    """Keeps a connection to each server, and its tools in `tools`.

    Args:
        settings: by name.
        tools: all there are; those of servers are put among them, and taken out again.
        missing: why a server that is configured cannot be used.
    """

    def __init__(
        self,
        settings: Mapping[str, Server],
        tools: dict[str, Tool],
        missing: Mapping[str, str] | None = None,
    ) -> None:
        self._tools, self._missing = tools, dict(missing or {})
        self._known = {name: _Known(server) for name, server in settings.items()}
        self._loop: Any = None

    def has(self, name: str) -> bool:
        """Whether a name may be that of a server's tool, or of all of them; asks nobody."""
        return self._server(name) is not None

    async def find(self, names: Iterable[str]) -> dict[str, Tool]:
        """The tools of these names that are there, in their order; of wildcards, all that they stand for.

        Raises:
            ToolError: a server that is named cannot be reached; or has more tools than any model takes.
        """
        wanted = list(names)
        servers = {server for name in wanted if (server := self._server(name))}
        await asyncio.gather(*(self.refresh(server) for server in sorted(servers)))
        found: dict[str, Tool] = {}
        for name in wanted:
            if name.startswith(WILDCARD):
                server, _, origin = name.removeprefix(WILDCARD).partition('/')
                mine = self._of(server)
                if not origin and len(mine) > MOST_AT_ONCE:
                    raise ToolError(
                        f'MCP server {server}: {len(mine)} tools are too many for an agent; name those it'
                        f' needs, or choose in the configuration with `tools`'
                    )
                found |= {tool.name: tool for tool in mine if origin in ('', tool.origin)}
            elif name in self._tools:
                found[name] = self._tools[name]
        return found

    async def refresh(self, name: str, *, now: bool = False) -> None:
        """See which tools a server has, where that may have changed. Raises `ToolError`."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # Connections of another loop cannot be used, nor closed.
            self._loop = loop
            for known in self._known.values():
                known.renew()
        if name in self._missing:
            raise ToolError(f'MCP server {name}: {self._missing[name]}')
        known = self._known[name]
        async with known.lock:
            if now or known.stale or loop.time() - known.listed > FRESH or not known.session.connected:
                known.stale = False
                try:
                    async with asyncio.timeout(known.server.start):
                        self._take(known, await known.session.use(_list, again=True))
                except TimeoutError:
                    await known.session.close()
                    seconds = f'{known.server.start:g} seconds'
                    raise known.session.lost(f'it has not said within {seconds} what tools it has') from None
                known.listed = loop.time()

    async def test(self, name: str) -> ServerHealth:
        """See how a server is, and say what is wrong with it."""
        if name not in self._known:
            problem = self._missing.get(name, 'there is no such MCP server')
            return ServerHealth(server=name, where='', problem=problem)
        problem = ''
        try:
            await self.refresh(name, now=True)
        except ToolError as error:
            problem = said(error)
        return self._health(name, problem)

    async def health(self) -> list[ServerHealth]:
        """How all of them are."""
        return list(await asyncio.gather(*map(self.test, self.names)))

    @property
    def names(self) -> tuple[str, ...]:
        """Of all that are configured, those that cannot be used among them."""
        return (*self._known, *self._missing)

    def known(self) -> list[ServerHealth]:
        """How they were when they were last used; asks nobody."""
        return [
            ServerHealth(server=name, where='', problem=self._missing[name])
            if name in self._missing
            else self._health(name, '')
            for name in self.names
        ]

    async def close(self) -> None:
        """End all connections, and the programs that were started for them."""
        if self._loop is asyncio.get_running_loop():
            await asyncio.gather(*(known.session.close() for known in self._known.values()))

    def _health(self, name: str, problem: str) -> ServerHealth:
        known = self._known[name]
        return ServerHealth(
            server=name,
            where=known.server.where,
            tools=tuple(tool.name for tool in self._of(name)),
            problem=problem,
            connected=known.session.connected,
        )

    def _server(self, name: str) -> str | None:
        if name.startswith(WILDCARD):
            server = name.removeprefix(WILDCARD).partition('/')[0]
            return server if server in self._known or server in self._missing else None
        tool = self._tools.get(name)
        if tool is not None:
            return tool.category if isinstance(tool, RemoteTool) else None
        found = [server for server in self.names if name.startswith(f'{server}_')]
        return max(found, key=len, default=None)

    def _of(self, server: str) -> list[RemoteTool]:
        tools = (tool for tool in self._tools.values() if isinstance(tool, RemoteTool))
        return [tool for tool in tools if tool.category == server]

    def _take(self, known: _Known, listed: list[types.Tool]) -> None:
        server = known.server
        for gone in self._of(server.name):
            del self._tools[gone.name]
        for tool in listed:
            if any(fnmatch.fnmatchcase(tool.name, pattern) for pattern in server.tools):
                name = named(server.name, tool.name, self._tools)
                self._tools[name] = remote(server, name, tool, partial(self._call, known, tool))

    async def _call(
        self, known: _Known, tool: types.Tool, context: ToolContext, arguments: dict[str, Any]
    ) -> str:
        reads = bool(tool.annotations and tool.annotations.read_only_hint)
        key: Any = {'hemicycle/idempotency-key': context.key}

        async def call(client: Client) -> types.CallToolResult:
            return await client.call_tool(tool.name, arguments, meta=key)

        result = await known.session.use(call, again=reads)
        try:
            return known.server.hide(await text_of(result, context))
        except ToolError as error:
            raise ToolError(known.server.hide(str(error))) from None


class _Known:
    """A server, its connection, and when it was last asked for its tools."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.renew()

    def renew(self) -> None:
        self.session = Session(self.server, self._changed)
        self.lock = asyncio.Lock()
        self.listed, self.stale = 0.0, True

    def _changed(self) -> None:
        self.stale = True


async def _list(client: Client) -> list[types.Tool]:
    found: list[types.Tool] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        found += page.tools
        cursor = page.next_cursor
        if not cursor or len(found) >= MOST_TOOLS:
            break
    return found[:MOST_TOOLS]
