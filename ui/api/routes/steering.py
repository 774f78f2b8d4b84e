"""Steering runs: events, answers, pauses, steps, breakpoints, budgets."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Response
from pydantic import ConfigDict, Field, StrictBool

from engine import Breakpoint, Conductor
from engine.history import AcceptedEvent
from engine.journal import StepMode
from engine.records import MAX_NUMBER, Change, RunId, RunInfo
from engine.runtime import ConditionResult
from ui.api.dependencies import Engine, RequestBody, Run, Steering, list_of, tag
from ui.api.problems import problems
from ui.api.wire import input_model, to_record, wire

router = APIRouter(prefix='/runs/{run}', tags=['Steering'])
Seat = Annotated[
    str, Path(max_length=200, description='The name of a seat, such as `reviewer1` or `planner`.')
]
STEERS = problems(404, 412, 413, 415)
ANSWERS: dict[str, Any] = {'response_model': wire(RunInfo), 'responses': STEERS}
EXAMPLES: list[Any] = [
    {'name': 'approve', 'at': 'working.approving'},
    {'name': 'answer', 'at': 'working.asking', 'data': {'content': {'name': 'Ada'}}},
    {'name': 'say', 'data': {'reviewer': 'reviewer2', 'text': 'I ran the tests.', 'verdict': 'APPROVE'}},
]


class Sent(RequestBody):
    """An event from outside."""

    model_config = ConfigDict(json_schema_extra={'examples': EXAMPLES})

    name: str = Field(min_length=1, max_length=200, description='An event that the run accepts.')
    at: str = Field(
        '', max_length=500, description='The active state it is for; empty for all that accept it.'
    )
    data: dict[str, Any] = Field({}, description="The event's data, for guards and actions.")


class Region(RequestBody):
    """A part of a run."""

    at: str = Field('', max_length=500, description='An active state in the region; empty for the whole run.')


class StepRequest(Region):
    """How far to continue."""

    how: StepMode = Field('in', description='`in` does the next piece of work; `over` and `out` go further.')


class Reason(RequestBody):
    """The reason for an action."""

    reason: str = Field('', max_length=2_000)


class Increase(RequestBody):
    """How much to raise a budget by."""

    tokens: int | None = Field(None, ge=1, le=MAX_NUMBER)
    cost: float | None = Field(None, gt=0, description='In dollars.', allow_inf_nan=False)
    seconds: float | None = Field(None, gt=0, allow_inf_nan=False)


class Approval(Region):
    """Approval of the tool calls that are waiting."""

    always: StrictBool = Field(False, description='Whether to stop asking for these tools.')
    arguments: dict[str, str] = Field(
        {}, description='Changed arguments as JSON text, by call id.', max_length=100
    )


class Denial(Region):
    """Denial of the tool calls that are waiting."""

    reason: str = Field('', max_length=2_000, description='The reason given to the agent.')


class Edit(RequestBody):
    """Changes to a paused run."""

    changes: list[input_model(Change)] = Field(  # type: ignore[valid-type]
        min_length=1, max_length=1_000, description='JSON Patch on `/memory/...` or `/agents/...`.'
    )


class Breakpoints(RequestBody):
    """All breakpoints of a run."""

    breakpoints: list[input_model(Breakpoint)] = Field(max_length=100)  # type: ignore[valid-type]


class Condition(RequestBody):
    """A condition of a breakpoint."""

    condition: str = Field(min_length=1, max_length=2_000, examples=['memory.round > 2'])


@router.get('/accepts', response_model=list_of(AcceptedEvent), responses=problems(404))
async def accepts(conductor: Engine, run: Run) -> list[AcceptedEvent]:
    """List the events that people can send to a run now, with the data that each takes."""
    return await conductor.accepts(RunId(run))


@router.post('/events', **ANSWERS)
async def send(conductor: Engine, run: Run, conditions: Steering, event: Sent, response: Response) -> RunInfo:
    """Send an event to a run; it is journaled before the response."""
    await conductor.send(RunId(run), event.name, at=event.at, data=event.data, **conditions)
    return await _summarize(conductor, run, response)


@router.post('/pause', **ANSWERS)
async def pause(
    conductor: Engine, run: Run, conditions: Steering, response: Response, where: Region = Region()
) -> RunInfo:
    """Pause a run or a region; work in progress finishes."""
    await conductor.pause(RunId(run), where.at, **conditions)
    return await _summarize(conductor, run, response)


@router.post('/resume', **ANSWERS)
async def resume(
    conductor: Engine, run: Run, conditions: Steering, response: Response, where: Region = Region()
) -> RunInfo:
    """Resume a paused run or region."""
    await conductor.resume(RunId(run), where.at, **conditions)
    return await _summarize(conductor, run, response)


@router.post('/step', **ANSWERS)
async def step(
    conductor: Engine, run: Run, conditions: Steering, response: Response, body: StepRequest = StepRequest()
) -> RunInfo:
    """Continue a paused run for one step."""
    await conductor.step(RunId(run), body.how, body.at, **conditions)
    return await _summarize(conductor, run, response)


@router.post('/cancel', **ANSWERS)
async def cancel(
    conductor: Engine, run: Run, conditions: Steering, response: Response, why: Reason = Reason()
) -> RunInfo:
    """Cancel a run; it cannot be resumed."""
    await conductor.cancel(RunId(run), why.reason, **conditions)
    return await _summarize(conductor, run, response)


@router.post('/extend', **ANSWERS)
async def extend(
    conductor: Engine, run: Run, conditions: Steering, response: Response, more: Increase
) -> RunInfo:
    """Raise the budget of a run; a run that had used it up continues."""
    await conductor.extend(RunId(run), tokens=more.tokens, cost=more.cost, seconds=more.seconds, **conditions)
    return await _summarize(conductor, run, response)


@router.post('/approve', **ANSWERS)
async def approve(
    conductor: Engine, run: Run, conditions: Steering, response: Response, body: Approval = Approval()
) -> RunInfo:
    """Approve the tool calls that are waiting."""
    data = body.model_dump(include={'always', 'arguments'}, exclude_defaults=True)
    await conductor.send(RunId(run), 'approve', at=body.at, data=data, **conditions)
    return await _summarize(conductor, run, response)


@router.post('/deny', **ANSWERS)
async def deny(
    conductor: Engine, run: Run, conditions: Steering, response: Response, body: Denial = Denial()
) -> RunInfo:
    """Deny the tool calls that are waiting; the agent continues without them."""
    data = body.model_dump(include={'reason'}, exclude_defaults=True)
    await conductor.send(RunId(run), 'deny', at=body.at, data=data, **conditions)
    return await _summarize(conductor, run, response)


@router.put('/seats/{seat}', **ANSWERS)
async def take_seat(
    conductor: Engine, run: Run, seat: Seat, conditions: Steering, response: Response
) -> RunInfo:
    """Take an agent's seat and do its part: `say`, `hand_in`, `plan` or `judge`."""
    await conductor.send(RunId(run), 'take_seat', data={'seat': seat}, **conditions)
    return await _summarize(conductor, run, response)


