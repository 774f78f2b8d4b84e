"""The run page: one screen for one run, now or at any step."""

from __future__ import annotations

from contextlib import suppress

from fastapi import Request
from nicegui import background_tasks, ui

from engine import EngineError, RunId, UnknownStep
from ui.door import Door
from ui.downloads import serve_downloads
from ui.exports.serve import serve_exports
from ui.pages import missing
from ui.panes.extras import ENDS
from ui.presenters.messages import Wanted
from ui.replay.unhurried import DRAWN, PATIENCE
from ui.screen import Screen
from ui.served import served
from ui.theme import frame

LONG = 1_000
"""Steps of a history that is read only when the page has been drawn."""


def register(door: Door) -> None:
    """Register `/runs/{id}` and its tabs (`/messages`), its steps (`?at=17`), and its downloads."""
    serve_downloads(door)
    serve_exports(door)

    async def page(run: str, request: Request, at: str = '') -> None:
        conductor = door()
        try:
            info = await conductor.info(RunId(run))
            shape = await conductor.shape(info.id)
            step = _step(info.id, at, info.seq)
        except UnknownStep as error:
            missing.unknown_step(info, error)
            return
        except EngineError as error:
            missing.unread(error)
            return
        with frame(info.title, wide=True):
            screen = Screen(conductor, info, shape)
            tab = request.url.path.rpartition('/')[2]
            await screen.draw(step, tab, Wanted.read(request.query_params))
        client = ui.context.client

        async def follow() -> None:
            if info.seq > LONG:  # First the page: to read all of it would only hold it up.
                await client.connected()
                with suppress(TimeoutError):
                    await client.run_javascript(DRAWN, timeout=PATIENCE)
            await screen.follower.follow()

        following = background_tasks.create(follow(), name=f'follow {run}')
        client.on_delete(following.cancel)

    for end in ('', *(f'/{end}' for end in ENDS)):
        served(f'/runs/{{run}}{end}')(page)


def _step(run: RunId, at: str, last: int) -> int | None:
    if not at:
        return None
    if not at.isdigit() or int(at) > last:
        raise UnknownStep(run, int(at) if at.isdigit() else -1, last)
    return int(at)
