"""Endpoints for monitoring: liveness, readiness and metrics."""

from __future__ import annotations

import logging

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from engine import EngineError
from engine.records import RunQuery
from ui.server.metrics import MEDIA, Metrics
from ui.web.backend import Backend

log = logging.getLogger('hemicycle')
HEALTH, READY, METRICS = '/healthz', '/readyz', '/metrics'


def monitoring_routes(backend: Backend, metrics: Metrics) -> list[Route]:
    """Return the routes `/healthz`, `/readyz` and `/metrics`."""

    async def health(request: Request) -> Response:
        """Liveness: restart the process if there is no response."""
        return JSONResponse({'status': 'ok'})

    async def ready(request: Request) -> Response:
        """Readiness: whether runs can be read; send no traffic here otherwise."""
        if not backend.is_open:
            return JSONResponse({'status': 'starting'}, 503)
        conductor = backend.root
        try:
            await conductor.runs(RunQuery(limit=1))
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
