"""Builds the API: one FastAPI application, mounted next to the pages or served on its own."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Collection, Mapping
from typing import Any

from fastapi import Depends, FastAPI
from fastapi_offline import FastAPIOffline
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from engine.history import program_version
from engine.operations import (
    Agents,
    Annotating,
    Charting,
    Checking,
    Datasets,
    Endpoints,
    Experimenting,
    Forking,
    McpServers,
    Merging,
    Reading,
    Rehearsing,
    Retaining,
    Steering,
)
from ui.api import agui
from ui.api.access import SHARED, OwnOrigin, identify
from ui.api.dependencies import backend_of, conductor_of, services_of
from ui.api.operations.examples import BODIES, TAGS
from ui.api.operations.routes import derived_routes
from ui.api.problems import MEDIA, PlainErrors, answer_errors, problems
from ui.api.routes import (
    datasets,
    files,
    forks,
    history,
    launch,
    maintenance,
    merging,
    patterns,
    runs,
    server,
    services,
    sharing,
)
from ui.api.streams import socket, sse
from ui.app.access.http import COOKIE
from ui.app.access.operations import AccountOperations
from ui.app.backend import Backend
from ui.app.services.operations import (
    DestinationOperations,
    InboxOperations,
    NotificationOperations,
    ScheduleOperations,
    ToolOperations,
    TriggerOperations,
)

MAX_BYTES = 8 << 20
"""Maximum size of a request body that is not a file: room for those of a launch, in base64."""
DESCRIPTION = """Runs multi-agent workflows as statecharts: launch, watch, steer, replay and fork them.

