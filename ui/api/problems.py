"""Errors as problem details (RFC 9457) that name the field at fault."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field, JsonValue
from pydantic_core import to_jsonable_python as to_jsonable
from starlette._utils import get_route_path
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from engine import EngineError, EventRefused, InvalidInput, PatternError
from engine.errors import (
    BundleError,
    Diverged,
    EntryChanged,
    JournalConflict,
    JournalDamaged,
    JournalError,
    JournalUnavailable,
    NotAllowed,
    RunElsewhere,
    SignedOut,
    StaleOwner,
    StepPassed,
    ToolError,
    UnknownAgent,
    UnknownEndpoint,
    UnknownMcpServer,
    UnknownNote,
    UnknownPattern,
    UnknownRun,
    UnknownStep,
    WorkspaceError,
)
from engine.operations.experiments import NoLaunchDefault, UnknownDataset, UnknownExperiment
from ui.app.services.inbox import QuestionClosed, UnknownQuestion
from ui.app.services.notifications import UnknownDestination, UnknownMessage
from ui.app.services.schedules import BadSignature, UnknownSchedule, UnknownTrigger
from ui.app.services.tools import UnknownTool

log = logging.getLogger('hemicycle')
MEDIA = 'application/problem+json'
KINDS: Mapping[type[EngineError], tuple[int, str]] = {
    SignedOut: (401, 'signed-out'),
    NotAllowed: (403, 'not-allowed'),
    UnknownRun: (404, 'unknown-run'),
    UnknownPattern: (404, 'unknown-pattern'),
    UnknownStep: (404, 'unknown-step'),
    UnknownNote: (404, 'unknown-note'),
    UnknownEndpoint: (404, 'unknown-endpoint'),
    UnknownMcpServer: (404, 'unknown-mcp-server'),
    UnknownAgent: (404, 'unknown-agent'),
    StepPassed: (412, 'step-passed'),
    RunElsewhere: (409, 'run-elsewhere'),
    QuestionClosed: (409, 'question-closed'),
    EventRefused: (409, 'event-refused'),
    Diverged: (409, 'diverged'),
    JournalConflict: (409, 'conflict'),
    EntryChanged: (409, 'changed'),
    StaleOwner: (409, 'stale-owner'),
    JournalUnavailable: (503, 'journal-unavailable'),
    JournalDamaged: (500, 'journal-damaged'),
    JournalError: (503, 'journal-error'),
    InvalidInput: (422, 'invalid-input'),
    BundleError: (422, 'invalid-bundle'),
    ToolError: (422, 'tool-error'),
    PatternError: (409, 'pattern-error'),
    WorkspaceError: (404, 'unknown-file'),
    UnknownQuestion: (404, 'unknown-question'),
    UnknownDestination: (404, 'unknown-destination'),
    UnknownMessage: (404, 'unknown-message'),
    UnknownSchedule: (404, 'unknown-schedule'),
    UnknownDataset: (404, 'unknown-dataset'),
    UnknownExperiment: (404, 'unknown-experiment'),
    NoLaunchDefault: (404, 'no-launch-default'),
    UnknownTrigger: (404, 'unknown-trigger'),
    UnknownTool: (404, 'unknown-tool'),
    BadSignature: (401, 'bad-signature'),
    EngineError: (409, 'refused'),
}
"""The status and kind of each error; the first class in an error's MRO that is listed counts."""
RETRY_SECONDS = '1'


class FieldProblem(BaseModel):
    """One field that is wrong."""

    field: str = Field(description='Its name, such as `parameters.rounds`; empty for the request as a whole.')
    detail: str


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = Field(
        description='The kind of problem, for programs.', examples=['urn:hemicycle:unknown-run']
    )
    title: str
    status: int
    detail: str = Field(description='A sentence for people.')
    errors: list[FieldProblem] = Field([], description='The fields that are wrong.')
    about: dict[str, JsonValue] = Field(
        {}, description='The values in the sentence, by name: `run`, `step` and so on.'
    )


class Refusal(HTTPException):
    """A request is refused; `kind` ends the problem's type."""

    def __init__(self, status: int, kind: str, detail: str, *, field: str = '') -> None:
        self.kind, self.field = kind, field
        super().__init__(status, detail)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of these errors, for a route."""
    return {status: {'model': Problem, 'description': HTTPStatus(status).phrase} for status in statuses}


def problem(
    status: int,
    kind: str,
    detail: str,
    errors: Mapping[str, str] | None = None,
    *,
    about: Mapping[str, Any] | None = None,
) -> JSONResponse:
    """Return a response that says what went wrong."""
    body = Problem(
        type=f'urn:hemicycle:{kind}',
        title=HTTPStatus(status).phrase,
        status=status,
        detail=detail,
        errors=[FieldProblem(field=name, detail=text) for name, text in (errors or {}).items()],
        about=dict(about or {}),
    )
    return _ProblemResponse(body.model_dump(), status, media_type=MEDIA)


class _ProblemResponse(JSONResponse):
    """A problem may quote half a character (a lone surrogate) from the request: show it as '?'."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, ensure_ascii=False, separators=(',', ':')).encode(errors='replace')


