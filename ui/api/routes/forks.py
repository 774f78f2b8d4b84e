"""Forks, reruns and retries of runs, their forecasts, and the fork tree."""

from __future__ import annotations

import hashlib
import json

from fastapi import APIRouter, Response
from pydantic import Field, StrictBool

from engine import Budget
from engine.history import ForkOverrides
from engine.records import MAX_NUMBER, RunId, RunInfo
from ui.api.dependencies import Engine, RequestBody, Run, list_of
from ui.api.idempotency import IdempotentDep
from ui.api.problems import problems
from ui.api.records import FamilyMember
from ui.api.wire import encode, input_model, to_record

router = APIRouter(prefix='/runs/{run}', tags=['Forks'])
CREATES = problems(404, 413, 415)
MAX_VARIANTS = 20


class ForkVariant(RequestBody):
    """One of several forks."""

    name: str = Field(min_length=1, max_length=100, description="Appended to the run's title.")
    overrides: input_model(ForkOverrides)  # type: ignore[valid-type]


class NewVariants(RequestBody):
    """Several forks at once, to be watched side by side."""

    at: int = Field(ge=0, le=MAX_NUMBER, description='The step; 0 to start over.')
    variants: list[ForkVariant] = Field(min_length=1, max_length=MAX_VARIANTS)
    paused: StrictBool = False
    budget: input_model(Budget) | None = None  # type: ignore[valid-type]


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


@router.get('/lineage', response_model=list_of(FamilyMember), responses=problems(404))
async def lineage(conductor: Engine, run: Run) -> list[FamilyMember]:
    """List a run with its ancestors and all their forks, each after its parent."""
    tree = await conductor.lineage(RunId(run))
    return [
        FamilyMember(depth=depth, kind=node.kind, group=node.group, winner=node.winner, info=node.info)
        for depth, node in tree.members()
    ]


def _following(first: RunId, number: int) -> RunId:
    """Return the id of a variant, the same for a repeated request."""
    return RunId(hashlib.sha256(f'{first}/{number}'.encode()).hexdigest()[:12])
