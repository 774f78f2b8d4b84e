"""The list of runs and the list of recently deleted runs."""

from __future__ import annotations

from fastapi import Request

from engine.records import RunId
from ui.app.backend import Backend
from ui.web.components.theme import LIST_KEYS, frame, page_head, section_head, skip_link
from ui.web.components.widgets import Box, text_link
from ui.web.exports.importer import ImportDialog
from ui.web.pages.shared.run_list.filters import Filters
from ui.web.pages.shared.run_list.listing import RunList
from ui.web.routing import serve_page

SIZE = 25
"""Page size of the list."""


def register(backend: Backend) -> None:
    """Serve `/runs` (with `?deleted=RUN` it offers to restore that run) and `/trash`."""

    @serve_page('/runs', 'Runs')
    async def runs(request: Request, deleted: str = '') -> None:
        with frame(here='/runs', keys=LIST_KEYS):
            with Box('section', 'section', aria_labelledby='runs'):
                with section_head('Runs', 'runs', tag='h1'):
                    importer = ImportDialog(backend)
                    text_link('/schedules', 'Schedules', 'small')
                    text_link('/trash', 'Recently deleted', 'small')
                listed = RunList(backend, Filters.from_query(request.query_params), path='/runs', size=SIZE)
                importer.on_done = listed.refresh
            skip_link('Skip to runs', listed.rows)
            await listed.load()
            if deleted:
                await listed.offer_restore(RunId(deleted))

    @serve_page('/trash', 'Recently deleted')
    async def trash(request: Request) -> None:
        days = backend().retention.trash_days
        period = f'for {days:g} {"day" if days == 1 else "days"}' if days else 'until the next day'
        with frame(here='/runs', keys=LIST_KEYS):
            summary = f'They can be restored {period}; then they and their files are removed permanently.'
            page_head('Recently deleted', summary, back=('/runs', 'Runs'), id='trash')
            with Box('section', 'section', aria_labelledby='trash'):
                listed = RunList(
                    backend, Filters.from_query(request.query_params), path='/trash', size=SIZE, trash=True
                )
            skip_link('Skip to runs', listed.rows)
            await listed.load()
