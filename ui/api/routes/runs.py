"""Reading runs: the list, and one run at any of its steps."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Path, Query, Response

from engine import Breakpoint, Transition
from engine.history import report_of
from engine.journal import complete_snapshot
from engine.records import (
    MAX_NUMBER,
    Gauge,
    Message,
    Outcome,
    RunId,
    RunInfo,
    Snapshot,
    Spending,
    Usage,
    View,
    message_of,
)
from ui.api.cursors import Cursor, Limit, Page, Step, read_cursor, write_cursor
from ui.api.dependencies import At, CollapseAgents, Engine, Filters, Run, contents, list_of, page_of, tag
from ui.api.problems import Refusal, problems
from ui.api.routes.patterns import DRAWN, DiagramFormat, drawing
from ui.api.wire import wire

router = APIRouter(prefix='/runs')
RUNS: list[str | Enum] = ['Runs']
RunOrderKey = tuple[float, float, str]
Known = Annotated[
    str,
    Header(
        alias='If-None-Match',
        max_length=1_000,
        description='The `ETag` of the run as the sender has it, or several: 304 if it is the same.',
    ),
]
MAX_WAIT = 60.0
"""Seconds that a request for a result may wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunUsage:
    """What a run has used up to a step."""

    usage: Usage
    models: Mapping[str, Usage] = field(default_factory=dict)
    """By model, over all agents."""
    spending: Mapping[str, Spending] = field(default_factory=dict)
    """By agent."""
    budget: Mapping[str, Gauge] = field(default_factory=dict)
    """How much of each limit is used."""
    seconds: float = 0.0
    """Running time: excludes time paused or waiting for a person."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """The conversation and the tool calls of one agent."""

    agent: str
    """The path of its state."""
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveState:
    """Whether and how the server runs a run."""

    here: bool
    """Whether this server runs it now, and so can steer it."""
    at_rest: int
    """The last step of a run paused here with nothing in progress; otherwise 0."""
    stranded: str = ''
    """Why it cannot continue, if so."""


@router.get('', tags=RUNS, response_model=page_of(RunInfo))
async def list_runs(
    conductor: Engine,
    query: Filters,
    place: Annotated[Literal['list', 'trash'], Query(description='`trash` lists the deleted runs.')] = 'list',
    cursor: Cursor = '',
    limit: Limit = 50,
) -> Page[RunInfo]:
    """List runs, newest first."""
    beyond = read_cursor(RunOrderKey, cursor)
    page = await conductor.runs(replace(query, place=place, beyond=beyond, limit=limit + 1))
    items, more = page.runs[:limit], len(page.runs) > limit
    last = items[-1] if more else None
    return Page(
        items=list(items),
        next=write_cursor([last.deleted, last.created, last.id]) if last else None,
        total=page.total,
    )


@router.get(
    '/{run}',
    tags=RUNS,
    response_model=wire(RunInfo),
    responses=problems(404) | {304: {'description': 'It is as `If-None-Match` says.'}},
)
async def get_run(conductor: Engine, run: Run, response: Response, known: Known = '') -> RunInfo | Response:
    """Summarize a run. Send its `ETag` as `If-Match` to steer what you saw."""
    info = tag(response, await conductor.info(RunId(run)))
    tags = {item.strip().removeprefix('W/') for item in known.split(',')}
    if tags & {response.headers['ETag'], '*'}:
        return Response(status_code=304, headers={'ETag': response.headers['ETag']})
    return info


@router.get('/{run}/live', tags=RUNS, response_model=wire(LiveState), responses=problems(404))
async def get_live_state(conductor: Engine, run: Run) -> LiveState:
    """Show whether this server is running a run, and whether the run rests."""
    info = await conductor.info(RunId(run))
    return LiveState(
        here=conductor.can_control(info.id),
        at_rest=conductor.resting_step(info.id),
        stranded=conductor.stranded.get(info.id, ''),
    )


@router.get(
    '/{run}/breakpoints', tags=['Steering'], response_model=list_of(Breakpoint), responses=problems(404)
)
async def list_breakpoints(conductor: Engine, run: Run) -> tuple[Breakpoint, ...]:
    """List the breakpoints of a run, with their hits."""
    return (await conductor.view(RunId(run))).breakpoints


@router.get('/{run}/diagram', tags=RUNS, response_class=Response, responses=problems(404) | DRAWN)
async def draw_run(
    conductor: Engine, run: Run, format: DiagramFormat = 'mermaid', folded: CollapseAgents = False
) -> Response:
    """Draw the chart of a run as Mermaid, DOT or SVG."""
    return await drawing(await conductor.shape(RunId(run)), format, folded=folded)


@router.get('/{run}/view', tags=RUNS, response_model=wire(View), responses=problems(404))
async def get_view(conductor: Engine, run: Run, at: At = None) -> View:
    """Show a run as it was at a step: active states, memory, agents, usage, budget."""
    view = await conductor.view(RunId(run), at)
    return replace(view, memory=await asyncio.to_thread(dict, view.memory))


@router.get('/{run}/memory', tags=RUNS, responses=problems(404))
async def get_memory(conductor: Engine, run: Run, at: At = None) -> dict[str, Any]:
    """Show the memory of a run at a step."""
    return await asyncio.to_thread(dict, (await conductor.view(RunId(run), at)).memory)


@router.get('/{run}/usage', tags=RUNS, response_model=wire(RunUsage), responses=problems(404))
async def get_usage(conductor: Engine, run: Run, at: At = None) -> RunUsage:
    """Show the tokens, dollars and seconds that a run has used."""
    view = await conductor.view(RunId(run), at)
    return RunUsage(
        usage=view.usage,
        models=view.models,
        spending=view.spending,
        budget=view.budget,
        seconds=view.seconds,
    )


@router.get('/{run}/transcript', tags=RUNS, response_model=list_of(Conversation), responses=problems(404))
async def get_transcript(conductor: Engine, run: Run, at: At = None) -> list[Conversation]:
    """Show the conversations of a run's agents; `export` writes all of it as Markdown."""
    view = await conductor.view(RunId(run), at)
    return [
        Conversation(agent=path, messages=tuple(map(message_of, agent.get('messages', ()))))
        for path, agent in view.agents.items()
    ]


