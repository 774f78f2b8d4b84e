"""Serves exported runs as downloads that browsers save, and never open as pages of this server."""

from __future__ import annotations

from fastapi import HTTPException, Response
from nicegui import app

from engine import EngineError
from engine.errors import JournalDamaged, UnknownRun
from engine.records import RunId
from ui.app.backend import Backend
from ui.web.downloads import complete_download
from ui.web.exports.formats import FORMATS, FormatName, file_name, stream_export


def serve_exports(backend: Backend) -> None:
    """Serve `/runs/{run}/export/{form}`, where the form is one of `FORMATS`."""

    @app.get('/runs/{run}/export/{form}')
    async def export(run: str, form: FormatName) -> Response:
        try:
            info = await backend().info(RunId(run))
            content = stream_export(backend(), info.id, form)
            return await complete_download(content, FORMATS[form].media, file_name(info, form))
        except EngineError as error:
            status = (
                404 if isinstance(error, UnknownRun) else 500 if isinstance(error, JournalDamaged) else 409
            )
            raise HTTPException(status, str(error)) from None
