"""MCP servers on the settings page: what is configured, a test, and the tools of each."""

from __future__ import annotations

from nicegui import ui

from engine import ServerHealth
from ui.door import Door
from ui.parts import Text
from ui.presenters.words import count
from ui.setup.card import Judgement, TestCard


class McpServers:
    """All MCP servers as cards."""

    def __init__(self, door: Door) -> None:
        """Draw them; nothing is started or asked yet."""
        Text('h2', 'MCP servers', id='mcp')
        known = door().catalog.mcp.known()
        if not known:
            Text('p', 'None is configured; below is how. Their tools then stand among all others.', 'muted')
            return
        with ui.element('ul').classes('endpoints even'):
            for health in known:
                ServerCard(door, health)


class ServerCard(TestCard[ServerHealth]):
    """One server: a test starts it, or calls its address, and asks for its tools."""

    def __init__(self, door: Door, health: ServerHealth) -> None:
        """Draw it."""
        self._door = door
        kind = 'Address' if '://' in health.where else 'Program'
        super().__init__(health.server, {kind: health.where or 'not known'}, health.problem)
        self._show(health)

    async def ask(self) -> ServerHealth:
        """Ask it for its tools."""
        return await self._door().catalog.mcp.test(self.name)

    def judge(self, found: ServerHealth) -> Judgement:
        """How it is."""
        if found.problem:
            return Judgement(ok=False, said=found.problem.removeprefix(f'MCP server {self.name}: '))
        self._show(found)
        tools = count(len(found.tools), 'tool') if found.tools else 'no tool'
        return Judgement(ok=True, said=f'it answers, and offers {tools}')

    def _show(self, health: ServerHealth) -> None:
        told = count(len(health.tools), 'tool') if health.tools else 'Tools: not known before a test'
        self.list(told, health.tools)
