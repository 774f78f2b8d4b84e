"""Serves exported runs as downloads that a browser saves and never opens as a page of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import get_args

from fastapi import HTTPException, Response
from nicegui import app
from starlette.responses import StreamingResponse

from engine import EngineError
from engine.errors import JournalDamaged, UnknownRun
from engine.records import RunId
from ui.exports.formats import FORMATS, FormatName, stream_export
from ui.exports.text import file_name
from ui.web.backend import Backend
from ui.web.downloads import HARMLESS, attachment


def serve_exports(backend: Backend) -> None:
    """Serve `/runs/{run}/export/{form}`, where the form is one of `FORMATS`."""

    @app.get('/runs/{run}/export/{form}')
    async def export(run: str, form: FormatName) -> Response:
        assert form in get_args(FormatName)  # FastAPI has validated it
        try:
            info = await backend().info(RunId(run))
            made = stream_export(backend(), info.id, form)
            first = await anext(made)
        except EngineError as error:
            status = {UnknownRun: 404, JournalDamaged: 500}.get(type(error), 409)
            raise HTTPException(status, str(error)) from None
        saved = FORMATS[form]
        name = file_name(info, saved.end, more='-family' if form == 'family' else '')
        headers = HARMLESS | {'Content-Disposition': attachment(name)}
        return StreamingResponse(_all(first, made), media_type=saved.media, headers=headers)


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:  # A download that breaks off is recognizable: the file has no end.
        yield piece
