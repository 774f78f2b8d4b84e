"""Dependencies of routes: the conductor, the caller, preconditions and parameter types."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Iterable
from typing import Annotated, Any, Final, cast, get_args, get_origin

from fastapi import Depends, Header, Path, Query, Response
from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from starlette.requests import HTTPConnection

from engine import Conductor, InvalidInput
from engine.records import MAX_NUMBER, Conditions, RunId, RunInfo, RunQuery
from ui.api.access import identify
from ui.api.cursors import Page
from ui.api.problems import Refusal
from ui.api.wire import encode_text, from_rfc3339, wire
from ui.app.access.caller import Caller
from ui.app.backend import Backend
from ui.app.services.operations import ServiceOperations
from ui.formatting.fields.record_fields import RecordField, record_fields

EVENT_STREAM: dict[str, Any] = {
    'text/event-stream': {
        'schema': {'type': 'string', 'description': 'Server-Sent Events; the `data` of each is JSON.'}
    }
}
"""Response content for an event stream."""
BINARY = frozenset({'application/gzip', 'application/octet-stream', 'application/zip'})


def contents(*media: str) -> dict[int | str, dict[str, Any]]:
    """Return the documentation of a response in one of these media types.

    Bytes come first: some generators take the first for all.
    """
    return {
        200: {
            'content': {kind: _content(kind) for kind in sorted(media, key=lambda kind: kind not in BINARY)}
        }
    }


def _content(kind: str) -> dict[str, Any]:
    if kind in BINARY:
        return {'schema': {'type': 'string', 'format': 'binary'}}
    return {'schema': {'type': 'string'}} if kind.startswith('text/') else {}


def backend_of(connection: HTTPConnection) -> Backend:
    """Return the backend through which this server reaches its conductor."""
    return cast(Backend, connection.app.state.backend)


def conductor_of(connection: HTTPConnection) -> Conductor:
    """Return the conductor. Raises `Refusal` before it has opened."""
    try:
        return backend_of(connection)()
    except RuntimeError as error:
        raise Refusal(503, 'starting', str(error)) from None


def services_of(connection: HTTPConnection) -> ServiceOperations:
    """Return the services for the caller."""
    conductor_of(connection)
    return backend_of(connection).services


Engine = Annotated[Conductor, Depends(conductor_of)]
BackendDep = Annotated[Backend, Depends(backend_of)]
CallerDep = Annotated[Caller, Depends(identify)]
Run = Annotated[str, Path(max_length=100, description="The run's id.", examples=['3f2a9c1d77be'])]
At = Annotated[
    int | None,
    Query(ge=0, le=MAX_NUMBER, description='The step; the last one by default.', examples=[17]),
]
CollapseAgents = Annotated[bool, Query(description='Whether to draw each agent as one state.')]


def list_of(record: type[Any]) -> Any:
    """Return the response type for a list of records."""
    return list[wire(record)]  # type: ignore[misc]


def page_of(record: type[Any]) -> Any:
    """Return the response type for a page of records."""
    return Page[wire(record)]  # type: ignore[misc]


def etag(info: RunInfo) -> str:
    """Return the entity tag of a run: its last step, and a digest, since its title changes without one."""
    digest = hashlib.blake2s(encode_text(info).encode(), digest_size=6).hexdigest()
    return f'"{info.seq}.{digest}"'


def tag(response: Response, info: RunInfo) -> RunInfo:
    """Set the `ETag` header to that of the run."""
    response.headers['ETag'] = etag(info)
    return info


TAG = re.compile(r'"(\d{1,15})(?:\.[0-9a-f]{12})?"')
"""The `ETag` of a run, or only its step in quotes."""


async def seen_step(
    connection: HTTPConnection,
    run: Run,
    if_match: Annotated[
        str | None,
        Header(
            alias='If-Match',
            description='The `ETag` of the run as the sender saw it, or several: if the run has moved on, the'
            ' request is refused with 412 and changes nothing. Only the step in it counts.',
            examples=['"17"'],
            max_length=1_000,
        ),
    ] = None,
) -> int | None:
    """Return the step that `If-Match` names, of several the present one; None if any will do."""
    if if_match is None or if_match.strip() == '*':
        return None
    tags = (TAG.fullmatch(item.strip()) for item in if_match.split(','))
    steps = [int(match[1]) for match in tags if match]
    if not steps:
        raise Refusal(412, 'step-passed', f'{if_match} is not the ETag of a run', field='If-Match')
    if len(steps) > 1:
        now = (await conductor_of(connection).info(RunId(run))).seq
        return now if now in steps else max(steps)
    return steps[0]


class RequestBody(BaseModel):
    """The body of a request; unknown fields are refused."""

    model_config = ConfigDict(extra='forbid')

    @model_validator(mode='before')
    @classmethod
    def _refuse_half_characters(cls, values: Any) -> Any:
        """Refuse lone surrogates: JSON can escape them, but no response could show what was stored."""
        try:
            json.dumps(values, ensure_ascii=False, default=str).encode()
        except UnicodeEncodeError:
            raise PydanticCustomError(
                'half_character', 'text contains half of a surrogate pair, which cannot be stored'
            ) from None
        except RecursionError:
            raise PydanticCustomError('nested_too_deep', 'it is nested too deep') from None
        return values


def _drop_defaults(schema: dict[str, Any]) -> None:
    for field in schema['properties'].values():
        field.pop('default', None)


class ChangesBody(RequestBody):
    """Changes: fields that are left out stay as they are.

    Its schema has no defaults: generated clients would send them, and so undo what was not to change.
    """

    model_config = ConfigDict(json_schema_extra=_drop_defaults)


def conditions(
    seen: Annotated[int | None, Depends(seen_step)],
    key: Annotated[
        str,
        Header(
            alias='Idempotency-Key',
            max_length=200,
            description='Makes the request safe to repeat: with the same key and body, it is carried out once'
            " (if it is among the run's last 100 events with a key).",
            examples=['4b1c2f0e-step'],
        ),
    ] = '',
) -> Conditions:
    """Return the conditions under which a request steers."""
    return {'seen': seen, 'key': key}


Steering = Annotated[Conditions, Depends(conditions)]


FILTERS: Final = (
    'text',
    'pattern',
    'version',
    'status',
    'tag',
    'without_tag',
    'starred',
    'pinned',
    'edges',
    'state',
    'trouble',
)
"""The fields of `RunQuery` that are filters for callers, but for its times."""
TIMES: Final = ('since', 'until')


def run_query(since: str = '', until: str = '', **filters: Any) -> RunQuery:
    """Return the filters of a list of runs. Raises `InvalidInput`."""
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in filters.items()
    }
    chosen: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    query = RunQuery(
        since=parse_timestamp('since', since) if since else None,
        until=parse_timestamp('until', until) if until else None,
        **chosen,
    )
    if problems := query.problems():
        raise InvalidInput(problems)
    return query


def _filter_parameter(field: RecordField) -> inspect.Parameter:
    """Return the query parameter of a filter: its bounds and help are the field's."""
    notes = get_args(field.annotation)[1:] if get_origin(field.annotation) is Annotated else ()
    bounds = [item for note in notes if isinstance(note, FieldInfo) for item in note.metadata]
    annotation: Any = Annotated[(field.kind, *bounds, Query(description=field.help))]
    default = field.default
    if field.name in TIMES:
        annotation, default = Annotated[str, Query(max_length=50, description=field.help)], ''
    elif inside := get_args(field.kind):  # Repeatable, so its name is in the singular.
        query = Query(description=field.help, alias='edge' if field.name == 'edges' else None)
        annotation, default = Annotated[(list[inside[0]] | None, *bounds, query)], None  # type: ignore[valid-type]
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )


run_query.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [_filter_parameter(field) for field in record_fields(RunQuery) if field.name in (*FILTERS, *TIMES)]
)
Filters = Annotated[RunQuery, Depends(run_query)]


def to_run_ids(runs: Iterable[str]) -> list[RunId]:
    """Return run ids from outside as `RunId`s."""
    return [RunId(run) for run in runs]


def parse_timestamp(field: str, text: str) -> float:
    """Return a moment from outside in seconds since 1970. Raises `InvalidInput`, naming the field."""
    try:
        return float(from_rfc3339(text))
    except (ValueError, OverflowError) as error:
        raise InvalidInput({field: f'must be an RFC 3339 timestamp: {error}'}) from None
