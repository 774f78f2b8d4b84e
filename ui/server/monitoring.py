"""Endpoints for monitoring: liveness, readiness and metrics."""

from __future__ import annotations

import asyncio
import logging
import secrets
import tempfile
import time
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from engine import EngineError, LocalConductor
from engine.errors import WorkspaceError
from engine.journal import Entry, EntryQuery
from engine.records import RunQuery
from ui.app.backend import Backend
from ui.server.metrics import MEDIA, Metrics

log = logging.getLogger('hemicycle')
HEALTH, READY, METRICS = '/healthz', '/readyz', '/metrics'
PROBE_SECONDS: Final = 5.0
"""For how long a successful write counts."""
PADDING: Final = 8_192
"""Bytes of a test write: more than one block, so that no free rest of one holds it."""


class _Probe:
    """Finds out whether the database and the agents' folders can be written, such as on a full disk."""

    def __init__(self) -> None:
        self._turn = asyncio.Lock()
        self._next = 0.0

    async def write(self, conductor: LocalConductor) -> None:
        """Write a few bytes to both, unless that succeeded a moment ago: anybody may ask.

        Raises:
            EngineError: one cannot be written.
        """
        async with self._turn:
            if time.monotonic() < self._next:
                return
            await asyncio.to_thread(_write_file, conductor.workspaces.root)
            entry = Entry(kind='probe', key=secrets.token_hex(8), body={'padding': '.' * PADDING})
            await conductor.journal.documents.write([entry])
            await conductor.journal.documents.forget(EntryQuery(kind='probe'))
            self._next = time.monotonic() + PROBE_SECONDS


def _write_file(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b'.' * PADDING)
    except OSError as error:
        raise WorkspaceError(f'files cannot be written: {error.strerror}') from error


def monitoring_routes(backend: Backend, metrics: Metrics) -> list[Route]:
    """Return the routes `/healthz`, `/readyz` and `/metrics`."""

    async def health(request: Request) -> Response:
        """Liveness: restart the process if there is no response."""
        return JSONResponse({'status': 'ok'})

    probe = _Probe()

    async def ready(request: Request) -> Response:
        """Readiness: whether runs can be read and written; send no traffic here otherwise."""
        if not backend.is_open:
            return JSONResponse({'status': 'starting'}, 503)
        conductor = backend.root
        try:
            await conductor.runs(RunQuery(limit=1))
            await probe.write(conductor)
        except EngineError as error:
            if backend.access:  # The endpoint is public, and the reason may contain local paths.
                log.warning('not ready: %s', error)
                return JSONResponse({'status': 'unavailable'}, 503)
            return JSONResponse({'status': 'unavailable', 'reason': str(error)}, 503)
        return JSONResponse({'status': 'ok', 'stranded': len(conductor.stranded)})

    async def measure(request: Request) -> Response:
        """Return all metrics."""
        if not backend.is_open:
            return PlainTextResponse('the server is starting', 503)
        services = backend.root_services
        try:
            metrics.questions.set(len((await services.inbox.list(snoozed=True)).items))
            metrics.notifications.set(services.notifications.waiting)
            return Response(await metrics.render(backend.root), media_type=MEDIA)
        except EngineError as error:
            return PlainTextResponse(str(error), 503)

    return [Route(path, answer) for path, answer in ((HEALTH, health), (READY, ready), (METRICS, measure))]
