"""The wall page: all agents of the selected live runs."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from ui.components.theme import frame
from ui.components.widgets import Text, text_link
from ui.pages.run.wall.wall import Wall
from ui.web.backend import Backend
from ui.web.routing import serve_page


def register(backend: Backend) -> None:
    """Serve `/wall`, with the picked runs in the address (`?runs=a,b`); by default all live runs."""

    @serve_page('/wall')
    async def page(request: Request) -> None:
        with frame('Agents side by side', wide=True), ui.element('div').classes('wall-page'):
            with ui.element('div').classes('wall-head'):
                Text('h1', 'Agents side by side')
                text_link('/runs', 'All runs', 'small')
            names = request.query_params.get('runs', '')
            wall = Wall(backend(), picked=tuple(filter(None, names.split(','))))
            ui.context.client.on_delete(wall.close)
            await wall.load()
