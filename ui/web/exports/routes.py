"""Serves exported runs and experiments as downloads: browsers save them, and never open them as pages."""

from __future__ import annotations

from fastapi import HTTPException, Response
from nicegui import app

from engine import EngineError
from engine.errors import JournalDamaged, UnknownRun
from engine.operations.experiments import UnknownExperiment
from engine.records import RunId
from ui.app.backend import Backend
from ui.web.downloads import complete_download
from ui.web.exports.formats import FORMATS, FormatName, experiment_file_name, file_name, stream_export


def serve_exports(backend: Backend) -> None:
    """Serve `/runs/{run}/export/{form}`, where the form is one of `FORMATS`."""

    @app.get('/runs/{run}/export/{form}')
    async def export(run: str, form: FormatName) -> Response:
        try:
            info = await backend().info(RunId(run))
            content = stream_export(backend(), info.id, form)
            return await complete_download(content, FORMATS[form].media, file_name(info, form))
        except EngineError as error:
            raise _refusal(error) from None


def serve_experiment_exports(backend: Backend) -> None:
    """Serve `/experiments/{experiment}/export`: its bundle."""

    @app.get('/experiments/{experiment}/export')
    async def export_experiment(experiment: str) -> Response:
        experiments = backend().experiments
        try:
            stored = await experiments.get(experiment)
            content = experiments.export(stored.id)
            return await complete_download(content, FORMATS['bundle'].media, experiment_file_name(stored))
        except EngineError as error:
            raise _refusal(error) from None


def _refusal(error: EngineError) -> HTTPException:
    is_unknown = isinstance(error, UnknownRun | UnknownExperiment)
    status = 404 if is_unknown else 500 if isinstance(error, JournalDamaged) else 409
    return HTTPException(status, str(error))
