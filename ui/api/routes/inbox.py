"""What waits for people over all runs, with answers that count once; and who is told of it."""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from engine.records import RunInfo
from ui.api.dependencies import Web, Who, many
from ui.api.problems import problems
from ui.api.wire import from_rfc3339, wire
from ui.services.inbox import InboxItem, InboxPage
from ui.services.notifications import Channel, Destination, EventType, Message
from ui.services.notifications import parse as parse_destination

router = APIRouter()
INBOX: list[str | Enum] = ['Inbox']
TOLD: list[str | Enum] = ['Notifications']
AskId = Annotated[str, Path(max_length=200, description="The question's id.")]
DestinationId = Annotated[str, Path(max_length=100)]
MessageId = Annotated[str, Path(max_length=100)]
SHOWN_ONCE = 'It signs webhooks, as whsec_ and base64. Only the answer that adds the destination shows it.'


class Body(BaseModel):
    """Refuses unknown fields."""

    model_config = ConfigDict(extra='forbid')


class AnswerInput(Body):
    """An answer to a question."""

    event: str = Field(min_length=1, max_length=200, description="One of the question's events.")
    digest: str = Field(max_length=100, description="The question's, as it was shown to who answers.")
    data: dict[str, Any] = Field({}, description='The values that go with it.')


class Assigned(Body):
    """Who is to answer."""

    assignee: str = Field(max_length=200, description='A name; empty for nobody.')


class Snoozed(Body):
    """Until when a question is left out of the list."""

    until: str = Field(max_length=50, description='A moment in RFC 3339; empty lists it again.')


class DestinationInput(Body):
    """A destination; in a change, what is left out stays."""

    name: str = Field('', max_length=200)
    channel: Channel = 'webhook'
    address: str = Field('', max_length=2_000, description='A URL, or an e-mail address.')
    secret: str = Field('', max_length=200, description=SHOWN_ONCE)
    events: list[EventType] = Field([], max_length=10, description='Which events; all if none is named.')
    pattern: str = Field('', max_length=200, description='Only runs of this pattern.')
    tag: str = Field('', max_length=200, description='Only runs with this tag.')
    person: str = Field('', max_length=200, description='Questions only once they are assigned to them.')
    paused: bool = False


@router.get('/inbox', tags=INBOX, response_model=wire(InboxPage))
async def list_questions(
    web: Web,
    assignee: Annotated[str, Query(max_length=200, description='Only those assigned to them.')] = '',
    run: Annotated[str, Query(max_length=100, description='Only those of this run.')] = '',
    snoozed: Annotated[bool, Query(description='Also those that were put off.')] = False,
) -> InboxPage:
    """List what waits for people over all runs, the oldest first."""
    web()
    return await web.services.inbox.list(assignee=assignee, run=run, snoozed=snoozed)


@router.get('/inbox/{ask}', tags=INBOX, response_model=wire(InboxItem), responses=problems(404, 409))
async def get_question(web: Web, ask: AskId) -> InboxItem:
    """Get an open question; of one that is closed, the error says when and how."""
    return await web.services.inbox.find(ask)


@router.post(
    '/inbox/{ask}/answer',
    tags=INBOX,
    response_model=wire(RunInfo),
    responses=problems(404, 409, 412, 413, 415),
)
async def answer_question(web: Web, who: Who, ask: AskId, given: AnswerInput) -> RunInfo:
    """Answer a question, if it is still open and still what was shown; otherwise nothing changes."""
    return await web.services.inbox.answer(ask, given.event, given.data, digest=given.digest, by=who.name)


@router.put(
    '/inbox/{ask}/assignee',
    tags=INBOX,
    response_model=wire(InboxItem),
    responses=problems(404, 409, 413, 415),
)
async def assign_question(web: Web, who: Who, ask: AskId, given: Assigned) -> InboxItem:
    """Assign a question to a person, who is told."""
    return await web.services.assign(ask, given.assignee, by=who.name)


@router.put(
    '/inbox/{ask}/snooze', tags=INBOX, response_model=wire(InboxItem), responses=problems(404, 409, 413, 415)
)
async def snooze_question(web: Web, ask: AskId, given: Snoozed) -> InboxItem:
    """Leave a question out of the list until a moment."""
    from engine import InvalidInput

    try:
        until = float(from_rfc3339(given.until)) if given.until else 0.0
    except (ValueError, OverflowError) as error:
        raise InvalidInput({'until': f'must be a moment as in RFC 3339: {error}'}) from None
    return await web.services.inbox.snooze(ask, until)


@router.get('/destinations', tags=TOLD, response_model=many(Destination))
async def list_destinations(web: Web) -> list[Destination]:
    """List who is told of events; secrets are left out."""
    web()
    return [replace(one, secret='') for one in await web.services.notifications.destinations.list()]


@router.post(
    '/destinations',
    tags=TOLD,
    status_code=201,
    response_model=wire(Destination),
    responses=problems(413, 415),
)
async def add_destination(web: Web, given: DestinationInput, response: Response) -> Destination:
    """Add a destination; the answer shows its secret, and no later one does."""
    web()
    values = given.model_dump(exclude_unset=True)
    if not values.get('events'):
        values.pop('events', None)
    made = await web.services.notifications.destinations.add(
        parse_destination({'name': '', 'channel': given.channel, 'address': '', **values})
    )
    response.headers['Location'] = f'/api/v1/destinations/{made.id}'
    return made


@router.patch(
    '/destinations/{destination}',
    tags=TOLD,
    response_model=wire(Destination),
    responses=problems(404, 409, 413, 415),
)
async def change_destination(web: Web, destination: DestinationId, given: DestinationInput) -> Destination:
    """Change a destination; what is left out stays."""
    values = given.model_dump(exclude_unset=True)
    if 'events' in values:
        values['events'] = tuple(values['events'])
    return replace(await web.services.notifications.destinations.change(destination, **values), secret='')


@router.delete('/destinations/{destination}', tags=TOLD, status_code=204, responses=problems(404, 409))
async def remove_destination(web: Web, destination: DestinationId) -> None:
    """Remove a destination; what has not been sent there is never sent."""
    await web.services.notifications.destinations.remove(destination)


@router.post(
    '/destinations/{destination}/test', tags=TOLD, response_model=wire(Message), responses=problems(404)
)
async def test_destination(web: Web, destination: DestinationId) -> Message:
    """Send a message that says nothing, to see whether it arrives."""
    return await web.services.notifications.test(destination)


@router.get('/messages', tags=TOLD, response_model=many(Message))
async def list_messages(
    web: Web,
    state: Annotated[str, Query(pattern='^(due|sent|failed)?$')] = '',
    run: Annotated[str, Query(max_length=100)] = '',
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
) -> list[Message]:
    """List notifications with their attempts, the latest first."""
    web()
    return await web.services.notifications.log(state=state, run=run, limit=limit)


@router.post('/messages/{message}/resend', tags=TOLD, response_model=wire(Message), responses=problems(404))
async def resend_message(web: Web, message: MessageId) -> Message:
    """Send a notification again; it keeps its id."""
    return await web.services.notifications.resend(message)
