"""Error pages: unknown addresses, runs, patterns and tools; files that could not be loaded."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request, Response
from fastapi.exception_handlers import http_exception_handler
from nicegui import Client, app, ui
from nicegui.page import page
from starlette.exceptions import HTTPException

from engine import EngineError, Pattern
from engine.errors import JournalDamaged, StepDamaged, UnknownPattern, UnknownRun, UnknownStep, UnknownVersion
from engine.records import RunInfo, clip
from ui.app.backend import Backend
from ui.formatting.values import as_sentence
from ui.web.components.theme import frame, notice
from ui.web.components.widgets import Box, Text, text_link
from ui.web.routing import tool_path

log = logging.getLogger('hemicycle')

MAX_NAMED = 80
"""Maximum characters shown of an unknown name."""


def register(backend: Backend) -> None:
    """Replace NiceGUI's error pages."""

    @app.exception_handler(404)
    async def not_found(request: Request, error: Exception) -> Response:
        # If no route matched, the endpoint is the app that the pages are mounted as.
        if request.scope.get('endpoint') not in (None, app) and isinstance(error, HTTPException):
            return await http_exception_handler(request, error)  # a file or an API, not a page
        with Client(page(''), request=request) as client:
            unknown_address(request.url.path)
        return client.build_response(request, 404)

    def on_failure(error: Exception) -> None:
        log.error('a page failed', exc_info=error)
        if isinstance(error, JournalDamaged):
            read_error(error)
            return
        with frame('Error'), _body('report', 'This page could not be displayed'):
            Text('p', 'An internal error occurred. Runs are not affected. See the log for details.')
            Text('p', f'{type(error).__name__}: {str(error)[:500]}', 'mono muted')
            _draw_links()

    app.on_page_exception(on_failure)


def unknown_address(path: str) -> None:
    """Draw the "Page not found" page."""
    with frame('Not found'), _body('explore_off', 'Page not found'):
        Text('p', f'There is nothing at {clip(path, MAX_NAMED)}.', 'muted')
        _draw_links()


def unknown_pattern(backend: Backend, name: str) -> None:
    """Draw the page for an unknown pattern, with the known ones."""
    ui.context.client.status_code = 404
    with frame('Unknown pattern'), _body('explore_off', f'There is no pattern “{clip(name, MAX_NAMED)}”'):
        patterns = backend().catalog.patterns
        Text('p', 'Available patterns:' if patterns else 'No pattern could be loaded.', 'muted')
        with Box('error-actions'):
            for pattern in patterns.values():
                text_link(f'/launch/{pattern.name}', pattern.title, 'btn')
        _draw_links()


async def find_pattern(backend: Backend, name: str, version: str = '') -> type[Pattern] | None:
    """Return a pattern, or that version of it; draw the page that says why if it is not there."""
    catalog = backend().catalog
    await catalog.refresh()
    await catalog.compile(name, version)
    try:
        return catalog.pattern(name, version)
    except UnknownVersion as error:
        _no_pattern(str(error), 'This version is not here')
    except UnknownPattern:
        unknown_pattern(backend, name)
    return None


def unknown_tool(backend: Backend, name: str) -> None:
    """Draw the page for an unknown tool, with the known ones."""
    ui.context.client.status_code = 404
    with frame('Unknown tool'), _body('explore_off', f'There is no tool “{clip(name, MAX_NAMED)}”'):
        Text('p', 'Available tools:' if backend().catalog.tools else 'No tool could be loaded.', 'muted')
        with Box('error-actions'):
            for tool in sorted(backend().catalog.tools):
                text_link(tool_path(tool), tool, 'btn')
        _draw_links()


def unknown(kind: str, name: str, path: str, text: str) -> None:
    """Draw the page for something that does not exist, with a link to where all of its kind are."""
    ui.context.client.status_code = 404
    with frame(f'Unknown {kind}'), _body('explore_off', f'There is no {kind} “{clip(name, MAX_NAMED)}”'):
        Text('p', 'It may have been removed or be in another database.', 'muted')
        with Box('error-actions'):
            text_link(path, text, 'btn primary')


def read_error(error: EngineError) -> None:
    """Draw the page for an unknown run or pattern, or for a damaged or unavailable journal."""
    if isinstance(error, UnknownRun):
        _unknown_run(error.run)
    elif isinstance(error, UnknownPattern):
        _no_pattern(str(error))
    elif isinstance(error, JournalDamaged):
        _show_damaged(error)
    else:
        _show_unavailable(str(error))


def _unknown_run(run: str) -> None:
    ui.context.client.status_code = 404
    with frame('Unknown run'), _body('explore_off', f'There is no run “{clip(run, MAX_NAMED)}”'):
        Text('p', 'It may have been deleted or be in another database.', 'muted')
        _draw_links()


def _no_pattern(problem: str, headline: str = 'This run cannot be continued here') -> None:
    ui.context.client.status_code = 404
    with frame('No pattern'), _body('explore_off', headline):
        Text('p', as_sentence(problem), 'muted')
        _draw_links()


def unknown_step(info: RunInfo, error: UnknownStep) -> None:
    """Draw the page for an unknown step, with a link to the last one."""
    ui.context.client.status_code = 404
    with frame('Unknown step'), _body('explore_off', 'Unknown step'):
        Text('p', f'{clip(info.title or info.id, MAX_NAMED)}: {clip(str(error), MAX_NAMED)}.', 'muted')
        with Box('error-actions'):
            text_link(f'/runs/{info.id}', 'Open the run', 'btn primary')
            if error.last:
                text_link(f'/runs/{info.id}?at={error.last}', f'Last step ({error.last})', 'btn')


def _show_damaged(error: JournalDamaged) -> None:
    ui.context.client.status_code = 500
    with frame('Damaged'), _body('broken_image', 'The database is damaged'):
        Text('p', as_sentence(str(error)))
        Text(
            'p',
            'Everything else works as before. `hemicycle runs audit RUN` checks a run, and `hemicycle doctor`'
            ' the whole database.',
            'muted',
        )
        if isinstance(error, StepDamaged) and error.step > 1:
            with Box('error-actions'):
                text_link(
                    f'/runs/{error.run}?at={error.step - 1}',
                    f'Show the run up to step {error.step - 1}',
                    'btn primary',
                )
        _draw_links()


def _show_unavailable(problem: str) -> None:
    ui.context.client.status_code = 503
    with frame('Not readable'), _body('cloud_off', 'Temporarily unavailable'):
        Text('p', as_sentence(problem), 'muted')
        with Box('error-actions'):
            text_link('', 'Try again', 'btn primary')


@contextmanager
def _body(icon: str, title: str) -> Iterator[None]:
    with Box('vacant'):
        ui.icon(icon, size='40px').classes('muted')
        Text('h1', title)
        yield


def _draw_links() -> None:
    with Box('error-actions'):
        text_link('/', 'Home', 'btn primary')
        text_link('/runs', 'All runs', 'btn')


def draw_load_errors(backend: Backend) -> None:
    """List files that could not be loaded, with line and problem; nothing if there are none."""
    faults = backend().catalog.faults
    if not faults:
        return
    with notice('fail', 'error'):
        is_single = len(faults) == 1
        files = 'A file' if is_single else f'{len(faults)} files'
        Text('p', f'{files} could not be loaded. Everything else works.')
        with Box('details-list', 'ul'):
            for fault in faults:
                with Box(tag='li'):
                    Text('code', f'{fault.path}:{fault.line}' if fault.line else fault.path)
                    Text('span', fault.problem)