def problem_of(error: EngineError) -> JSONResponse:
    """Return the response for an error of the engine."""
    status, kind = next(KINDS[cls] for cls in type(error).__mro__ if cls in KINDS)
    wrong = error.problems if isinstance(error, InvalidInput) else None
    about = {} if wrong else to_jsonable(vars(error))
    response = problem(status, kind, str(error), wrong, about=about)
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers['Retry-After'] = RETRY_SECONDS
    return response


class PlainErrors:
    """Middleware: turns plain-text errors from other middleware into problems.

    A path with a line break names nothing: patterns of routes disagree about whether it matches.

    Args:
        app: the application.
        below: only for paths with this prefix.
    """

    def __init__(self, app: ASGIApp, below: str = '') -> None:
        self._app, self._below = app, below

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request."""
        status, text = 0, b''

        async def send_problem(message: Message) -> None:
            nonlocal status, text
            if message['type'] == 'http.response.start' and _is_plain_error(message):
                status = message['status']
            elif not status:
                await send(message)
            else:
                text += message.get('body', b'')
                if not message.get('more_body'):
                    kind, detail = KNOWN.get(status, (_problem_kind(status), text.decode(errors='replace')))
                    await problem(status, kind, detail)(scope, receive, send)

        is_api = scope['type'] == 'http' and scope['path'].startswith(self._below)
        if is_api and '\n' in scope['path']:
            await problem(404, 'not-found', 'the path has a line break')(scope, receive, send)
            return
        await self._app(scope, receive, send_problem if is_api else send)


KNOWN: Mapping[int, tuple[str, str]] = {413: ('too-large', 'the body is too large')}
"""Kind and detail for statuses whose plain text is unclear."""


def _is_plain_error(message: Message) -> bool:
    return message['status'] >= HTTPStatus.BAD_REQUEST and b'text/plain' in dict(message['headers']).get(
        b'content-type', b''
    )


def _problem_kind(status: int) -> str:
    return HTTPStatus(status).phrase.lower().replace(' ', '-')


def _methods(request: Request) -> str:
    """Return the methods of all routes at the request's path; the router names those of the first."""
    path, methods = get_route_path(request.scope), {'OPTIONS'}
    for route in iter_route_contexts(request.app.routes):
        if route.methods and route.path_regex.match(path):
            methods |= route.methods
    return ', '.join(sorted(methods))


def answer_errors(app: FastAPI) -> None:
    """Make the app answer every error with problem details (RFC 9457)."""

    @app.exception_handler(EngineError)
    async def answer_engine_error(request: Request, error: EngineError) -> Response:
        return problem_of(error)

    @app.exception_handler(RequestValidationError)
    async def answer_invalid(request: Request, error: RequestValidationError) -> Response:
        fields: dict[str, str] = {}
        for item in error.errors():
            place = [str(part) for part in item['loc'][1:]] or [str(part) for part in item['loc'][:1]]
            fields.setdefault('.'.join(place) if item['type'] != 'json_invalid' else 'body', item['msg'])
        detail = '; '.join(f'{name}: {text}' for name, text in fields.items())
        return problem(422, 'invalid-input', detail, fields)

    @app.exception_handler(HTTPException)
    async def answer_http_error(request: Request, error: HTTPException) -> Response:
        allow = {'Allow': _methods(request)} if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED else {}
        if allow and request.method == 'OPTIONS':
            return Response(status_code=204, headers=allow)
        kind = error.kind if isinstance(error, Refusal) else _problem_kind(error.status_code)
        named = getattr(error, 'field', '')
        response = problem(
            error.status_code,
            kind,
            str(error.detail),
            {named: str(error.detail)} if named else {},
        )
        response.headers.update({**(error.headers or {}), **allow})
        return response

    @app.exception_handler(Exception)
    async def answer_unexpected(request: Request, error: Exception) -> Response:
        log.exception('%s %s failed', request.method, request.url.path, exc_info=error)
        return problem(500, 'internal', 'the server failed; see its log')
