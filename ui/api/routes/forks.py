"""Forks, reruns and retries of runs, their forecasts, and the fork tree."""

from __future__ import annotations

import hashlib
import json

from fastapi import APIRouter, Response
from pydantic import Field, StrictBool

from engine import Budget
from engine.history import CostEstimate, ForkOverrides
from engine.records import MAX_NUMBER, MAX_TITLE, RunId, RunInfo
from ui.api.dependencies import Engine, RequestBody, Run, list_of
from ui.api.idempotency import IdempotentDep
from ui.api.problems import problems
from ui.api.records import FamilyMember
from ui.api.routes.launch import start_once
from ui.api.wire import encode, input_model, to_record, wire

router = APIRouter(prefix='/runs/{run}', tags=['Forks'])
CREATES = problems(404, 413, 415)
MAX_VARIANTS = 20


class StartOptions(RequestBody):
    """How a new run starts."""

    title: str = Field('', max_length=MAX_TITLE, description="The new run's title; the parent's by default.")
    paused: StrictBool = Field(False, description='Whether it starts paused.')
    budget: input_model(Budget) | None = Field(None, description='Limits on what it may use.')  # type: ignore[valid-type]

    def limits(self) -> Budget | None:
        """Its budget. Raises `InvalidInput`."""
        return self.budget and to_record(Budget, self.budget)


class NewFork(StartOptions):
    """A fork: where it starts, and what is different."""

    at: int = Field(ge=0, le=MAX_NUMBER, description='The step; 0 to start over.')
    overrides: input_model(ForkOverrides) | None = None  # type: ignore[valid-type]


class Variant(RequestBody):
    """One of several forks."""

    name: str = Field(min_length=1, max_length=100, description="Appended to the run's title.")
    overrides: input_model(ForkOverrides)  # type: ignore[valid-type]


class NewVariants(RequestBody):
    """Several forks at once, to be watched side by side."""

    at: int = Field(ge=0, le=MAX_NUMBER, description='The step; 0 to start over.')
    variants: list[Variant] = Field(min_length=1, max_length=MAX_VARIANTS)
    paused: StrictBool = False
    budget: input_model(Budget) | None = None  # type: ignore[valid-type]


class ForecastRequest(RequestBody):
    """A fork that is not started."""

    at: int = Field(ge=0, le=MAX_NUMBER)
    overrides: input_model(ForkOverrides) | None = None  # type: ignore[valid-type]


@router.post('/forks', status_code=201, response_model=wire(RunInfo), responses=CREATES)
async def fork(conductor: Engine, once: IdempotentDep, run: Run, body: NewFork) -> Response:
    """Start a new run from a step of another, which stays unchanged."""

    async def begin(new: RunId) -> object:
        variation = body.overrides and to_record(ForkOverrides, body.overrides)
        return await conductor.fork(
            RunId(run),
            body.at,
            title=body.title,
            paused=body.paused,
            budget=body.limits(),
            variation=variation,
            new=new,
        )

    return await start_once(conductor, once, begin)


@router.post('/variants', status_code=201, response_model=list_of(RunInfo), responses=CREATES)
async def fork_all(conductor: Engine, once: IdempotentDep, run: Run, body: NewVariants) -> Response:
    """Fork several variants at once; if one is invalid, none is started."""

    async def make(first: RunId) -> Response:
        runs = await conductor.fork_all(
            RunId(run),
            body.at,
            {variant.name: to_record(ForkOverrides, variant.overrides) for variant in body.variants},
            paused=body.paused,
            budget=body.budget and to_record(Budget, body.budget),
            new=[
                _following(first, number)
                for number in range(len({variant.name for variant in body.variants}))
            ],
        )
        infos = [encode(await conductor.info(new)) for new in runs]
        return Response(json.dumps(infos), 201, media_type='application/json')

    return await once(make)


@router.post('/rerun', status_code=201, response_model=wire(RunInfo), responses=CREATES)
async def rerun(
    conductor: Engine, once: IdempotentDep, run: Run, body: StartOptions = StartOptions()
) -> Response:
    """Start a new run with the same input and options."""

    async def begin(new: RunId) -> object:
        return await conductor.rerun(
            RunId(run), title=body.title, paused=body.paused, budget=body.limits(), new=new
        )

    return await start_once(conductor, once, begin)


@router.post('/retry', status_code=201, response_model=wire(RunInfo), responses=CREATES)
async def retry(
    conductor: Engine, once: IdempotentDep, run: Run, body: StartOptions = StartOptions()
) -> Response:
    """Fork a failed or cancelled run from just before it ended, to try again."""

    async def begin(new: RunId) -> object:
        return await conductor.retry(
            RunId(run), title=body.title, paused=body.paused, budget=body.limits(), new=new
        )

    return await start_once(conductor, once, begin)


@router.get('/retry', responses=problems(404))
async def retry_at(conductor: Engine, run: Run) -> dict[str, int]:
    """Show the step from which a retry would continue."""
    return {'at': await conductor.retry_at(RunId(run))}


@router.post('/forecast', response_model=wire(CostEstimate), responses=problems(404, 413, 415))
async def forecast(conductor: Engine, run: Run, body: ForecastRequest) -> CostEstimate:
    """Estimate what a fork would use, without starting it."""
    variation = body.overrides and to_record(ForkOverrides, body.overrides)
    return await conductor.forecast(RunId(run), body.at, variation)


@router.get('/lineage', response_model=list_of(FamilyMember), responses=problems(404))
async def lineage(conductor: Engine, run: Run) -> list[FamilyMember]:
    """List a run with its ancestors and all their forks, each after its parent."""
    tree = await conductor.lineage(RunId(run))
    return [
        FamilyMember(depth=depth, kind=node.kind, group=node.group, winner=node.winner, info=node.info)
        for depth, node in tree.members()
    ]


@router.get('/family', responses=problems(404))
async def family(conductor: Engine, run: Run) -> list[str]:
    """List the ids of a run's family, parents first, without those in the trash."""
    return list(map(str, await conductor.family(RunId(run))))


@router.post('/winner', response_model=wire(RunInfo), responses=problems(404))
async def mark_winner(conductor: Engine, run: Run) -> RunInfo:
    """Mark a run as the best of the variants it was forked with."""
    await conductor.mark_winner(RunId(run))
    return await conductor.info(RunId(run))


def _following(first: RunId, number: int) -> RunId:
    """Return the id of a variant, the same for a repeated request."""
    return RunId(hashlib.sha256(f'{first}/{number}'.encode()).hexdigest()[:12])
