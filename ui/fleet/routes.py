"""Worker routes for the fleet: its description, whether it could take a run, and draining."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass
from urllib.parse import unquote

from fastapi import APIRouter
from pydantic import Field
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from engine import EngineError
from engine.records import RunId
from engine.runtime import acting_as
from ui.api.dependencies import Engine, RequestBody
from ui.api.problems import problem, problems
from ui.api.wire import wire
from ui.app.fleet import WorkerInfo
from ui.fleet.settings import ACTOR_HEADER


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """Whether a worker could continue a run."""

    problem: str = ''
    """Why not, or ''."""


class RunToTake(RequestBody):
    """A run to be taken."""

    run: str = Field(max_length=100)


def worker_routes(describe: Callable[[], WorkerInfo], start_draining: Callable[[], None]) -> APIRouter:
    """Build the routes.

    Args:
        describe: returns the worker's description.
        start_draining: makes it release its runs and exit.
    """
    router = APIRouter(prefix='/worker', tags=['Server'])

    @router.get('', response_model=wire(WorkerInfo))
    async def describe_worker() -> WorkerInfo:
        """Describe this worker, including the runs that it drives."""
        return describe()

    @router.post('/fits', response_model=wire(Fit), responses=problems(404))
    async def fits(conductor: Engine, body: RunToTake) -> Fit:
        """Check whether this worker's version of a run's pattern can replay the run's history."""
        try:
            info = await conductor.info(RunId(body.run))
            if info.seq > info.parent_at or info.parent is None:
                await conductor.audit(info.id)
        except EngineError as error:
            return Fit(problem=str(error))
        return Fit()

    @router.post('/drain', status_code=202)
    async def drain() -> None:
        """Release all runs and exit."""
        start_draining()

    return router


class TokenOnly:
    """Middleware that requires the fleet's token, except on open paths."""

    def __init__(self, app: ASGIApp, token: str, open_paths: Collection[str] = ()) -> None:
        self._app, self._expected, self._open = app, f'Bearer {token}'.encode(), open_paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request or a socket."""
        if scope['type'] not in ('http', 'websocket') or scope['path'] in self._open:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        authorization = headers.get('authorization', '').encode()
        if secrets.compare_digest(authorization, self._expected):
            with acting_as(unquote(headers.get(ACTOR_HEADER, ''))):
                await self._app(scope, receive, send)
        elif scope['type'] == 'websocket':
            await send({'type': 'websocket.close', 'code': 1008, 'reason': 'no token'})
        else:
            refused = problem(401, 'no-token', "the fleet's token is missing or wrong")
            await refused(scope, receive, send)
