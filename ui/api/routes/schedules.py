"""Schedules and triggers: start runs by the clock, by a webhook, or by a file that arrives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import Field

from engine.records import RunId
from ui.api.dependencies import BackendDep, CallerDep, ChangesBody, RequestBody, list_of, parse_timestamp
from ui.api.idempotency import IdempotentDep
from ui.api.problems import problems
from ui.api.wire import changes_model, encode_text, given_fields, input_model, wire
from ui.services.schedules import Schedule, Tick, Trigger

router = APIRouter()
TAGS: list[str | Enum] = ['Schedules']
ScheduleId = Annotated[str, Path(max_length=100)]
TriggerId = Annotated[str, Path(max_length=100)]
MaxTicks = Annotated[int, Query(ge=1, le=1_000)]
SCHEDULE = '/api/v1/schedules/{run}'
TRIGGER = '/api/v1/triggers/{run}'


SCHEDULE_INPUT: Any = input_model(Schedule)
SCHEDULE_CHANGES: Any = changes_model(Schedule)


class ScheduleInput(RequestBody, SCHEDULE_INPUT):  # type: ignore[misc]  # It is derived.
    """A schedule."""


class ScheduleChanges(ChangesBody, SCHEDULE_CHANGES):  # type: ignore[misc]  # It is derived.
    """Changes to a schedule; fields that are left out stay as they are."""


TRIGGER_INPUT: Any = input_model(Trigger)
TRIGGER_CHANGES: Any = changes_model(Trigger)


class TriggerInput(RequestBody, TRIGGER_INPUT):  # type: ignore[misc]  # It is derived.
    """A trigger."""


class TriggerChanges(ChangesBody, TRIGGER_CHANGES):  # type: ignore[misc]  # It is derived.
    """Changes to a trigger; fields that are left out stay as they are."""


class Span(RequestBody):
    """A time span."""

    since: str = Field(max_length=50, description='An RFC 3339 timestamp.')
    until: str = Field(max_length=50, description='An RFC 3339 timestamp, not in the future.')


@router.get('/schedules', tags=TAGS, response_model=list_of(Schedule))
async def list_schedules(web: BackendDep) -> list[Schedule]:
    """List schedules with their next times."""
    web()
    return await web.services.schedules.list()


@router.post(
    '/schedules', tags=TAGS, status_code=201, response_model=wire(Schedule), responses=problems(413, 415)
)
async def add_schedule(web: BackendDep, once: IdempotentDep, who: CallerDep, body: ScheduleInput) -> Response:
    """Add a schedule, starting now."""
    web()
    schedules = web.services.schedules

    async def add(new: RunId) -> Schedule:
        return await schedules.add(Schedule(**given_fields(Schedule, body), id=new, author=who.name))

    return await once.store(add, schedules.get, location=SCHEDULE)


@router.get('/schedules/{schedule}', tags=TAGS, response_model=wire(Schedule), responses=problems(404))
async def get_schedule(web: BackendDep, schedule: ScheduleId) -> Schedule:
    """Get a schedule with its next times."""
    return await web.services.schedules.get(schedule)


@router.patch(
    '/schedules/{schedule}',
    tags=TAGS,
    response_model=wire(Schedule),
    responses=problems(404, 413, 415),
)
async def change_schedule(web: BackendDep, schedule: ScheduleId, body: ScheduleChanges) -> Schedule:
    """Change, pause or resume a schedule; missed times are skipped."""
    return await web.services.schedules.change(schedule, **given_fields(Schedule, body))


@router.delete('/schedules/{schedule}', tags=TAGS, status_code=204, responses=problems(404))
async def remove_schedule(web: BackendDep, schedule: ScheduleId) -> None:
    """Remove a schedule; its runs stay."""
    await web.services.schedules.remove(schedule)


@router.post('/schedules/{schedule}/run', tags=TAGS, response_model=wire(Tick), responses=problems(404))
async def run_schedule(web: BackendDep, once: IdempotentDep, schedule: ScheduleId) -> Response:
    """Start a run of a schedule now, even if another is running."""

    async def make(new: RunId) -> Response:
        tick = await web.services.schedules.run_now(schedule, key=new)
        return Response(encode_text(tick), media_type='application/json')

    return await once(make)


@router.post(
    '/schedules/{schedule}/backfill',
    tags=TAGS,
    response_model=list_of(Tick),
    responses=problems(404, 413, 415),
)
async def backfill_schedule(web: BackendDep, schedule: ScheduleId, span: Span) -> Sequence[Tick]:
    """Start a run for each scheduled time in a span that has none yet."""
    since, until = parse_timestamp('since', span.since), parse_timestamp('until', span.until)
    return await web.services.schedules.backfill(schedule, since, until)


@router.get('/schedules/{schedule}/ticks', tags=TAGS, response_model=list_of(Tick), responses=problems(404))
async def list_schedule_ticks(web: BackendDep, schedule: ScheduleId, limit: MaxTicks = 50) -> Sequence[Tick]:
    """List what happened each time a schedule was due, latest first."""
    return await web.services.schedules.log(schedule, limit)


@router.get('/triggers', tags=TAGS, response_model=list_of(Trigger))
async def list_triggers(web: BackendDep) -> list[Trigger]:
    """List triggers; secrets are left out."""
    web()
    return [replace(trigger, secret='') for trigger in await web.services.triggers.list()]


@router.post(
    '/triggers', tags=TAGS, status_code=201, response_model=wire(Trigger), responses=problems(413, 415)
)
async def add_trigger(web: BackendDep, once: IdempotentDep, who: CallerDep, body: TriggerInput) -> Response:
    """Add a trigger; only this response shows its secret."""
    web()
    triggers, values = web.services.triggers, given_fields(Trigger, body)

    async def add(new: RunId) -> Trigger:
        return await triggers.add(Trigger(**values, id=new, author=who.name))

    return await once.store(add, triggers.get, location=TRIGGER)


@router.patch(
    '/triggers/{trigger}', tags=TAGS, response_model=wire(Trigger), responses=problems(404, 413, 415)
)
async def change_trigger(web: BackendDep, trigger: TriggerId, body: TriggerChanges) -> Trigger:
    """Change, pause or resume a trigger."""
    return replace(await web.services.triggers.change(trigger, **given_fields(Trigger, body)), secret='')


@router.delete('/triggers/{trigger}', tags=TAGS, status_code=204, responses=problems(404))
async def remove_trigger(web: BackendDep, trigger: TriggerId) -> None:
    """Remove a trigger; its runs stay."""
    await web.services.triggers.remove(trigger)


@router.get('/triggers/{trigger}/ticks', tags=TAGS, response_model=list_of(Tick), responses=problems(404))
async def list_trigger_ticks(web: BackendDep, trigger: TriggerId, limit: MaxTicks = 50) -> Sequence[Tick]:
    """List the events that set off a trigger, latest first."""
    return await web.services.triggers.log(trigger, limit)


@router.post(
    '/triggers/{trigger}/webhook',
    tags=TAGS,
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
