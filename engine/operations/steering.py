"""Steering: events, answers, pauses, steps, breakpoints, budgets, edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, Final, Protocol, Unpack

from pydantic import Field

from engine.history.accepted_events import AcceptedEvent
from engine.operations.table import Role, operation
from engine.records import (
    MAX_NUMBER,
    Breakpoint,
    Change,
    Conditions,
    RunId,
)
from engine.records.payloads import StepMode
from engine.runtime.debugger.probe import ConditionResult

MAX_REASON = 2_000
NO_DATA: Final[Mapping[str, Any]] = MappingProxyType({})
Region = Annotated[
    str, Field(max_length=500, description='An active state in the region; empty for the whole run.')
]
Target = Annotated[
    str, Field(max_length=500, description='The active state it is for; empty for all that accept it.')
]
Name = Annotated[str, Field(min_length=1, max_length=200)]
Seat = Annotated[
    str, Field(max_length=200, description='The name of a seat, such as `reviewer1` or `planner`.')
]


class Steering(Protocol):
    """Steering runs. All raise `UnknownRun`, and `EventRefused` if the run does not accept it.

    `seen` is the last step that the sender knows: the event is refused with `StepPassed` if the run has moved
    on since. `key` is the sender's idempotency key: an event that is repeated is not carried out again while
    it is among the run's last 100 with a key.
    """

    @operation(Role.VIEWER, 'GET runs/{run}/accepts')
    async def accepts(self, run: RunId) -> list[AcceptedEvent]:
        """List the events that people can send to a run now, with the data that each takes."""

    @operation(Role.OPERATOR, 'POST runs/{run}/events')
    async def send(
        self,
        run: RunId,
        name: Annotated[Name, Field(description='An event that the run accepts.')],
        *,
        at: Target = '',
        data: Annotated[
            Mapping[str, Any], Field(description="The event's data, for guards and actions.")
        ] = NO_DATA,
        **conditions: Unpack[Conditions],
    ) -> None:
        """Send an event to a run; it is journaled before the response."""

    @operation(Role.OPERATOR, 'POST runs/{run}/pause')
    async def pause(self, run: RunId, at: Region = '', **conditions: Unpack[Conditions]) -> None:
        """Pause a run or a region; work in progress finishes."""

    @operation(Role.OPERATOR, 'POST runs/{run}/resume')
    async def resume(self, run: RunId, at: Region = '', **conditions: Unpack[Conditions]) -> None:
        """Resume a paused run or region."""

    @operation(Role.OPERATOR, 'POST runs/{run}/step')
    async def step(
        self,
        run: RunId,
        how: Annotated[
            StepMode, Field(description='`in` does the next piece of work; `over` and `out` go further.')
        ] = 'in',
        at: Region = '',
        **conditions: Unpack[Conditions],
    ) -> None:
        """Continue a paused run for one step."""

    @operation(Role.OPERATOR, 'POST runs/{run}/cancel')
    async def cancel(
        self,
        run: RunId,
        reason: Annotated[str, Field(max_length=MAX_REASON)] = '',
        **conditions: Unpack[Conditions],
    ) -> None:
        """Cancel a run; it cannot be resumed."""

    @operation(Role.OPERATOR, 'POST runs/{run}/extend')
    async def extend(
        self,
        run: RunId,
        *,
        tokens: Annotated[int | None, Field(ge=1, le=MAX_NUMBER)] = None,
        cost: Annotated[float | None, Field(gt=0, allow_inf_nan=False, description='In dollars.')] = None,
        seconds: Annotated[float | None, Field(gt=0, allow_inf_nan=False)] = None,
        **conditions: Unpack[Conditions],
    ) -> None:
        """Raise the budget of a run; a run that had used it up continues."""

    @operation(Role.OPERATOR, 'POST runs/{run}/approve')
    async def approve(
        self,
        run: RunId,
        at: Region = '',
        *,
        always: Annotated[bool, Field(description='Whether to stop asking for these tools.')] = False,
        arguments: Annotated[
            Mapping[str, str],
            Field(max_length=100, description='Changed arguments as JSON text, by call id.'),
        ] = NO_DATA,
        **conditions: Unpack[Conditions],
    ) -> None:
        """Approve the tool calls that are waiting."""

    @operation(Role.OPERATOR, 'POST runs/{run}/deny')
    async def deny(
        self,
        run: RunId,
        at: Region = '',
        *,
        reason: Annotated[
            str, Field(max_length=MAX_REASON, description='The reason given to the agent.')
        ] = '',
        **conditions: Unpack[Conditions],
    ) -> None:
        """Deny the tool calls that are waiting; the agent continues without them."""

    @operation(Role.OPERATOR, 'PUT runs/{run}/seats/{seat}')
    async def take_seat(self, run: RunId, seat: Seat, **conditions: Unpack[Conditions]) -> None:
        """Take an agent's seat and do its part: `say`, `hand_in`, `plan` or `judge`."""

    @operation(Role.OPERATOR, 'DELETE runs/{run}/seats/{seat}')
    async def hand_back(self, run: RunId, seat: Seat, **conditions: Unpack[Conditions]) -> None:
        """Hand an agent's seat back to its model."""

    @operation(Role.OPERATOR, 'POST runs/{run}/edit')
    async def edit(
        self,
        run: RunId,
        changes: Annotated[
            Sequence[Change],
            Field(
                min_length=1, max_length=1_000, description='JSON Patch on `/memory/...` or `/agents/...`.'
            ),
        ],
        **conditions: Unpack[Conditions],
    ) -> None:
        """Change the memory or the agents of a paused run."""

    @operation(Role.OPERATOR, 'PUT runs/{run}/breakpoints')
    async def set_breakpoints(
        self,
        run: RunId,
        breakpoints: Annotated[Sequence[Breakpoint], Field(max_length=100)],
        **conditions: Unpack[Conditions],
    ) -> tuple[Breakpoint, ...]:
        """Replace the breakpoints of a run."""

    @operation(Role.OPERATOR, 'POST runs/{run}/probe')
    async def probe(
        self,
        run: RunId,
        condition: Annotated[str, Field(min_length=1, max_length=2_000, examples=['memory.round > 2'])],
    ) -> ConditionResult | None:
        """Evaluate a breakpoint's condition at the current step; null before the first."""
