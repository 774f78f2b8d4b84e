"""MCP servers on the settings page: the configuration, a test, and the tools of each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from nicegui import ui
from typing_extensions import override

from engine.tools import ServerHealth
from ui.app.backend import Backend
from ui.formatting.values import count, describe_tools
from ui.web.components.theme import button, empty_state, section_head
from ui.web.components.widgets import Box, text_link
from ui.web.pages.settings.card import CheckResult, TestCard
from ui.web.pages.settings.connect_server import ConnectServerDialog


class McpServers:
    """All MCP servers, as cards."""

    def __init__(self, backend: Backend, on_change: Callable[[], Any]) -> None:
        """Draw them; no server is contacted yet. `on_change` is called when the configuration has changed."""
        self._backend = backend

        def redraw() -> None:
            self._draw()
            on_change()

        self._connect = ConnectServerDialog(backend, redraw)
        with section_head('MCP servers', 'mcp'):
            connect = button('Connect an MCP server', icon='add', kind='small', requires='mcp_servers.save')
            connect.on('click', self._connect.open)
        self._place = Box('ghost')
        self._draw()

    def _draw(self) -> None:
        self._place.clear()
        last_health = self._backend().catalog.mcp.last_health()
        with self._place:
            if not last_health:
                empty_state('extension_off', 'No MCP server is connected; agents have the built-in tools.')
                return
            with Box('endpoints even', 'ul'):
                for health in last_health:
                    ServerCard(self._backend, health).add_button('Edit', self._connect.open)


class ServerCard(TestCard[ServerHealth]):
    """One server; its test starts or contacts it, and lists its tools."""

    def __init__(self, backend: Backend, health: ServerHealth) -> None:
        self._backend = backend
        kind = 'Address' if '://' in health.where else 'Program'
        super().__init__(health.server, {kind: health.where or 'unknown'}, health.problem)
        self._show(health)
        with self.head:
            self._link = Box('ghost', 'span')
            if health.oauth:
                button('Sign in', icon='login', kind='small', requires='mcp_servers.sign_in').on(
                    'click', self._sign_in
                )

    async def _sign_in(self) -> None:
        """Sign in through another browser window; the browser must run on the server's machine."""
        await self.test_with(
            self._backend().mcp_servers.sign_in(self.name, self._open), 'Sign in in the window that opens.'
        )
        self._link.clear()

    async def _open(self, url: str) -> None:
        """Open the sign-in page, and show a link in case the browser blocks the window."""
        self._link.clear()
        with self._link:
            text_link(url, 'Open the sign-in page', 'small', target='_blank', rel='noopener noreferrer')
            ui.navigate.to(url, new_tab=True)

    async def run_test(self) -> ServerHealth:
        """List its tools."""
        return await self._backend().mcp_servers.test(self.name)

    @override
    def evaluate(self, health: ServerHealth) -> CheckResult:
        if health.problem:
            return CheckResult(ok=False, detail=health.problem.removeprefix(f'MCP server {self.name}: '))
        self._show(health)
        tools = describe_tools(health.tools, health.unusable)
        return CheckResult(ok=True, detail=f'available, offers {tools}')

    def _show(self, health: ServerHealth) -> None:
        summary = count(len(health.tools), 'tool') if health.tools else 'Tools: unknown until tested'
        self.show_list(summary, health.tools)
