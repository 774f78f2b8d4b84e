"""Recently deleted runs: restore them, or delete them for good."""

from __future__ import annotations

from fastapi import Request
from nicegui import ui

from ui.door import Door
from ui.pages.runs import SIZE
from ui.parts import Text, link
from ui.runs.filters import Filters
from ui.runs.listing import RunList
from ui.served import served
from ui.theme import frame


def register(door: Door) -> None:
    """Serve the page."""

    @served('/trash')
    async def trash(request: Request) -> None:
        days = door().retention.trash_days
        kept = f'for {days:g} {"day" if days == 1 else "days"}' if days else 'until the next day'
        with frame('Recently deleted', here='/runs'):
            with ui.element('div').classes('hero'):
                with link('/runs', 'back small'):
                    Text('span', '← Runs')
                Text('h1', 'Recently deleted', id='trash')
                Text(
                    'p',
                    f'They can be restored {kept}; then they and their files are removed for good.',
                    'muted',
                )
            with ui.element('section').classes('section').props('aria-labelledby="trash"'):
                listed = RunList(
                    door, Filters.read(request.query_params), path='/trash', size=SIZE, trash=True
                )
            await listed.load()
