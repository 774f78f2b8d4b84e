"""Requests to services that are not derived: their times are text, or a signature replaces a login."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from pydantic import Field

from engine.records import RunId
from ui.api.dependencies import BackendDep, RequestBody, list_of, parse_timestamp
from ui.api.idempotency import IdempotentDep
from ui.api.problems import problems
from ui.api.wire import encode_text, wire
from ui.app.services.inbox import InboxItem
from ui.app.services.schedules import Tick

router = APIRouter()
SCHEDULES: list[str | Enum] = ['Schedules']
AskId = Annotated[str, Path(max_length=200, description="The question's id.")]
ScheduleId = Annotated[str, Path(max_length=100)]
TriggerId = Annotated[str, Path(max_length=100)]


class Snoozed(RequestBody):
    """How long a question is left out of the list."""

    until: str = Field(max_length=50, description='An RFC 3339 timestamp; empty to list it again now.')


class Span(RequestBody):
    """A time span."""

    since: str = Field(max_length=50, description='An RFC 3339 timestamp.')
    until: str = Field(max_length=50, description='An RFC 3339 timestamp, not in the future.')


@router.put(
    '/inbox/{ask}/snooze',
    tags=['Inbox'],
    response_model=wire(InboxItem),
    responses=problems(404, 413, 415),
)
async def snooze_question(web: BackendDep, ask: AskId, body: Snoozed) -> InboxItem:
    """Leave a question out of the list until a given time."""
    until = parse_timestamp('until', body.until) if body.until else 0.0
    return await web.services.inbox.snooze(ask, until)


@router.post('/schedules/{schedule}/run', tags=SCHEDULES, response_model=wire(Tick), responses=problems(404))
async def run_schedule(web: BackendDep, once: IdempotentDep, schedule: ScheduleId) -> Response:
    """Start a run of a schedule now, even if another is running."""

    async def make(new: RunId) -> Response:
        tick = await web.services.schedules.run_now(schedule, key=new)
        return Response(encode_text(tick), media_type='application/json')

    return await once(make)


@router.post(
    '/schedules/{schedule}/backfill',
    tags=SCHEDULES,
    response_model=list_of(Tick),
    responses=problems(404, 413, 415),
)
async def backfill_schedule(web: BackendDep, schedule: ScheduleId, span: Span) -> Sequence[Tick]:
    """Start a run for each scheduled time in a span that has none yet."""
    since, until = parse_timestamp('since', span.since), parse_timestamp('until', span.until)
    return await web.services.schedules.backfill(schedule, since, until)


@router.post(
    '/triggers/{trigger}/webhook',
    tags=SCHEDULES,
    response_model=wire(Tick),
    responses=problems(404, 413, 415),
    openapi_extra={
        'requestBody': {'content': {'application/json': {'schema': {}}}, 'required': True},
        'security': [],
    },
)
async def receive_webhook(web: BackendDep, trigger: TriggerId, request: Request) -> Tick:
    """Start a run for a webhook signed according to Standard Webhooks; a repeated delivery starts none.

    The signature replaces a login.
    """
    return await web.root_services.triggers.receive(trigger, request.headers, await request.body())
