"""The pages of datasets: their list, and one of them."""

from __future__ import annotations

from nicegui import ui

from engine import EngineError
from engine.operations.experiments import DatasetInfo, UnknownDataset
from ui.app.backend import Backend
from ui.formatting.steps import author_text
from ui.formatting.values import ago, count, exact
from ui.web.components.theme import button, empty_state, frame, page_head, section_head
from ui.web.components.widgets import Box, Text, link
from ui.web.pages.experiments.datasets.import_dialog import ImportTable
from ui.web.pages.experiments.datasets.view import DatasetView
from ui.web.pages.shared import errors
from ui.web.permission import is_permitted
from ui.web.routing import serve_page


def register(backend: Backend) -> None:
    """Serve `/datasets` and `/datasets/{dataset}`; `?version=` shows an earlier version."""

    @serve_page('/datasets', 'Datasets')
    async def listing() -> None:
        try:
            datasets = await backend().datasets.list()
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(here='/experiments', of_runs=True):
            summary = 'Cases on which experiments run: from tables, and from runs that went well or badly.'
            page_head('Datasets', summary, back=('/experiments', 'Experiments'))
            with Box('section', 'section', aria_labelledby='all'):
                with section_head('All datasets', 'all'):
                    if is_permitted('datasets.save'):
                        importer = button('Import', icon='upload_file', kind='primary')
                        importer.on('click', lambda: _import(backend))
                if datasets:
                    with Box('card experiments', 'ul'):
                        for info in datasets:
                            _draw(backend, info)
                else:
                    with Box('card'):
                        text = 'No datasets yet. Import a table, or choose “Add to dataset” for a run.'
                        empty_state('storage', text)

    @serve_page('/datasets/{dataset}')
    async def one(dataset: str, version: str = '') -> None:
        try:
            info = await backend().datasets.get(dataset)
            chosen = info.version(version).id
            cases = await backend().datasets.cases(info.id, chosen)
        except UnknownDataset:
            errors.unknown('dataset', dataset, '/datasets', 'All datasets')
            return
        except EngineError as error:
            errors.read_error(error)
            return
        with frame(info.name, here='/experiments', of_runs=True):
            DatasetView(backend, info, chosen, cases)


async def _import(backend: Backend) -> None:
    if saved := await ImportTable(backend).ask():
        ui.navigate.to(f'/datasets/{saved.id}')


def _draw(backend: Backend, info: DatasetInfo) -> None:
    newest = info.versions[-1] if info.versions else None
    with Box(tag='li'), link(f'/datasets/{info.id}', 'experiment dataset'):
        with Box('experiment-about', 'span'):
            Text('span', info.name, 'experiment-name', dir='auto')
            parts = [
                count(newest.cases if newest else 0, 'case'),
                count(len(info.versions), 'version'),
                ', '.join(newest.splits) if newest else '',
                newest.note if newest else '',
            ]
            Text('span', ' · '.join(filter(None, parts)), 'muted small', dir='auto')
        with Box('experiment-when muted small', 'span'):
            when = newest.created if newest else info.created
            Text('time', ago(when, backend().clock.now()), 'num', title=exact(when))
            Text('span', author_text(newest.author if newest else info.author))
