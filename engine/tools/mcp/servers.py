"""The configured MCP servers: their tools are looked up when needed and added to the others."""

from __future__ import annotations

import asyncio
import fnmatch
import importlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from engine.errors import ToolError
from engine.models.secret_filter import SecretFilter
from engine.records import RunId
from engine.records.jsonable import describe_error
from engine.tools.artifacts import ToolOutput
from engine.tools.mcp.asking import AskingCall
from engine.tools.mcp.config import McpServer, ServerHealth
from engine.tools.mcp.listing import DIGEST, find_problems, list_tools, sanitize
from engine.tools.mcp.remote_tool import RemoteTool, make_remote_tool, output_of
from engine.tools.mcp.session import McpSession, describe, open_once
from engine.tools.mcp.token_file import TokenFile
from engine.tools.protocol import AnswerNeeded, Tool, ToolContext

if TYPE_CHECKING:
    from mcp import Client, types

log = logging.getLogger('hemicycle')
WILDCARD = 'mcp:'
"""`mcp:<server>` means all tools of a server."""
LIST_SECONDS = 60.0
"""Seconds after which a server's tools are listed again, even without a change notification."""
SIGN_IN_SECONDS = 300.0
"""Time limit for signing in."""
MAX_WILDCARD = 120
"""Maximum tools that a wildcard may give an agent: some providers accept 128 in total."""


