"""The traffic page: many runs of a pattern on one diagram, with the runs behind each element."""

from __future__ import annotations

from dataclasses import replace

from fastapi import Request
from nicegui import ui

from engine.records import RunQuery
from ui.components.theme import empty_state, frame, page_head
from ui.components.widgets import text_link
from ui.pages.shared import errors
from ui.pages.shared.run_list.filters import Filters
from ui.pages.traffic.view import TrafficView
from ui.web.backend import Backend
from ui.web.routing import serve_page


def register(backend: Backend) -> None:
    """Serve the page."""

    @serve_page('/patterns/{pattern}/traffic')
    async def traffic(request: Request, pattern: str) -> None:
        pattern_class = backend().catalog.patterns.get(pattern)
        runs = await backend().runs(RunQuery(pattern=pattern, limit=1))
        if pattern_class is None and not runs.runs:
            errors.unknown_pattern(backend, pattern)
            return
        title = pattern_class.title if pattern_class else (await backend().shape(runs.runs[0].id)).title
        with frame(f'Traffic of {title}', here='/runs'):
            page_head(
                f'Traffic of {title}',
                'Many runs on one diagram. Select a state or an edge to see its runs.',
                back=(f'/launch/{pattern}', f'Configure {title}') if pattern_class else ('/', 'All patterns'),
            )
            if runs.runs:
                filters = replace(Filters.from_query(request.query_params), pattern=pattern)
                await TrafficView(backend, filters).load()
            else:
                _no_run(pattern)


def _no_run(pattern: str) -> None:
    with ui.element('div').classes('card'):
        empty_state('insights', 'No runs of this pattern yet.')
        with ui.element('div').classes('empty-action'):
            text_link('/', 'Run sample', 'btn primary')
            text_link(f'/launch/{pattern}', 'Configure…', 'btn')
