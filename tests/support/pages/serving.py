"""Pages over a conductor with a fake model, for anybody who opens them."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from engine import Catalog, Conductor, LocalConductor
from engine.journal import MemoryJournal
from engine.records import RunId
from engine.workspace import Sandbox
from tests.support.harness import PIPELINE_TASK, FakeModel, complete_run
from ui.app.backend import Backend
from ui.web.components.theme import serve_assets
from ui.web.pages.run import page as run_page


def serve(conductor: Conductor, *pages: ModuleType) -> Backend:
    """Serve these pages, by default the run page."""
    backend = Backend()
    backend.open(conductor)
    serve_assets()
    for page in pages or (run_page,):
        page.register(backend)
    return backend


def open_conductor(
    model: FakeModel,
    *pages: ModuleType,
    journal: MemoryJournal | None = None,
    sandbox: Sandbox | None = None,
) -> Conductor:
    """Open a conductor whose scripted model is `model`, and serve these pages, by default the run page."""
    catalog = Catalog.load()
    catalog.models['scripted'] = model
    conductor = LocalConductor(journal or MemoryJournal(), catalog=catalog, sandbox=sandbox)
    serve(conductor, *pages)
    return conductor


async def start_run(
    model: FakeModel, parameters: Mapping[str, Any] = PIPELINE_TASK, **options: Any
) -> tuple[Conductor, RunId]:
    """Start a run of the pipeline whose page is served."""
    conductor = open_conductor(model)
    return conductor, (await conductor.start('pipeline', parameters, **options)).id


async def finish_run(model: FakeModel, parameters: Mapping[str, Any] = PIPELINE_TASK) -> RunId:
    """Start such a run, and return it once it has ended."""
    return await complete_run(open_conductor(model), 'pipeline', parameters)
