"""The inbox and notifications: questions to people, each answered once, and where they are sent."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from engine.records import RunId, RunInfo
from ui.api.dependencies import BackendDep, CallerDep, ChangesBody, RequestBody, list_of, parse_timestamp
from ui.api.idempotency import IdempotentDep
from ui.api.problems import problems
from ui.api.wire import changes_model, given_fields, input_model, wire
from ui.services.inbox import InboxItem, InboxPage
from ui.services.notifications import Destination, OutboxMessage

router = APIRouter()
INBOX: list[str | Enum] = ['Inbox']
NOTIFICATIONS: list[str | Enum] = ['Notifications']
AskId = Annotated[str, Path(max_length=200, description="The question's id.")]
DestinationId = Annotated[str, Path(max_length=100)]
MessageId = Annotated[str, Path(max_length=100)]
DESTINATION = '/api/v1/destinations/{run}'
SHOWN_ONCE = 'Signs webhooks: whsec_ and base64. Shown only in the response that adds the destination.'


class AnswerInput(RequestBody):
    """An answer to a question."""

    event: str = Field(min_length=1, max_length=200, description="One of the question's events.")
    digest: str = Field(
        max_length=100, description="The question's digest, as the person who answers saw it."
    )
    data: dict[str, Any] = Field({}, description="The event's data.")


class Assigned(RequestBody):
    """The person who is to answer."""

    assignee: str = Field(max_length=200, description='A name; empty for nobody.')


class Snoozed(RequestBody):
    """How long a question is left out of the list."""

    until: str = Field(max_length=50, description='An RFC 3339 timestamp; empty to list it again now.')


DESTINATION_INPUT: Any = input_model(Destination)
DESTINATION_CHANGES: Any = changes_model(Destination)


class DestinationInput(RequestBody, DESTINATION_INPUT):  # type: ignore[misc]  # It is derived.
    """A destination."""


class DestinationChanges(ChangesBody, DESTINATION_CHANGES):  # type: ignore[misc]  # It is derived.
    """Changes to a destination; fields that are left out stay as they are."""


@router.get('/inbox', tags=INBOX, response_model=wire(InboxPage))
async def list_questions(
    web: BackendDep,
    assignee: Annotated[str, Query(max_length=200, description='Only those assigned to this person.')] = '',
    run: Annotated[str, Query(max_length=100, description='Only those from this run.')] = '',
    snoozed: Annotated[bool, Query(description='Include snoozed ones.')] = False,
) -> InboxPage:
    """List the open questions of all runs, oldest first."""
    web()
    return await web.services.inbox.list(assignee=assignee, run=run, snoozed=snoozed)


@router.get('/inbox/{ask}', tags=INBOX, response_model=wire(InboxItem), responses=problems(404))
async def get_question(web: BackendDep, ask: AskId) -> InboxItem:
    """Get an open question; for a closed one, the error says when and how it was closed."""
    return await web.services.inbox.find(ask)


@router.post(
    '/inbox/{ask}/answer',
    tags=INBOX,
    response_model=wire(RunInfo),
    responses=problems(404, 412, 413, 415),
)
async def answer_question(web: BackendDep, who: CallerDep, ask: AskId, body: AnswerInput) -> RunInfo:
    """Answer a question, if it is still open and has not changed since it was shown."""
    return await web.services.inbox.answer(ask, body.event, body.data, digest=body.digest, by=who.name)


@router.put(
    '/inbox/{ask}/assignee',
    tags=INBOX,
    response_model=wire(InboxItem),
    responses=problems(404, 413, 415),
)
async def assign_question(web: BackendDep, who: CallerDep, ask: AskId, body: Assigned) -> InboxItem:
    """Assign a question to a person, and notify them."""
    return await web.services.assign(ask, body.assignee, by=who.name)


@router.put(
    '/inbox/{ask}/snooze', tags=INBOX, response_model=wire(InboxItem), responses=problems(404, 413, 415)
)
async def snooze_question(web: BackendDep, ask: AskId, body: Snoozed) -> InboxItem:
    """Leave a question out of the list until a given time."""
    until = parse_timestamp('until', body.until) if body.until else 0.0
    return await web.services.inbox.snooze(ask, until)


@router.get('/destinations', tags=NOTIFICATIONS, response_model=list_of(Destination))
async def list_destinations(web: BackendDep) -> list[Destination]:
    """List where notifications are sent; secrets are left out."""
    web()
    return [
        replace(destination, secret='')
        for destination in await web.services.notifications.destinations.list()
    ]


@router.post(
    '/destinations',
    tags=NOTIFICATIONS,
    status_code=201,
    response_model=wire(Destination),
    responses=problems(413, 415),
)
async def add_destination(web: BackendDep, once: IdempotentDep, body: DestinationInput) -> Response:
    """Add a destination; only this response shows its secret."""
    web()
    destinations = web.services.notifications.destinations

    async def add(new: RunId) -> Destination:
        return await destinations.add(Destination(**given_fields(Destination, body), id=new))

    return await once.store(add, destinations.get, location=DESTINATION)


@router.patch(
    '/destinations/{destination}',
    tags=NOTIFICATIONS,
    response_model=wire(Destination),
    responses=problems(404, 413, 415),
)
async def change_destination(
    web: BackendDep, destination: DestinationId, body: DestinationChanges
) -> Destination:
    """Change a destination; fields that are left out stay as they are."""
    values = given_fields(Destination, body)
    return replace(await web.services.notifications.destinations.change(destination, **values), secret='')


@router.delete('/destinations/{destination}', tags=NOTIFICATIONS, status_code=204, responses=problems(404))
async def remove_destination(web: BackendDep, destination: DestinationId) -> None:
    """Remove a destination; pending notifications are never sent."""
    await web.services.notifications.destinations.remove(destination)


@router.post(
    '/destinations/{destination}/test',
    tags=NOTIFICATIONS,
    response_model=wire(OutboxMessage),
    responses=problems(404),
)
async def test_destination(web: BackendDep, destination: DestinationId) -> OutboxMessage:
    """Send a test message."""
    return await web.services.notifications.test(destination)


@router.get('/messages', tags=NOTIFICATIONS, response_model=list_of(OutboxMessage))
async def list_messages(
    web: BackendDep,
    state: Annotated[str, Query(pattern='^(due|sent|failed)?$')] = '',
    run: Annotated[str, Query(max_length=100)] = '',
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> list[OutboxMessage]:
    """List notifications with their delivery attempts, latest first."""
    web()
    return await web.services.notifications.log(state=state, run=run, limit=limit)


@router.post(
    '/messages/{message}/resend',
    tags=NOTIFICATIONS,
    response_model=wire(OutboxMessage),
    responses=problems(404),
)
async def resend_message(web: BackendDep, message: MessageId) -> OutboxMessage:
    """Send a notification again; it keeps its id."""
    return await web.services.notifications.resend(message)
