"""The list of tools: description, users and filters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from urllib.parse import urlencode

from nicegui import ui

from engine import Catalog, Pattern
from engine.agents import AgentInfo, agents_of
from engine.tools import RemoteTool, Tool
from ui.app.backend import Backend
from ui.formatting.values import as_sentence, count, describe_tools, first_sentence
from ui.web.components.theme import button, empty_state
from ui.web.components.widgets import Box, NativeSelect, Text, label, link, text_input
from ui.web.routing import show_address, tool_path

KINDS = {
    '': 'All tools',
    'reads': 'Read only',
    'changes': 'With side effects',
    'asks': 'Needs approval',
    'used': 'Used by a pattern',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUser:
    """An agent of a pattern that uses a tool."""

    pattern: type[Pattern]
    agent: AgentInfo


def all_agents(catalog: Catalog) -> list[ToolUser]:
    """Return the agents of all patterns, each role once."""
    users: dict[tuple[str, str, tuple[str, ...]], ToolUser] = {}
    for pattern in catalog.patterns.values():
        for agent in agents_of(pattern):
            users.setdefault((pattern.name, agent.role, agent.tools), ToolUser(pattern=pattern, agent=agent))
    return list(users.values())


def tool_users(catalog: Catalog, tool: str) -> list[ToolUser]:
    """Return the agents of any pattern that may call this tool."""
    return [user for user in all_agents(catalog) if tool in user.agent.tools]


def draw_flags(tool: Tool) -> None:
    """Draw the flags of a tool: side effects, MCP server, approval."""
    with Box('flags', 'span'):
        if tool.side_effects:
            _flag('edit', 'Side effects')
        else:
            _flag('visibility', 'Read only')
        if isinstance(tool, RemoteTool):
            _flag('hub', f'MCP server {tool.category}')
        if tool.approval:
            _flag('front_hand', 'Needs approval')


def _flag(icon: str, text: str) -> None:
    with Box('flag', 'span'):
        ui.icon(icon)
        Text('span', text)


class ToolList:
    """All tools by category, with a search."""

    def __init__(self, backend: Backend, query: Mapping[str, str]) -> None:
        """Draw them; `query`: the filters in the address."""
        self._backend, self._agents = backend, all_agents(backend().catalog)
        categories = sorted({tool.category for tool in backend().catalog.tools.values()})
        with Box('filters', role='search', aria_label='Tools'):
            with Box('filter wide'):
                self._text = text_input(
                    query.get('text', '')[:200], kind='search', placeholder='Search tools', debounce='150'
                )
                label('Search tools', self._text, 'visually-hidden')
            chosen = query.get('category', '')
            self._category = self._choice(
                'Category',
                {'': 'Any category', **{name: name.capitalize() for name in categories}},
                chosen if chosen in categories else '',
            )
            kind = query.get('kind', '')
            self._kind = self._choice('Kind', KINDS, kind if kind in KINDS else '')
        self._count = Text('p', '', 'visually-hidden', role='status')
        self._place = Box('toolbox')
        self._server_tools: ui.element | None = None
        self._text.on_value_change(lambda _: self._on_change())
        self._show()

    def draw_servers(self) -> None:
        """Draw a section for tools of MCP servers, at the end so that loading them shifts nothing."""
        if self._backend().catalog.mcp.names:
            with Box('section', 'section', aria_labelledby='mcp'):
                Text('h2', 'From MCP servers', id='mcp')
                self._summary = Text('p', 'Loading tools…', 'muted', role='status')
                self._server_tools = Box('toolbox')
            self._show_server_tools()

    async def load_servers(self) -> None:
        """Load and show the tools of MCP servers."""
        catalog = self._backend().catalog
        if self._server_tools is None:
            return
        healths = await catalog.mcp.health()
        if self._server_tools.is_deleted:
            return
        broken = [
            health.problem or f'{health.server}: {describe_tools(health.tools, health.unusable)}'
            for health in healths
            if health.problem or health.unusable
        ]
        total = count(sum(len(health.tools) for health in healths), 'tool')
        self._summary.show(' '.join([as_sentence(total), *(f'{problem}.' for problem in broken)]))
        names = sorted({tool.category for tool in catalog.tools.values()})
        self._category.set_options({'': 'Any category', **{name: name.capitalize() for name in names}})
        self._show_server_tools()

    def _choice(self, name: str, options: Mapping[str, str], value: str) -> NativeSelect:
        with Box('filter roomy'):
            choice = NativeSelect(options, value=value, on_change=self._on_change)
            label(name, choice, 'visually-hidden')
        return choice

    def _on_change(self) -> None:
        filters = {'text': self._text.value, 'category': self._category.value, 'kind': self._kind.value}
        query = urlencode({name: value for name, value in filters.items() if value})
        show_address(f'/tools?{query}' if query else '/tools')
        self._show()

    def _clear(self) -> None:
        for control in (self._text, self._category, self._kind):
            control.set_value('')

    def _show(self) -> None:
        tools = self._find(from_servers=False)
        self._count.show(count(len(tools) + len(self._find(from_servers=True)), 'tool'))
        self._draw(self._place, tools)
        with self._place:
            if not tools:
                empty_state(
                    'search_off',
                    'No tools match.' if self._server_tools is None else 'No built-in tools match.',
                )
                with Box('empty-action'):
                    button('Clear filters').on('click', self._clear)
        self._show_server_tools()

    def _show_server_tools(self) -> None:
        if self._server_tools is not None:
            self._draw(self._server_tools, self._find(from_servers=True))

    def _find(self, *, from_servers: bool) -> list[Tool]:
        tools = (
            tool
            for tool in self._backend().catalog.tools.values()
            if isinstance(tool, RemoteTool) is from_servers
        )
        return sorted(filter(self._matches, tools), key=lambda tool: (tool.category, tool.name))

    def _draw(self, place: ui.element, tools: list[Tool]) -> None:
        place.clear()
        with place:
            for category, members in groupby(tools, key=lambda tool: tool.category):
                with Box('section', 'section', aria_labelledby=f'c-{category}'):
                    Text('h2', category.capitalize(), id=f'c-{category}')
                    with Box('tools', 'ul'):
                        for tool in members:
                            self._card(tool)

    def _matches(self, tool: Tool) -> bool:
        words = (self._text.value or '').lower().split()
        text = f'{tool.name} {tool.description} {tool.category}'.lower()
        kinds = {
            '': True,
            'reads': not tool.side_effects,
            'changes': tool.side_effects,
            'asks': tool.approval,
            'used': any(tool.name in user.agent.tools for user in self._agents),
        }
        return (
            all(word in text for word in words)
            and self._category.value in ('', tool.category)
            and kinds[self._kind.value]
        )

    def _card(self, tool: Tool) -> None:
        using = [user for user in self._agents if tool.name in user.agent.tools]
        with Box(tag='li'), link(tool_path(tool.name), 'card tool-card'):
            Text('h3', tool.name, 'mono')
            Text('p', first_sentence(tool.description), 'muted')
            with Box('tool-foot', 'span'):
                draw_flags(tool)
                Text('span', _describe_users(using), 'muted small')


def _describe_users(using: list[ToolUser]) -> str:
    roles = list(dict.fromkeys(user.agent.role.replace('_', ' ') for user in using))
    if not roles:
        return 'Not used by any pattern'
    return f'Used by {roles[0]}' if len(roles) == 1 else f'Used by {len(roles)} roles'
