"""Downloads, which browsers save and never open as a page: files, artifacts, archives, exports."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO
from urllib.parse import quote

from fastapi import HTTPException, Response
from nicegui import app
from starlette.background import BackgroundTask
from starlette.responses import FileResponse, StreamingResponse

from engine import Conductor, EngineError
from engine.records import RunId
from engine.workspace import format_patch
from ui.app.backend import Backend

PIECE_BYTES = 1 << 18
DIGEST = re.compile('[0-9a-f]{64}')
HARMLESS = {
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; sandbox",
    'Cache-Control': 'private, no-store',
}
"""Agents write these files, so browsers must never treat one as a page of ours."""


def serve_downloads(backend: Backend) -> None:
    """Serve `/runs/{run}/kept/{digest}`, `.../archive/{snapshot}` and `.../patch/{snapshot}`.

    Each takes `?name=`. A patch is the difference from `?before=`: a snapshot, or '' for an empty folder.
    With `?artifact=NAME`, the content is an artifact: text is stored as JSON and sent as plain text.
    """

    @app.get('/runs/{run}/kept/{digest}')
    async def download_content(run: str, digest: str, name: str = '', artifact: str = '') -> Response:
        _check(digest)
        conductor = backend()
        try:
            info = await conductor.info(RunId(run))
            content = await conductor.workspaces.content(info.id, digest)
        except EngineError as error:
            raise HTTPException(404, str(error)) from None
        if artifact:
            name, content = await asyncio.to_thread(_artifact, artifact, content)
        headers = HARMLESS | {'Content-Disposition': attachment(name or digest[:12])}
        return Response(content, media_type='application/octet-stream', headers=headers)

    @app.get('/runs/{run}/archive/{snapshot}')
    async def archive(run: str, snapshot: str, name: str = '') -> Response:
        _check(snapshot)
        conductor = backend()
        try:
            info = await conductor.info(RunId(run))
            return await zip_download(conductor, info.id, snapshot, name)
        except EngineError as error:
            raise HTTPException(404, str(error)) from None

    @app.get('/runs/{run}/patch/{snapshot}')
    async def patch(run: str, snapshot: str, before: str = '', name: str = '') -> Response:
        for digest in (snapshot, *([before] if before else [])):
            _check(digest)
        conductor = backend()
        try:
            info = await conductor.info(RunId(run))
            changes = await conductor.workspaces.diff(info.id, before, snapshot)
        except EngineError as error:
            raise HTTPException(404, str(error)) from None
        headers = HARMLESS | {'Content-Disposition': attachment(f'{name or snapshot[:12]}.patch')}
        return Response(format_patch(changes), media_type='application/octet-stream', headers=headers)


async def zip_download(conductor: Conductor, run: RunId, snapshot: str, name: str = '') -> Response:
    """Return the files of a snapshot as a ZIP file. Raises `EngineError`."""
    path = await asyncio.to_thread(_scratch)
    try:
        with disk_errors():
            await conductor.workspaces.export(run, snapshot, path)
    except BaseException:
        await asyncio.to_thread(path.unlink, missing_ok=True)
        raise
    return FileResponse(
        path,
        media_type='application/zip',
        headers=HARMLESS | {'Content-Disposition': attachment(f'{name or snapshot[:12]}.zip')},
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


async def complete_download(content: AsyncIterator[bytes], media: str, name: str) -> Response:
    """Return a download that begins only once it is complete, so that errors get an error response.

    Raises:
        EngineError: it cannot be made, or the disk is full.
    """
    with disk_errors(), ExitStack() as closing:
        file: BinaryIO = closing.enter_context(await asyncio.to_thread(tempfile.TemporaryFile))
        async for piece in content:
            await asyncio.to_thread(file.write, piece)
        size = file.tell()
        await asyncio.to_thread(file.seek, 0)
        closing.pop_all()
    headers = HARMLESS | {'Content-Disposition': attachment(name), 'Content-Length': str(size)}
    return StreamingResponse(_pieces(file), media_type=media, headers=headers)


@contextmanager
def disk_errors() -> Iterator[None]:
    """Convert system errors, such as a full disk, to `EngineError`."""
    try:
        yield
    except OSError as error:
        raise EngineError(f'the file cannot be made: {error.strerror or error}') from error


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    with file:
        while piece := file.read(PIECE_BYTES):
            yield piece


def _check(digest: str) -> None:
    if not DIGEST.fullmatch(digest):
        raise HTTPException(404, 'there is nothing under this name')


def _artifact(name: str, content: bytes) -> tuple[str, bytes]:
    try:
        value = json.loads(content)
    except ValueError:
        return name, content
    if isinstance(value, str):
        return f'{name}.md', value.encode(errors='replace')
    return f'{name}.json', content


def _scratch() -> Path:
    with tempfile.NamedTemporaryFile(prefix='hemicycle-', suffix='.zip', delete=False) as file:
        return Path(file.name)


def attachment(name: str) -> str:
    """Return a `Content-Disposition` (RFC 6266) whose name cannot end the header or contain a folder."""
    plain = re.sub(r'[\x00-\x1f\x7f/\\\ud800-\udfff]+', '_', name)[-180:].strip('. ') or 'file'
    simple = re.sub(r'[^A-Za-z0-9._ -]', '_', plain)
    return f'attachment; filename="{simple}"; filename*=UTF-8\'\'{quote(plain, safe="")}'