class McpServers:
    """Maintains a connection to each server, and its tools in `tools`.

    Args:
        settings: the servers by name.
        tools: the mapping to which servers' tools are added and from which they are removed.
        missing: why configured servers cannot be used, by name.
    """

    def __init__(
        self,
        settings: Mapping[str, McpServer],
        tools: dict[str, Tool],
        missing: Mapping[str, str] | None = None,
    ) -> None:
        self._tools, self._missing = tools, dict(missing or {})
        self._known = {name: _ServerState(server) for name, server in settings.items()}
        self._loop: Any = None
        self._ending: set[asyncio.Task[None]] = set()

    def configure(self, settings: Mapping[str, McpServer], missing: Mapping[str, str]) -> None:
        """Apply a new configuration; unchanged servers stay connected."""
        previous, self._known = self._known, {}
        self._missing = dict(missing)
        for name, server in settings.items():
            same = name in previous and previous[name].server == server
            self._known[name] = previous.pop(name) if same else _ServerState(server)
        for name, removed in previous.items():
            for tool in self._tools_of(name):
                del self._tools[tool.name]
            self._end_in_background(
                removed, list(removed.waiting_calls), [removed.session, *removed.run_sessions.values()]
            )

    def has(self, name: str) -> bool:
        """Return whether a name could be a server's tool or wildcard; does no I/O."""
        return bool(self._servers(name))

    async def find(self, names: Iterable[str]) -> dict[str, Tool]:
        """Return the available tools with these names, in order; wildcards are expanded.

        Raises:
            ToolError: a named server is unreachable, or has more tools than any model accepts; or a named
                tool cannot be used.
        """
        requested = list(names)
        servers = {server for name in requested for server in self._servers(name)}
        await asyncio.gather(*(self.refresh(server) for server in sorted(servers)))
        tools: dict[str, Tool] = {}
        for name in requested:
            if name.startswith(WILDCARD):
                server, _, origin = name.removeprefix(WILDCARD).partition('/')
                mine = self._tools_of(server)
                if not origin and len(mine) > MAX_WILDCARD:
                    raise ToolError(
                        f'MCP server {server}: {len(mine)} tools are too many for an agent; name those it'
                        f' needs, or choose in the configuration with `tools`'
                    )
                tools |= {tool.name: tool for tool in mine if origin in ('', tool.origin)}
                unusable = self._known[server].unusable if origin and server in self._known else {}
            else:
                tools |= {name: self._tools[name]} if name in self._tools else {}
                origin, unusable = name, self._unusable(servers)
            if origin in unusable:
                raise ToolError(f'{name} cannot be used: {unusable[origin]}')
        return tools

    async def refresh(self, name: str, *, now: bool = False) -> None:
        """Update a server's tools if they may have changed. Raises `ToolError`."""
        loop = asyncio.get_running_loop()
        if self._loop is not loop:  # Connections of another event loop can be neither used nor closed.
            self._loop = loop
            for server_state in self._known.values():
                server_state.renew()
        if name in self._missing:
            raise ToolError(f'MCP server {name}: {self._missing[name]}')
        server_state = self._known[name]
        async with server_state.lock:
            if (
                now
                or server_state.stale
                or loop.time() - server_state.listed > LIST_SECONDS
                or not server_state.session.connected
            ):
                server_state.stale = False
                try:
                    async with asyncio.timeout(server_state.server.start):
                        listed, problems = await server_state.session.use(list_tools, repeatable=True)
                    invalid = await asyncio.to_thread(find_problems, listed)
                    known, server_state.problems = server_state.unusable, problems | invalid
                    self._register_tools(server_state, [tool for tool in listed if tool.name not in invalid])
                    for tool, problem in server_state.unusable.items() - known.items():
                        log.warning('MCP server %s: %r cannot be used: %s', name, tool, problem)
                except TimeoutError:
                    if not server_state.session.calls:  # Calls in progress may still be answered.
                        await server_state.session.close()
                    seconds = f'{server_state.server.start:g} seconds'
                    raise server_state.session.connection_error(
                        f'it did not list its tools within {seconds}'
                    ) from None
                server_state.listed = loop.time()

    async def test(self, name: str) -> ServerHealth:
        """Check a server's health."""
        if name not in self._known:
            problem = self._missing.get(name, 'there is no such MCP server')
            return ServerHealth(server=name, where='', problem=problem)
        problem = ''
        try:
            await self.refresh(name, now=True)
        except ToolError as error:
            problem = describe_error(error)
        return self._health(name, problem)

    async def sign_in(self, name: str, show: Callable[[str], Awaitable[None]]) -> ServerHealth:
        """Sign in to a server in a browser, and test it.

        Args:
            name: a server with `oauth`.
            show: called with the URL to open.
        """
        server_state = self._known.get(name)
        if server_state is None or server_state.tokens is None:
            problem = self._missing.get(name, 'signing in to it is off: set `oauth = true`')
            return ServerHealth(server=name, where='', problem=problem)
        await asyncio.to_thread(importlib.import_module, 'mcp')
        from engine.tools.mcp import oauth

        await server_state.session.close()
        auth: oauth.StoredSignIn | None = None
        try:
            async with (
                asyncio.timeout(SIGN_IN_SECONDS),
                oauth.browser_sign_in(server_state.server, server_state.tokens, show) as auth,
            ):
                await open_once(server_state.server, auth)
        except TimeoutError:
            return self._health(name, f'nobody signed in within {SIGN_IN_SECONDS:g} seconds')
        except Exception as error:  # An error of the package or the server, or a refusal.
            if auth and auth.asking:
                problem = (
                    f'{auth.asking} did not answer within {oauth.EXCHANGE_SECONDS:g} seconds, or broke off'
                )
                return self._health(name, problem)
            problem = server_state.server.hide(describe(error))
            return self._health(name, auth.hide(problem) if auth else problem)
        return await self.test(name)

    @property
    def secret_filters(self) -> list[SecretFilter]:
        """Filters that remove the secrets of all servers from text, tokens included."""
        states = self._known.values()
        signed_in = [server.tokens.secret_filter for server in states if server.tokens]
        return [*(server.server.secret_filter for server in states), *signed_in]

    async def health(self) -> list[ServerHealth]:
        """Test all servers at once; return their tools or problems."""
        return list(await asyncio.gather(*map(self.test, self.names)))

    @property
    def names(self) -> tuple[str, ...]:
        """All configured names, including servers that cannot be used."""
        return (*self._known, *self._missing)

    def last_health(self) -> list[ServerHealth]:
        """The health of all servers when last used; does no I/O."""
        return [
            ServerHealth(server=name, where='', problem=self._missing[name])
            if name in self._missing
            else self._health(name, '')
            for name in self.names
        ]

    def forget(self, run: RunId) -> None:
        """Drop a run's leftovers: calls that wait for a person, and its own connections."""
        for server_state in self._known.values():
            left = [key for key in server_state.waiting_calls if key.startswith(f'{run}:')]
            own = server_state.run_sessions.pop(run, None)
            if left or own:
                self._end_in_background(server_state, left, [own] if own else [])

    def _end_in_background(
        self, server_state: _ServerState, calls: list[str], sessions: list[McpSession]
    ) -> None:
        if self._loop is not None:
            self._ending.add(ending := self._loop.create_task(server_state.end(calls, sessions)))
            ending.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """Close all connections, and stop the programs started for them."""
        if self._loop is asyncio.get_running_loop():
            await asyncio.gather(
                *(
                    server_state.end(
                        list(server_state.waiting_calls),
                        [server_state.session, *server_state.run_sessions.values()],
                    )
                    for server_state in self._known.values()
                ),
                *self._ending,
            )

    def _health(self, name: str, problem: str) -> ServerHealth:
        server_state = self._known[name]
        return ServerHealth(
            server=name,
            where=server_state.server.where,
            tools=tuple(tool.name for tool in self._tools_of(name)),
            unusable=tuple(f'{tool}: {why}' for tool, why in server_state.unusable.items()),
            problem=problem,
            connected=server_state.session.connected,
            oauth=server_state.tokens is not None,
        )

    def _servers(self, name: str) -> set[str]:
        """Return the servers to which a name could belong; before tools are listed, only it is known."""
        if name.startswith(WILDCARD):
            return {name.removeprefix(WILDCARD).partition('/')[0]} & set(self.names)
        tool = self._tools.get(name)
        if tool is not None:
            return {tool.category} if isinstance(tool, RemoteTool) else set()
        matches = {server for server in self.names if name.startswith(f'{server}_')}
        return matches if DIGEST.search(name) else set(sorted(matches, key=len)[-1:])

    def _unusable(self, servers: Iterable[str]) -> dict[str, str]:
        """Why tools of these servers cannot be used, by the names that they would have."""
        return {
            sanitize(server, tool, self._builtin, self.names): problem
            for server in servers
            if server in self._known
            for tool, problem in self._known[server].unusable.items()
        }

    @property
    def _builtin(self) -> set[str]:
        return {name for name, tool in self._tools.items() if not isinstance(tool, RemoteTool)}

    def _tools_of(self, server: str) -> list[RemoteTool]:
        tools = (tool for tool in self._tools.values() if isinstance(tool, RemoteTool))
        return [tool for tool in tools if tool.category == server]

    def _register_tools(self, server_state: _ServerState, listed: list[types.Tool]) -> None:
        server = server_state.server
        for outdated in self._tools_of(server.name):
            del self._tools[outdated.name]
        builtin = self._builtin
        for tool in filter(lambda tool: server_state.offers(tool.name), listed):
            name = sanitize(server.name, tool.name, builtin, self.names)
            if name in self._tools:
                server_state.problems[tool.name] = f'there is already a tool {name}'
                continue
            self._tools[name] = make_remote_tool(server, name, tool, partial(self._call, server_state, tool))

    async def _call(
        self, server_state: _ServerState, tool: types.Tool, context: ToolContext, arguments: dict[str, Any]
    ) -> ToolOutput:
        reads = bool(tool.annotations and tool.annotations.read_only_hint)
        key: Any = {'hemicycle/idempotency-key': context.key}

        async def call(client: Client) -> types.CallToolResult:
            from engine.tools.mcp.tasks import becomes_task, call_as_task

            if becomes_task(client, tool):
                seconds = server_state.server.task_seconds
                return await call_as_task(client.session, tool.name, arguments, key, seconds)
            return await client.call_tool(tool.name, arguments, meta=key)

        asking_call = server_state.waiting_calls.pop(context.key, None)
        if asking_call is None:
            run, _, name = context.key.partition(':')
            session = server_state.session_of(run)
            asking_call = AskingCall(session, name, run)
            asking_call.start(partial(session.use, call, repeatable=reads))
        try:
            async with asyncio.timeout(server_state.server.seconds) as limit:
                result = await asking_call.result(context.questions, limit)
            output = await output_of(result, context)
            return replace(output, text=server_state.session.hide(output.text))
        except AnswerNeeded:
            server_state.waiting_calls[context.key] = asking_call
            raise
        except TimeoutError:
            problem = f'{tool.name} was stopped: it took longer than {server_state.server.seconds:g} seconds'
            raise ToolError(problem) from None
        except ToolError as error:
            raise type(error)(server_state.session.hide(str(error))) from None