@router.get(
    '/{run}/report',
    tags=RUNS,
    response_class=Response,
    responses=problems(404) | contents('text/markdown'),
)
async def get_report(conductor: Engine, run: Run) -> Response:
    """Show the report of a run as Markdown, if its pattern writes one."""
    shape, view = await conductor.shape(RunId(run)), await conductor.view(RunId(run))
    report = report_of(conductor.catalog, shape, view)
    if not report.text or not report.final:
        raise Refusal(404, 'no-report', 'this run has no report')
    return Response(report.text, media_type='text/markdown; charset=utf-8')


@router.get('/{run}/result', tags=RUNS, response_model=wire(Outcome), responses=problems(404))
async def get_result(
    conductor: Engine,
    run: Run,
    wait: Annotated[float, Query(ge=0, le=MAX_WAIT, description='Seconds to wait for the run to end.')] = 0.0,
) -> Outcome:
    """Show how a run ended; 409 if it does not end within the wait."""
    info = await conductor.info(RunId(run))
    if info.status.ended or wait:
        try:
            return await asyncio.wait_for(conductor.result(info.id), wait or MAX_WAIT)
        except TimeoutError:
            pass
    raise Refusal(409, 'not-ended', f'run {run} has not ended: it is {info.status}')


@router.get('/{run}/steps', tags=RUNS, response_model=page_of(Transition), responses=problems(404))
async def list_steps(
    conductor: Engine,
    run: Run,
    after: Step = 0,
    until: Annotated[int | None, Query(ge=0, le=MAX_NUMBER, description='The last step to list.')] = None,
    cursor: Cursor = '',
    limit: Limit = 100,
) -> Page[Transition]:
    """List the steps of a run, in order."""
    info, begin = await conductor.info(RunId(run)), read_cursor(int, cursor)
    first = max(after, min(begin or 0, MAX_NUMBER))
    steps = await conductor.transitions(info.id, after=first, until=until, limit=limit)
    last = min(info.seq if until is None else until, info.seq)
    more = bool(steps) and steps[-1].seq < last
    return Page(items=steps, next=write_cursor(steps[-1].seq) if more else None)


@router.get('/{run}/snapshot', tags=RUNS, response_model=wire(Snapshot) | None, responses=problems(404))
async def get_snapshot(conductor: Engine, run: Run, at: Step = 0) -> Snapshot | None:
    """Show the latest snapshot at or before a step, from which to fold; null if there is none."""
    snapshot = await conductor.snapshot(RunId(run), at)
    return await asyncio.to_thread(complete_snapshot, snapshot) if snapshot else None


@router.get('/{run}/turns/{seq}', tags=RUNS, responses=problems(404))
async def get_turn_end(
    conductor: Engine, run: Run, seq: Annotated[int, Path(ge=1, le=MAX_NUMBER)]
) -> dict[Literal['end'], int]:
    """Show the last step of the turn that a step belongs to, with the steps that it raised."""
    return {'end': await conductor.turn_end(await conductor.info(RunId(run)), seq)}