Errors are problem details (RFC 9457). Lists have cursors: pass `next` as `cursor`. Timestamps are in RFC
3339. Requests that create something or steer are safe to repeat with an `Idempotency-Key`. The `ETag` of a
run begins with its last step: with `If-Match`, steering is refused once the run has moved on."""
LOGINS: Mapping[str, Any] = {
    'token': {
        'type': 'http',
        'scheme': 'bearer',
        'description': 'A token of an account. A server without accounts needs none.',
    },
    'session': {
        'type': 'apiKey',
        'in': 'cookie',
        'name': COOKIE,
        'description': 'The session of a page. Over TLS, its name begins with `__Host-`; it ends in the'
        ' port of the address, if that names one, and the path below which a proxy serves us.',
    },
}
"""How callers identify themselves."""
ROUTES = (
    patterns.router,
    derived_routes(Rehearsing, conductor_of, 'Patterns'),
    derived_routes(Charting, lambda connection: conductor_of(connection).charts, 'Charts'),
    launch.router,
    runs.router,
    derived_routes(Reading, conductor_of, 'Runs'),
    derived_routes(Steering, conductor_of, 'Steering'),
    forks.router,
    derived_routes(Forking, conductor_of, 'Forks'),
    merging.router,
    derived_routes(Merging, lambda connection: conductor_of(connection).merging, 'Merging'),
    history.router,
    derived_routes(Checking, conductor_of, 'History'),
    datasets.router,
    derived_routes(Datasets, lambda connection: conductor_of(connection).datasets, 'Experiments'),
    derived_routes(Experimenting, lambda connection: conductor_of(connection).experiments, 'Experiments'),
    maintenance.router,
    derived_routes(Annotating, conductor_of, 'Notes'),
    derived_routes(Retaining, conductor_of, 'Retention'),
    sharing.router,
    files.router,
    derived_routes(InboxOperations, lambda connection: services_of(connection).inbox, 'Inbox'),
    derived_routes(
        NotificationOperations, lambda connection: services_of(connection).notifications, 'Notifications'
    ),
    derived_routes(
        DestinationOperations,
        lambda connection: services_of(connection).notifications.destinations,
        'Notifications',
    ),
    derived_routes(ScheduleOperations, lambda connection: services_of(connection).schedules, 'Schedules'),
    derived_routes(TriggerOperations, lambda connection: services_of(connection).triggers, 'Schedules'),
    derived_routes(ToolOperations, lambda connection: services_of(connection).tools, 'Tools'),
    services.router,
    derived_routes(Endpoints, lambda connection: conductor_of(connection).endpoints, 'Models'),
    derived_routes(McpServers, lambda connection: conductor_of(connection).mcp_servers, 'Tools'),
    derived_routes(Agents, lambda connection: conductor_of(connection).agents, 'Models'),
    derived_routes(AccountOperations, lambda connection: backend_of(connection).accounts, 'Accounts'),
    server.router,
    sse.router,
    socket.router,
    agui.router,
)


def build_api(backend: Backend, origins: Collection[str] = ()) -> FastAPI:
    """Build the application.

    Args:
        backend: how it reaches the conductor.
        origins: other sites whose pages may use it; none by default.
    """
    app = FastAPIOffline(  # the interactive page loads nothing from other hosts
        docs_url='/docs',
        redoc_url=None,
        title='Hemicycle',
        version=program_version(),
        summary='Launch, watch, steer, replay and fork workflows of agents.',
        description=DESCRIPTION,
        dependencies=[Depends(identify)],
        generate_unique_id_function=lambda route: route.name,
        responses=problems(400, 401, 403, 409, 422, 500, 503),
        openapi_tags=[{'name': name, 'description': description} for name, description in TAGS],
        strict_content_type=False,  # `OwnOrigin` rejects other types with 415.
    )
    app.state.backend = backend
    answer_errors(app)
    app.add_middleware(OwnOrigin, origins=origins)
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=MAX_BYTES)
    app.add_middleware(PlainErrors)
    if origins:
        app.add_middleware(CORSMiddleware, **SHARED, allow_origins=list(origins))
    for router in ROUTES:
        app.include_router(router)
    app.openapi = lambda: _openapi_document(app)  # type: ignore[method-assign]
    _serve_document(app)
    return app


def _serve_document(app: FastAPI) -> None:
    """Serve the OpenAPI document as FastAPI does, but make it, which takes seconds, beside the event loop."""
    path = str(app.openapi_url)
    own = next(route for route in app.router.routes if isinstance(route, Route) and route.path == path)
    app.router.routes.remove(own)

    async def openapi(request: Request) -> Response:
        await asyncio.to_thread(app.openapi)  # It is kept: FastAPI's own route finds it made.
        answer: Response = await own.endpoint(request)  # Adds the address under which it is served.
        return answer

    app.add_route(path, openapi, include_in_schema=False)


def _openapi_document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with examples, logins, and errors under their own media type."""
    if app.openapi_schema is None:
        document = _with_plain_names(FastAPI.openapi(app))
        document['components']['securitySchemes'] = LOGINS
        document['security'] = [{}, *({name: []} for name in LOGINS)]
        for path in document['paths'].values():
            for operation in path.values():
                if example := BODIES.get(operation['operationId']):
                    operation['requestBody']['content']['application/json']['example'] = example
                for status, answer in operation['responses'].items():
                    if status >= '400' and 'application/json' in answer.get('content', {}):
                        answer['content'] = {MEDIA: answer['content'].pop('application/json')}
        for unused in ('HTTPValidationError', 'ValidationError'):
            document['components']['schemas'].pop(unused, None)
        app.openapi_schema = document
    return app.openapi_schema


def _with_plain_names(document: dict[str, Any]) -> dict[str, Any]:
    """Name and title a schema `ToolCallInput` where FastAPI has `ToolCall-Input`, titled `ToolCall`.

    Generated clients name a class by its title.
    """
    text = re.sub(r'("(?:#/components/schemas/)?\w+)-(?:Output|(Input))"', r'\1\2"', json.dumps(document))
    plain: dict[str, Any] = json.loads(text)
    for name, schema in plain['components']['schemas'].items():
        if name not in document['components']['schemas']:
            schema['title'] = name
    return plain