class _ServerState:
    """A server, its connection, and when its tools were last listed."""

    def __init__(self, server: McpServer) -> None:
        self.server = server
        self.tokens = TokenFile(server.oauth.file) if server.oauth else None
        self.renew()

    def renew(self) -> None:
        self.session = McpSession(self.server, self._notify, self.tokens)
        self.lock = asyncio.Lock()
        self.listed, self.stale = 0.0, True
        self.problems: dict[str, str] = {}
        """Why listed tools cannot be used, by their own names."""
        self.waiting_calls: dict[str, AskingCall] = {}
        """Calls that are waiting for a person, by key."""
        self.run_sessions: dict[str, McpSession] = {}
        """Connections for single runs, for servers whose questions do not name the call."""

    def offers(self, tool: str) -> bool:
        """Return whether the configuration offers a tool to agents."""
        return any(fnmatch.fnmatchcase(tool, pattern) for pattern in self.server.tools)

    @property
    def unusable(self) -> dict[str, str]:
        """Why tools that the configuration offers cannot be used, by their own names."""
        hide = self.session.hide
        return {tool: hide(problem) for tool, problem in self.problems.items() if self.offers(tool)}

    def session_of(self, run: str) -> McpSession:
        """Return the connection for a run's calls."""
        if not self.session.has_ambiguous_questions:
            return self.session
        if run not in self.run_sessions:
            self.run_sessions[run] = McpSession(self.server, lambda: None, self.tokens)
        return self.run_sessions[run]

    async def end(self, calls: list[str], sessions: list[McpSession]) -> None:
        """Abandon waiting calls, and close connections."""
        await asyncio.gather(*(self.waiting_calls.pop(key).end() for key in calls))
        await asyncio.gather(*(session.close() for session in sessions))

    def _notify(self) -> None:
        self.stale = True
