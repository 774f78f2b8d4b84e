"""The pages of experiments: their list, a new one, and one of them."""

from __future__ import annotations

from engine import EngineError
from engine.operations.experiments import UnknownExperiment
from ui.app.backend import Backend
from ui.web.components.theme import frame, section_head
from ui.web.components.widgets import Box, text_link
from ui.web.exports.importer import ImportDialog
from ui.web.exports.routes import serve_experiment_exports
from ui.web.pages.experiments.listing import ExperimentList
from ui.web.pages.experiments.screen import ExperimentScreen
from ui.web.pages.shared import errors
from ui.web.permission import is_permitted
from ui.web.routing import serve_page


def register(backend: Backend) -> None:
    """Serve `/experiments`, `/experiments/{experiment}` and its download."""
    serve_experiment_exports(backend)

    @serve_page('/experiments', 'Experiments')
    async def listing() -> None:
        with (
            frame(here='/experiments', of_runs=True),
            Box('section', 'section', aria_labelledby='experiments'),
        ):
            with section_head('Experiments', 'experiments', tag='h1'):
                text_link('/datasets', 'Datasets', 'small')
                importer = ImportDialog(backend)
                if is_permitted('experiments.add'):
                    text_link('/experiments/new', 'New experiment', 'btn primary', icon='add')
            listed = ExperimentList(backend)
            importer.on_done = listed.refresh
        await listed.load()

    @serve_page('/experiments/{experiment}')
    async def one(experiment: str) -> None:
        try:
            item = await backend().experiments.get(experiment)
        except UnknownExperiment:
            errors.unknown('experiment', experiment, '/experiments', 'All experiments')
            return
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(item.name, here='/experiments', of_runs=True):
            screen = ExperimentScreen(backend, item)
        await screen.load()
