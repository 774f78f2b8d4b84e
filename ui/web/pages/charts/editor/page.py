"""The editor page: the newest version to change, an earlier one or a Python pattern to look at."""

from __future__ import annotations

from fastapi import Request

from engine.errors import UnknownPattern
from ui.app.backend import Backend
from ui.web.components.theme import Keys, frame
from ui.web.pages.charts.editor.head import EditorHead
from ui.web.pages.charts.editor.opening import Opened, open_chart
from ui.web.pages.charts.editor.view import EditorView
from ui.web.pages.shared import errors
from ui.web.routing import serve_page

KEYS: Keys = (
    ('Ctrl S', 'Save'),
    ('Ctrl Z', 'Undo; with Shift, redo'),
    ('Ctrl Space', 'What may come here'),
    ('Ctrl F', 'Search in the text'),
    ('Esc Tab', 'Leave the text, where Tab alone indents'),
    ('Menu Shift F10', 'In the diagram: change a state or a transition'),
    ('. ,', 'In the diagram: next and previous transition'),
)


def register(backend: Backend) -> None:
    """Serve the page; `?version=` shows an earlier version, `?new=1` begins a chart, with `&template=`."""

    @serve_page('/charts/{name}')
    async def edit(request: Request, name: str) -> None:
        query = request.query_params
        try:
            opened = await open_chart(
                backend,
                name,
                version=query.get('version', ''),
                new='new' in query,
                template=query.get('template', ''),
            )
        except UnknownPattern:
            errors.unknown_pattern(backend, name)
            return
        with frame(opened.title, here='/charts', of_runs=True, wide=True, keys=KEYS):
            await _draw(backend, opened)


async def _draw(backend: Backend, opened: Opened) -> None:
    head = EditorHead(backend, opened)
    view = EditorView(backend, opened, on_change=head.show_changes)
    head.bind(view)
    await view.load()
