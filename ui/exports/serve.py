"""Serves runs as files for others: downloads that a browser keeps and never opens as a page of ours."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import get_args

from fastapi import HTTPException, Response
from nicegui import app
from starlette.responses import StreamingResponse

from engine import EngineError, RunId, UnknownRun
from ui.door import Door
from ui.downloads import HARMLESS, attachment
from ui.exports.forms import FORMS, Form, pieces
from ui.exports.words import file_name


def serve_exports(door: Door) -> None:
    """Serve `/runs/{run}/export/{form}`; the forms are `FORMS`."""

    @app.get('/runs/{run}/export/{form}')
    async def export(run: str, form: Form) -> Response:
        assert form in get_args(Form)  # FastAPI has seen to it
        try:
            info = await door().info(RunId(run))
            made = pieces(door(), info.id, form)
            first = await anext(made)
        except EngineError as error:
            raise HTTPException(404 if isinstance(error, UnknownRun) else 409, str(error)) from None
        saved = FORMS[form]
        name = file_name(info, saved.end, more='-family' if form == 'family' else '')
        headers = HARMLESS | {'Content-Disposition': attachment(name)}
        return StreamingResponse(_all(first, made), media_type=saved.media, headers=headers)


async def _all(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:  # What breaks off here is seen as such: the file has no end.
        yield piece