@router.delete('/seats/{seat}', **ANSWERS)
async def hand_back(
    conductor: Engine, run: Run, seat: Seat, conditions: Steering, response: Response
) -> RunInfo:
    """Hand an agent's seat back to its model."""
    await conductor.send(RunId(run), 'hand_back', data={'seat': seat}, **conditions)
    return await _summarize(conductor, run, response)


@router.post('/edit', **ANSWERS)
async def edit(conductor: Engine, run: Run, conditions: Steering, response: Response, body: Edit) -> RunInfo:
    """Change the memory or the agents of a paused run."""
    changes = [item.model_dump() for item in body.changes]
    await conductor.send(RunId(run), 'edit', data={'changes': changes}, **conditions)
    return await _summarize(conductor, run, response)


@router.get('/breakpoints', response_model=list_of(Breakpoint), responses=problems(404))
async def list_breakpoints(conductor: Engine, run: Run) -> tuple[Breakpoint, ...]:
    """List the breakpoints of a run, with their hits."""
    return (await conductor.view(RunId(run))).breakpoints


@router.put('/breakpoints', response_model=list_of(Breakpoint), responses=STEERS)
async def set_breakpoints(
    conductor: Engine, run: Run, conditions: Steering, body: Breakpoints
) -> tuple[Breakpoint, ...]:
    """Replace the breakpoints of a run."""
    breakpoints = [to_record(Breakpoint, item) for item in body.breakpoints]
    return await conductor.set_breakpoints(RunId(run), breakpoints, **conditions)


@router.post('/probe', response_model=wire(ConditionResult) | None, responses=problems(404, 413, 415))
async def probe(conductor: Engine, run: Run, body: Condition) -> ConditionResult | None:
    """Evaluate a breakpoint's condition at the current step; null before the first."""
    return await conductor.probe(RunId(run), body.condition)


async def _summarize(conductor: Conductor, run: str, response: Response) -> RunInfo:
    """Return the run as it is now, and set its `ETag`."""
    return tag(response, await conductor.info(RunId(run)))
