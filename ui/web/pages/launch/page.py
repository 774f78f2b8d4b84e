"""The launch page: a pattern's form with samples, and its diagram."""

from __future__ import annotations

from fastapi import Request

from engine import EngineError
from engine.records import RunId
from ui.app.backend import Backend
from ui.formatting.values import first_sentence
from ui.web.components.theme import FORM_KEYS, frame, page_head
from ui.web.components.widgets import Box, text_link
from ui.web.pages.launch.default_notice import find_default
from ui.web.pages.launch.form import LaunchForm
from ui.web.pages.shared import errors
from ui.web.pages.shared.launching.earlier_version import earlier_version
from ui.web.routing import chart_path, serve_page, simulator_path, traffic_path


def register(backend: Backend) -> None:
    """Serve the page; `?task=` fills in a task, `?again=` the input of a run; `?replay=` replays that run.

    Other texts are filled in by their names. `?version=` is for an earlier version of the pattern.
    """

    @serve_page('/launch/{pattern}')
    async def launch(request: Request, pattern: str, task: str = '', version: str = '') -> None:
        pattern_class = await errors.find_pattern(backend, pattern, version)
        if pattern_class is None:
            return
        again, replay = None, request.query_params.get('replay', '')
        if run := replay or request.query_params.get('again', ''):
            try:
                again = await backend().info(RunId(run))
            except EngineError:
                again = None
        with frame(f'Configure {pattern_class.title}', of_runs=True, keys=FORM_KEYS):
            with (
                page_head(
                    f'Configure {pattern_class.title}',
                    first_sentence(pattern_class.summary),
                    back=('/', 'All patterns'),
                ),
                Box('head-links'),
            ):
                text_link(
                    simulator_path(pattern_class.name, version), 'Simulate: walk through the chart', 'small'
                )
                text_link(traffic_path(pattern_class.name), 'Traffic: all runs on one diagram', 'small')
                text_link(chart_path(pattern_class.name, version), 'Text: the chart as a file', 'small')
            earlier_version(backend().catalog, pattern_class)
            default = await find_default(backend, pattern_class.name)
            launcher = LaunchForm(backend, pattern_class, version=version, default=default)
            query, fields = request.query_params, pattern_class.Parameters.model_fields
            texts = [name for name, field in fields.items() if field.annotation is str]
            given = {name: query[name] for name in texts if name in query}
            if task and (name := pattern_class.task_field()):
                given[name] = task
            await launcher.load(
                again,
                replay=bool(replay),
                sample=query.get('sample', ''),
                given=given,
                model=query.get('model', ''),
            )
