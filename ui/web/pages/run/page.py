"""The run page: one screen for one run, live or at any step."""

from __future__ import annotations

from contextlib import suppress

from fastapi import Request
from nicegui import ui

from engine import EngineError
from engine.errors import UnknownStep
from engine.records import RunId
from ui.app.backend import Backend
from ui.formatting.values import parse_number
from ui.web.components.debounce import BROWSER_TIMEOUT, WAIT_UNTIL_DRAWN, create_page_task
from ui.web.components.theme import frame
from ui.web.downloads import serve_downloads
from ui.web.exports.routes import serve_exports
from ui.web.pages.run.header.run_menu import KEYS
from ui.web.pages.run.panes import tab_titles
from ui.web.pages.run.screen import Screen
from ui.web.pages.shared import errors
from ui.web.routing import serve_page

LONG = 1_000
"""Number of steps above which the history is read only after the page has been drawn."""


def register(backend: Backend) -> None:
    """Serve `/runs/{id}`, its tabs (`/messages`), steps (`?at=17`) and downloads."""
    serve_downloads(backend)
    serve_exports(backend)

    async def page(run: str, request: Request, at: str = '') -> None:
        conductor = backend()
        try:
            info = await conductor.info(RunId(run))
            shape = await conductor.shape(info.id)
            await conductor.catalog.compile(info.pattern, info.version)
            step = _step(info.id, at, info.seq)
        except UnknownStep as error:
            errors.unknown_step(info, error)
            return
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(info.title, wide=True, of_runs=True, keys=KEYS):
            viewer = backend.presence.viewer(info.id, backend.caller.name if backend.access else '')
            screen = Screen(conductor, info, shape, viewer)
            tab = request.url.path.rpartition('/')[2]
            await screen.draw(step, tab, request.query_params)
        client = ui.context.client

        async def follow() -> None:
            if info.seq > LONG:  # Draw the page first: reading the whole history would delay it.
                await client.connected()
                with suppress(TimeoutError):
                    await client.run_javascript(WAIT_UNTIL_DRAWN, timeout=BROWSER_TIMEOUT)
            await screen.follower.follow()

        create_page_task(client.layout, follow(), f'follow {run}')
        client.on_connect(viewer.join)
        client.on_disconnect(lambda: None if client.has_socket_connection else viewer.leave())

    for end in ('', *(f'/{end}' for end in tab_titles())):
        serve_page(f'/runs/{{run}}{end}')(page)


def _step(run: RunId, at: str, last: int) -> int | None:
    if not at:
        return None
    seq = parse_number(at)
    if seq is None or seq > last:
        raise UnknownStep(run, at[:40] if seq is None else seq, last)
    return seq
