"""Launching runs, with every option of the launch form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Response
from pydantic import ConfigDict

from engine.errors import JournalConflict
from engine.records import Launch, RunId, RunInfo
from ui.api.dependencies import Engine, RequestBody, etag
from ui.api.idempotency import IdempotentDep, respond_created
from ui.api.problems import problems
from ui.api.wire import encode_text, input_model, to_record, wire

router = APIRouter(prefix='/runs', tags=['Runs'])
PLACE = '/api/v1/runs/{run}'
EXAMPLES: list[Any] = [
    {'pattern': 'pipeline', 'parameters': {'task': 'Should a small team adopt event sourcing?'}},
    {
        'pattern': 'supervisor',
        'parameters': {'task': 'Compare tea and coffee'},
        'models': {'': 'openai/gpt-5', 'judge': 'anthropic/claude-opus-5'},
        'budget': {'tokens': 200_000, 'cost': 2.5},
        'tags': ['trial'],
        'approvals': 'all',
    },
]


LAUNCH: Any = input_model(Launch)


class NewRun(RequestBody, LAUNCH):  # type: ignore[misc]  # It is derived.
    """A run to launch, with its options; what is given by role is for all other roles at `""`."""

    model_config = ConfigDict(json_schema_extra={'examples': EXAMPLES})


@router.post('', status_code=201, response_model=wire(RunInfo), responses=problems(404, 413, 415))
async def start(conductor: Engine, once: IdempotentDep, body: NewRun) -> Response:
    """Start a run. It is journaled, and continues even if this connection is lost."""

    async def begin(run: RunId) -> object:
        return await conductor.start(to_record(Launch, body), run=run)

    return await start_once(conductor, once, begin)


async def start_once(
    conductor: Engine, once: IdempotentDep, begin: Callable[[RunId], Awaitable[object]]
) -> Response:
    """Start a run with `begin`, once however often the request is repeated; return the response for it."""

    async def make(run: RunId) -> Response:
        with suppress(JournalConflict):  # This server died after it had started the run.
            await begin(run)
        info = await conductor.info(run)
        response = respond_created(encode_text(info), PLACE.format(run=run))
        response.headers['ETag'] = etag(info)
        return response

    return await once(make, location=PLACE)
