"""Serves exported runs as downloads that browsers save, and never open as pages of this server."""

from __future__ import annotations

from typing import get_args

from fastapi import HTTPException, Response
from nicegui import app

from engine import EngineError
from engine.errors import JournalDamaged, UnknownRun
from engine.records import RunId
from ui.exports.formats import FORMATS, FormatName, stream_export
from ui.exports.text import file_name
from ui.web.backend import Backend
from ui.web.downloads import complete_download


def serve_exports(backend: Backend) -> None:
    """Serve `/runs/{run}/export/{form}`, where the form is one of `FORMATS`."""

    @app.get('/runs/{run}/export/{form}')
    async def export(run: str, form: FormatName) -> Response:
        assert form in get_args(FormatName)  # FastAPI has validated it
        try:
            info = await backend().info(RunId(run))
            saved = FORMATS[form]
            name = file_name(info, saved.end, more='-family' if form == 'family' else '')
            return await complete_download(stream_export(backend(), info.id, form), saved.media, name)
        except EngineError as error:
            status = (
                404 if isinstance(error, UnknownRun) else 500 if isinstance(error, JournalDamaged) else 409
            )
            raise HTTPException(status, str(error)) from None
