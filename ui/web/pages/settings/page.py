"""The settings page: models, coding agents, MCP servers, the sandbox, storage and retention."""

from __future__ import annotations

from nicegui import ui

from ui.app.backend import Backend
from ui.web.components.theme import frame, page_head
from ui.web.components.widgets import Box, text_link
from ui.web.pages.settings.agents import ExternalAgentCards
from ui.web.pages.settings.endpoints import Endpoints
from ui.web.pages.settings.machine import CommandSandbox, StorageFacts
from ui.web.pages.settings.retention import RetentionSettings
from ui.web.pages.settings.servers import McpServers
from ui.web.pages.settings.workers.page import WORKERS
from ui.web.pages.shared.errors import draw_load_errors
from ui.web.routing import add_place, serve_page

SECTIONS = {
    'models': 'Models',
    'agents': 'Coding agents',
    'mcp': 'MCP servers',
    'commands': 'Agent commands',
    'retention': 'Run storage',
    'configuration': 'Configuration',
}
"""The ids of its headings, and what they say."""


def register(backend: Backend) -> None:
    """Serve the page."""
    for id, title in SECTIONS.items():
        add_place(f'/settings#{id}', title)

    @serve_page('/settings', 'Settings')
    async def settings() -> None:
        def show_file() -> None:
            facts.show_file()

        with frame(here='/settings'):
            with page_head('Settings', 'Settings in effect'):
                text_link('/tools', 'Tools', 'small')
                if backend.fleet:  # the header of a narrow window has no room for it
                    text_link(WORKERS, 'Workers', 'small')
            with Box('notices'):
                draw_load_errors(backend)
            with Box('section', 'section', aria_labelledby='models'):
                endpoints = Endpoints(backend, show_file)
            with Box('section', 'section', aria_labelledby='agents'):
                agents = ExternalAgentCards(backend)
            with Box('section', 'section', aria_labelledby='mcp'):
                McpServers(backend, show_file)
            with Box('section', 'section', aria_labelledby='commands'):
                commands = CommandSandbox(backend)
            with Box('section', 'section', aria_labelledby='retention'):
                retained = RetentionSettings(backend)
            with Box('section', 'section', aria_labelledby='configuration'):
                facts = StorageFacts(backend)
            await endpoints.load()
            await agents.load()
        await ui.context.client.connected()  # slow parts load after the page is shown
        await commands.load()
        await facts.load()
        await retained.load()
