"""The page to review and merge the work of a run's agents."""

from __future__ import annotations

from engine import EngineError
from engine.records import RunId
from ui.components.theme import empty_state, frame, page_head
from ui.pages.run.merging.review import Review
from ui.pages.shared import errors
from ui.web.backend import Backend
from ui.web.routing import serve_page


def register(backend: Backend) -> None:
    """Serve `/runs/{id}/review`."""

    @serve_page('/runs/{run}/review')
    async def page(run: str) -> None:
        conductor = backend()
        try:
            mergeable = await conductor.merging.mergeable(RunId(run))
            changes = {
                agent: await conductor.merging.changes(mergeable, agent) for agent in mergeable.folders
            }
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(f'Review {mergeable.run.title}'):
            page_head('Review and merge', mergeable.run.title or run, back=(f'/runs/{run}', 'Run'))
            if any(changes.values()):
                Review(conductor, mergeable, changes)
            else:
                empty_state('folder_off', 'The agents of this run have not changed any files yet.')
