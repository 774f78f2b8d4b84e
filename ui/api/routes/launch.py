"""Launching runs, with every option of the launch form."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from fastapi import APIRouter, Response
from pydantic import ConfigDict, Field, StrictBool

from engine import Breakpoint, Budget
from engine.errors import JournalConflict
from engine.records import MAX_TAGS, MAX_TITLE, Approvals, RunId, RunInfo
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


class NewRun(RequestBody):
    """A run to launch, with its options."""

    model_config = ConfigDict(json_schema_extra={'examples': EXAMPLES})

    pattern: str = Field(max_length=200, description='The name of a pattern.')
    parameters: dict[str, Any] = Field({}, description='Values for the parameters of the pattern.')
    title: str = Field(
        '', max_length=MAX_TITLE, description='Shown in lists; derived from the input if empty.'
    )
    tags: list[str] = Field([], max_length=MAX_TAGS, description='For finding the run later.')
    models: dict[str, str] = Field({}, description='Models by role; `""` applies to all other roles.')
    seed: int = Field(0, ge=0, le=2**31 - 1, description='Seeds the randomness of simulated models.')
    budget: input_model(Budget) | None = Field(None, description='Limits on what it may use.')  # type: ignore[valid-type]
    approvals: Approvals | None = Field(None, description='Which tools need approval; `marked` by default.')
    record: StrictBool = Field(False, description='Whether to record model responses for later replay.')
    replay: str = Field(
        '', max_length=100, description='The run whose recording answers instead of the models.'
    )
    paused: StrictBool = Field(False, description='Whether to enter the first state without starting work.')
    private: StrictBool = Field(False, description='Whether only its author and administrators can see it.')
    breakpoints: list[input_model(Breakpoint)] = Field([], max_length=100, description='Where to stop.')  # type: ignore[valid-type]
    instructions: dict[str, str] = Field({}, description="Instructions by role, instead of the pattern's.")
    effort: dict[str, str] = Field(
        {}, description='Reasoning effort by role, a level or a number of tokens; `""`: all other roles.'
    )
    tools: dict[str, list[str]] = Field({}, description="Tools by role, instead of the pattern's.")


@router.post('', status_code=201, response_model=wire(RunInfo), responses=problems(404, 413, 415))
async def start(conductor: Engine, once: IdempotentDep, body: NewRun) -> Response:
    """Start a run. It is journaled, and continues even if this connection is lost."""

    async def begin(run: RunId) -> object:
        return await conductor.start(
            body.pattern,
            body.parameters,
            title=body.title,
            tags=body.tags,
            models=body.models,
            seed=body.seed,
            budget=body.budget and to_record(Budget, body.budget),
            approvals=body.approvals,
            record=body.record,
            replay=RunId(body.replay) if body.replay else None,
            paused=body.paused,
            private=body.private,
            breakpoints=[to_record(Breakpoint, item) for item in body.breakpoints],
            instructions=body.instructions,
            tools=body.tools,
            effort=body.effort,
            run=run,
        )

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
