"""Runs: the whole list, page by page."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from engine import RunId
from ui.door import Door
from ui.exports.importer import Importer
from ui.parts import Text, link
from ui.runs.filters import Filters
from ui.runs.listing import RunList
from ui.served import served
from ui.theme import frame

SIZE = 25
"""Runs on a page of the list."""


def register(door: Door) -> None:
    """Serve `/runs`; with `?deleted=RUN` it offers to take that back."""

    @served('/runs')
    async def runs(request: Request, deleted: str = '') -> None:
        with frame('Runs', here='/runs'):
            with ui.element('section').classes('section').props('aria-labelledby="runs"'):
                with ui.element('div').classes('section-head'):
                    Text('h1', 'Runs', id='runs')
                    ui.element('div').classes('grow')
                    importer = Importer(door)
                    with link('/trash', 'small'):
                        Text('span', 'Recently deleted')
                listed = RunList(door, Filters.read(request.query_params), path='/runs', size=SIZE)
                importer.on_done = listed.look
            await listed.load()
            if deleted:
                await listed.offer_back(RunId(deleted))
