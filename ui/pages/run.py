"""The run page: one screen for one run, now or at any step."""

from __future__ import annotations

from nicegui import background_tasks, ui

from engine import EngineError, RunId, UnknownRun, UnknownStep
from ui.door import Door
from ui.downloads import serve_downloads
from ui.pages import missing
from ui.screen import Screen
from ui.theme import frame


def register(door: Door) -> None:
    """Register `/runs/{id}`, its steps (`?at=17`), and what of it can be downloaded."""
    serve_downloads(door)

    @ui.page('/runs/{run}', response_timeout=30.0)  # a long history on a busy machine takes its time
    async def page(run: str, at: str = '') -> None:
        conductor = door()
        try:
            info = await conductor.info(RunId(run))
            shape = await conductor.shape(info.id)
            step = _step(info.id, at, info.seq)
        except UnknownRun:
            missing.unknown_run(run)
            return
        except UnknownStep as error:
            missing.unknown_step(info, error)
            return
        except EngineError as error:
            missing.broken(str(error))
            return
        with frame(info.title, wide=True):
            screen = Screen(conductor, info, shape)
            await screen.draw(step)
        following = background_tasks.create(screen.follower.follow(), name=f'follow {run}')
        ui.context.client.on_delete(following.cancel)


def _step(run: RunId, at: str, last: int) -> int | None:
    if not at:
        return None
    if not at.isdigit() or int(at) > last:
        raise UnknownStep(run, int(at) if at.isdigit() else -1, last)
    return int(at)
