"""What callers may do with the inbox, notifications, schedules and triggers of a server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Protocol

from pydantic import Field

from engine.agents import ToolTrial
from engine.operations import NO_DATA, Role, operation
from engine.records import RunInfo
from ui.app.services.inbox import InboxItem, InboxPage
from ui.app.services.notifications import Destination, OutboxMessage
from ui.app.services.schedules import Schedule, Tick, Trigger
from ui.app.services.tools import ToolInfo

Id = Annotated[str, Field(max_length=100)]
AskId = Annotated[str, Field(max_length=200, description="The question's id.")]
MaxTicks = Annotated[int, Field(ge=1, le=1_000)]


class InboxOperations(Protocol):
    """The questions of all runs. All of one question raise `UnknownQuestion`, `QuestionClosed`."""

    @operation(Role.VIEWER, 'GET inbox', id='list_questions', runs=())
    async def list(
        self,
        *,
        assignee: Annotated[
            str, Field(max_length=200, description='Only those assigned to this person.')
        ] = '',
        run: Annotated[str, Field(max_length=100, description='Only those from this run.')] = '',
        snoozed: Annotated[bool, Field(description='Include snoozed ones.')] = False,
    ) -> InboxPage:
        """List the open questions of all runs, oldest first."""

    @operation(Role.VIEWER, 'GET inbox/{ask}', id='get_question')
    async def find(self, ask: AskId) -> InboxItem:
        """Get an open question; for a closed one, the error says when and how it was closed."""

    @operation(Role.OPERATOR, 'POST inbox/{ask}/answer', id='answer_question')
    async def answer(
        self,
        ask: AskId,
        event: Annotated[
            str, Field(min_length=1, max_length=200, description="One of the question's events.")
        ],
        data: Annotated[Mapping[str, Any], Field(description="The event's data.")] = NO_DATA,
        *,
        digest: Annotated[
            str,
            Field(max_length=100, description="The question's digest, as the person who answers saw it."),
        ],
    ) -> RunInfo:
        """Answer a question, if it is still open and has not changed since it was shown."""

    @operation(Role.OPERATOR, 'PUT inbox/{ask}/assignee', id='assign_question')
    async def assign(
        self,
        ask: AskId,
        assignee: Annotated[str, Field(max_length=200, description='A name; empty for nobody.')],
    ) -> InboxItem:
        """Assign a question to a person, and notify them."""

    @operation(Role.OPERATOR, by_hand='snooze_question')
    async def snooze(self, ask: str, until: float) -> InboxItem:
        """Leave a question out of the list until a given time; 0 lists it again now."""


class DestinationOperations(Protocol):
    """Where notifications are sent. All of one destination raise `UnknownDestination`."""

    @operation(Role.ADMIN, 'GET destinations', id='list_destinations', logged=False)
    async def list(self) -> list[Destination]:
        """List where notifications are sent; secrets are left out."""

    @operation(Role.ADMIN, 'GET destinations/{destination}', id='get_destination', logged=False)
    async def get(self, destination: Id) -> Destination:
        """Get a destination; its secret is left out."""

    @operation(Role.ADMIN, 'POST destinations', id='add_destination')
    async def add(self, destination: Destination) -> Destination:
        """Add a destination; only this response shows its secret."""

    @operation(Role.ADMIN, 'PATCH destinations/{destination}', id='change_destination')
    async def change(self, destination: Id, **values: Any) -> Destination:
        """Change a destination; fields that are left out stay as they are."""

    @operation(Role.ADMIN, 'DELETE destinations/{destination}', id='remove_destination')
    async def remove(self, destination: Id) -> None:
        """Remove a destination; pending notifications are never sent."""


class NotificationOperations(Protocol):
    """What was sent to whom. All of one message raise `UnknownMessage`."""

    @property
    def destinations(self) -> DestinationOperations:
        """Where notifications are sent."""

    @operation(Role.ADMIN, 'GET messages', id='list_messages', logged=False, runs=())
    async def log(
        self,
        *,
        state: Annotated[str, Field(pattern='^(due|sent|failed)?$')] = '',
        run: Annotated[str, Field(max_length=100)] = '',
        limit: Annotated[int, Field(ge=1, le=1_000)] = 100,
    ) -> list[OutboxMessage]:
        """List notifications with their delivery attempts, latest first."""

    @operation(Role.ADMIN, 'POST messages/{message}/resend', id='resend_message')
    async def resend(self, message: Id) -> OutboxMessage:
        """Send a notification again; it keeps its id."""

    @operation(Role.ADMIN, 'POST destinations/{destination}/test', id='test_destination')
    async def test(self, destination: Id) -> OutboxMessage:
        """Send a test message."""


class ScheduleOperations(Protocol):
    """Runs started by the clock. All of one schedule raise `UnknownSchedule`."""

    @operation(Role.VIEWER, 'GET schedules', id='list_schedules')
    async def list(self) -> list[Schedule]:
        """List schedules with their next times."""

    @operation(Role.VIEWER, 'GET schedules/{schedule}', id='get_schedule')
    async def get(self, schedule: Id) -> Schedule:
        """Get a schedule with its next times."""

    @operation(Role.OPERATOR, 'POST schedules', id='add_schedule')
    async def add(self, schedule: Schedule) -> Schedule:
        """Add a schedule, starting now."""

    @operation(Role.OPERATOR, 'PATCH schedules/{schedule}', id='change_schedule')
    async def change(self, schedule: Id, **values: Any) -> Schedule:
        """Change, pause or resume a schedule; missed times are skipped."""

    @operation(Role.OPERATOR, 'DELETE schedules/{schedule}', id='remove_schedule')
    async def remove(self, schedule: Id) -> None:
        """Remove a schedule; its runs stay."""

    @operation(Role.OPERATOR, by_hand='run_schedule')
    async def run_now(self, schedule: str, *, key: str = '') -> Tick:
        """Start a run of a schedule now, even if another is running; once per key."""

    @operation(Role.OPERATOR, by_hand='backfill_schedule')
    async def backfill(self, schedule: str, since: float, until: float) -> Sequence[Tick]:
        """Start a run for each scheduled time in a span that has none yet."""

    @operation(Role.VIEWER, 'GET schedules/{schedule}/ticks', id='list_schedule_ticks')
    async def log(self, schedule: Id, limit: MaxTicks = 50) -> Sequence[Tick]:
        """List what happened each time a schedule was due, latest first."""


class TriggerOperations(Protocol):
    """Runs started by a webhook, or by a file that arrives. All of one trigger raise `UnknownTrigger`."""

    @operation(Role.OPERATOR, 'GET triggers', id='list_triggers', logged=False)
    async def list(self) -> list[Trigger]:
        """List triggers; secrets are left out."""

    @operation(Role.ADMIN, 'GET triggers/{trigger}', id='get_trigger', logged=False)
    async def get(self, trigger: Id) -> Trigger:
        """Get a trigger; its secret is left out."""

    @operation(Role.ADMIN, 'POST triggers', id='add_trigger')
    async def add(self, trigger: Trigger) -> Trigger:
        """Add a trigger; only this response shows its secret."""

    @operation(Role.ADMIN, 'PATCH triggers/{trigger}', id='change_trigger')
    async def change(self, trigger: Id, **values: Any) -> Trigger:
        """Change, pause or resume a trigger."""

    @operation(Role.ADMIN, 'DELETE triggers/{trigger}', id='remove_trigger')
    async def remove(self, trigger: Id) -> None:
        """Remove a trigger; its runs stay."""

    @operation(Role.OPERATOR, 'GET triggers/{trigger}/ticks', id='list_trigger_ticks', logged=False)
    async def log(self, trigger: Id, limit: MaxTicks = 50) -> Sequence[Tick]:
        """List the events that set off a trigger, latest first."""


class ToolOperations(Protocol):
    """The tools that agents can use. All of one tool raise `UnknownTool`."""

    @operation(Role.VIEWER, 'GET tools', id='list_tools')
    async def list(self) -> list[ToolInfo]:
        """List the tools that agents can use."""

    @operation(Role.VIEWER, 'GET tools/{name}', id='get_tool')
    async def get(self, name: Annotated[str, Field(max_length=200)]) -> ToolInfo:
        """Describe a tool."""

    @operation(Role.OPERATOR, 'POST tools/{name}/try', id='try_tool')
    async def call(
        self,
        name: Annotated[str, Field(max_length=200)],
        arguments: Annotated[
            Mapping[str, Any], Field(description='Arguments that match the schema of the tool.')
        ] = NO_DATA,
        model: Annotated[
            str,
            Field(
                max_length=300,
                description="The model that answers the tool's own questions; by default the simulated one.",
            ),
        ] = '',
    ) -> ToolTrial:
        """Call a tool in a scratch folder, sandboxed as for agents; errors are returned as results."""


class ServiceOperations(Protocol):
    """The services of a server."""

    @property
    def inbox(self) -> InboxOperations:
        """The questions of all runs."""

    @property
    def notifications(self) -> NotificationOperations:
        """What was sent to whom."""

    @property
    def schedules(self) -> ScheduleOperations:
        """Runs started by the clock."""

    @property
    def tools(self) -> ToolOperations:
        """The tools that agents can use."""

    @property
    def triggers(self) -> TriggerOperations:
        """Runs started by webhooks and files."""
