"""Routes derived from operations: one for each that has a request, from its declaration alone."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import is_dataclass, replace
from types import NoneType
from typing import Annotated, Any, cast

from fastapi import APIRouter, Depends, Path, Query, Response
from starlette.requests import HTTPConnection

from engine import Conductor, InvalidInput
from engine.operations import operations_of
from engine.records import HIDDEN, RunId, RunInfo
from ui.api.dependencies import Engine, Run, Steering, tag
from ui.api.idempotency import IdempotentDep, IdempotentRequest
from ui.api.operations.shape import RequestShape, field_info, labelled, shape_of, split
from ui.api.problems import problems
from ui.api.routes.launch import start_once
from ui.api.wire import wire, wire_type
from ui.formatting.fields.record_fields import record_fields

BASE = '/api/v1/'


def derived_routes(protocol: type[Any], find: Callable[[HTTPConnection], Any], tag: str) -> APIRouter:
    """Return a router with the routes of a protocol's operations.

    Args:
        protocol: declares them.
        find: returns the object that carries them out for the caller of a request.
        tag: the section of the documentation.
    """
    router = APIRouter(tags=[tag])

    def target(connection: HTTPConnection) -> Any:
        return find(connection)

    for operation in operations_of(protocol).values():
        if operation.route:
            _add(router, shape_of(operation), target)
    return router


def _add(router: APIRouter, shape: RequestShape, find: Callable[..., Any]) -> None:
    operation, route = shape.operation, shape.route
    creates = shape.starts_run or bool(shape.adds)
    statuses = [*([404] if shape.path or operation.runs else []), *([412] if shape.steers else [])]
    router.add_api_route(
        f'/{route.path}',
        _endpoint(shape, find),
        methods=[route.method],
        name=route.id or operation.name,
        description=operation.summary,
        status_code=201 if creates else 204 if _is_empty(shape) else 200,
        response_model=_response(shape),
        responses=problems(*statuses, *([413, 415] if shape.body else [])),
    )


def _is_empty(shape: RequestShape) -> bool:
    """Whether the response has no content: the operation returns nothing, and leaves no run to summarize."""
    is_on_run = 'run' in shape.path and (shape.steers or shape.route.method != 'DELETE')
    return shape.result is NoneType and not is_on_run


def _response(shape: RequestShape) -> Any:
    """Return the type of the response: what changes a run and returns nothing answers with its summary."""
    if _is_empty(shape):
        return None
    if shape.starts_run or shape.result is NoneType:
        return wire(RunInfo)
    if label := shape.route.result:
        return labelled(label, shape.result)
    return wire_type(shape.result)


def _endpoint(shape: RequestShape, find: Callable[..., Any]) -> Callable[..., Awaitable[Any]]:
    content = shape.whole[0] if shape.whole and shape.is_body_optional else 'body'

    async def endpoint(conductor: Conductor, target: Any, response: Response, **given: Any) -> Any:
        body, once, steering = (given.pop(name, None) for name in (content, 'once', 'steering'))
        try:
            arguments = {name: _run_id(shape, name, value) for name, value in given.items()}
            arguments |= shape.arguments(body) | (steering or {})
        except ValueError as error:
            raise InvalidInput({'body': str(error)}) from None
        method = getattr(target, shape.operation.name)
        if shape.starts_run:
            return await start_once(conductor, once, lambda new: method(**arguments, new=new))
        if shape.adds:
            return await _store(shape, target, arguments, once)
        result = await method(**arguments)
        if shape.result is NoneType and not _is_empty(shape):
            return tag(response, await conductor.info(arguments['run']))
        return {shape.route.result: result} if shape.route.result else _hide_all(result)

    parameters = [
        _dependency('conductor', Engine),
        _dependency('target', Annotated[Any, Depends(find)]),
        _dependency('response', Response),
        *(_parameter(shape, name, Path) for name in shape.path),
        *(_parameter(shape, name, Query) for name in shape.query),
    ]
    if model := shape.model:
        annotation: Any = (model | None) if shape.whole and shape.is_body_optional else model
        default: Any = inspect.Parameter.empty
        if shape.is_body_optional:
            default = None if shape.whole else model()
        parameters.append(_dependency(content, annotation, default))
    if shape.starts_run or shape.adds:
        parameters.append(_dependency('once', IdempotentDep))
    if shape.steers:
        parameters.append(_dependency('steering', Steering))
    endpoint.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return endpoint


async def _store(
    shape: RequestShape, target: Any, arguments: dict[str, Any], once: IdempotentRequest
) -> Response:
    ((name, record),) = arguments.items()

    async def add(new: RunId) -> object:
        return await getattr(target, shape.operation.name)(**{name: replace(record, id=new)})

    return await once.store(add, target.get, location=f'{BASE}{shape.route.path}/{{run}}')


def _hide_all(result: Any) -> Any:
    return [_hide(each) for each in result] if isinstance(result, list) else _hide(result)


def _hide(record: Any) -> Any:
    """Return a record without what only the response that adds it shows."""
    if not is_dataclass(record):
        return record
    kind: Any = type(record)
    hidden = {field.name: '' for field in record_fields(kind) if HIDDEN in split(field.annotation)[1]}
    shown: Any = replace(cast(Any, record), **hidden) if hidden else record
    return shown


def _dependency(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _parameter(shape: RequestShape, name: str, place: Callable[..., Any]) -> inspect.Parameter:
    declared = shape.parameter(name)
    kind, notes = split(declared.annotation)
    if declared.annotation is RunId:
        return _dependency(name, Run)
    info = field_info(notes)
    described = place(description=info.description, examples=info.examples)
    return _dependency(name, Annotated[(kind, *info.metadata, described)], declared.default)


def _run_id(shape: RequestShape, name: str, value: Any) -> Any:
    return RunId(value) if shape.parameter(name).annotation is RunId else value
