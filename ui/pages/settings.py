"""Settings: where models come from, whether commands can run, and where everything is kept."""

from __future__ import annotations

from nicegui import ui

from ui.door import Door
from ui.parts import Text
from ui.served import served
from ui.serving.faults import draw_faults
from ui.setup.endpoints import Endpoints
from ui.setup.machine import Commands, Kept
from ui.setup.retained import Retained
from ui.setup.servers import McpServers
from ui.theme import frame


def register(door: Door) -> None:
    """Serve the page."""

    @served('/settings')
    async def settings() -> None:
        with frame('Settings', here='/settings'):
            with ui.element('div').classes('hero'):
                Text('h1', 'Settings')
                Text(
                    'p',
                    'They are in one file and in the environment; here is what has come of them.',
                    'muted',
                )
            with ui.element('div').classes('notices'):
                draw_faults(door)
            with ui.element('section').classes('section').props('aria-labelledby="models"'):
                Endpoints(door)
            with ui.element('section').classes('section').props('aria-labelledby="mcp"'):
                McpServers(door)
            with ui.element('section').classes('section').props('aria-labelledby="commands"'):
                commands = Commands(door)
            with ui.element('section').classes('section').props('aria-labelledby="retention"'):
                retained = Retained(door)
            with ui.element('section').classes('section').props('aria-labelledby="configuration"'):
                kept = Kept(door)
        await ui.context.client.connected()  # what takes time comes when the page is there
        await commands.load()
        await kept.load()
        await retained.load()
