"""Pages for what is not there: an unknown address, pattern or run; and for what went wrong inside."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from fastapi import Request, Response
from fastapi.exception_handlers import http_exception_handler
from nicegui import Client, app, ui
from nicegui.page import page
from starlette.exceptions import HTTPException

from engine import EngineError, RunInfo, UnknownRun, UnknownStep
from ui.door import Door
from ui.parts import Text, link
from ui.theme import frame
from ui.toolbox.listing import address

log = logging.getLogger('hemicycle')


def register(door: Door) -> None:
    """Serve our own pages in place of NiceGUI's."""

    @app.exception_handler(404)
    async def not_found(request: Request, error: Exception) -> Response:
        if request.scope.get('endpoint') is not None and isinstance(error, HTTPException):
            return await http_exception_handler(request, error)  # a file or an interface, not a page
        with Client(page(''), request=request) as client:
            unknown_address(request.url.path)
        return client.build_response(request, 404)

    def failed(error: Exception) -> None:
        log.error('a page failed', exc_info=error)
        with frame('Error'), _body('report', 'This page could not be drawn'):
            Text(
                'p',
                'Something went wrong inside Hemicycle; runs are not touched by it. The log says more.',
            )
            Text('p', f'{type(error).__name__}: {str(error)[:500]}', 'mono muted')
            _ways()

    app.on_page_exception(failed)


def unknown_address(path: str) -> None:
    """The page for an address that is none."""
    with frame('Not found'), _body('explore_off', 'There is no page here'):
        Text('p', f'Nothing lives at {_short(path)}.', 'muted')
        _ways()


def unknown_pattern(door: Door, name: str) -> None:
    """The page for a pattern that is not there, with those that are."""
    ui.context.client.status_code = 404
    with frame('Unknown pattern'), _body('explore_off', f'There is no pattern “{_short(name)}”'):
        patterns = door().catalog.patterns
        Text('p', 'These can be launched:' if patterns else 'No pattern could be loaded.', 'muted')
        with ui.element('div').classes('ways'):
            for made in patterns.values():
                with link(f'/launch/{made.name}', 'btn'):
                    Text('span', made.title)
        _ways()


def unknown_tool(door: Door, name: str) -> None:
    """The page for a tool that is not there, with those that are."""
    ui.context.client.status_code = 404
    with frame('Unknown tool'), _body('explore_off', f'There is no tool “{_short(name)}”'):
        Text('p', 'These there are:' if door().catalog.tools else 'No tool could be loaded.', 'muted')
        with ui.element('div').classes('ways'):
            for tool in sorted(door().catalog.tools):
                with link(address(tool), 'btn'):
                    Text('span', tool)
        _ways()


def unread(error: EngineError) -> None:
    """The page for a run that is not there, or for what the journal does not give just now."""
    if isinstance(error, UnknownRun):
        _unknown_run(error.run)
    else:
        _broken(str(error))


def _unknown_run(run: str) -> None:
    ui.context.client.status_code = 404
    with frame('Unknown run'), _body('explore_off', f'There is no run “{_short(run)}”'):
        Text('p', 'It may have been deleted, or it is in another database.', 'muted')
        _ways()


def unknown_step(info: RunInfo, error: UnknownStep) -> None:
    """The page for a step that the run does not have, with the way to its last."""
    ui.context.client.status_code = 404
    with frame('Unknown step'), _body('explore_off', 'This run has no such step'):
        Text('p', f'{_short(info.title or info.id)}: {_short(str(error))}.', 'muted')
        with ui.element('div').classes('ways'):
            with link(f'/runs/{info.id}', 'btn primary'):
                Text('span', 'The run as it is now')
            if error.last:
                with link(f'/runs/{info.id}?at={error.last}', 'btn'):
                    Text('span', f'Its last step, {error.last}')


def _broken(problem: str) -> None:
    ui.context.client.status_code = 503
    with frame('Not readable'), _body('cloud_off', 'This cannot be read just now'):
        Text('p', f'{problem[:1].upper()}{problem[1:]}.', 'muted')
        with ui.element('div').classes('ways'), link('', 'btn primary'):
            Text('span', 'Try again')


@contextmanager
def _body(icon: str, title: str) -> Iterator[None]:
    with ui.element('div').classes('vacant'):
        ui.icon(icon).props('size="40px"').classes('muted')
        Text('h1', title)
        yield


def _ways() -> None:
    with ui.element('div').classes('ways'):
        with link('/', 'btn primary'):
            Text('span', 'Home')
        with link('/runs', 'btn'):
            Text('span', 'All runs')


def _short(text: str) -> str:
    return text if len(text) <= 80 else f'{text[:79]}…'
