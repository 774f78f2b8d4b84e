"""Datasets that are too large for one JSON body, streamed as JSON lines."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request

from engine.operations import Datasets, operations_of
from engine.operations.experiments import DatasetInfo
from engine.operations.experiments.datasets import MAX_BYTES, read_lines
from ui.api.dependencies import CallerDep, Engine
from ui.api.problems import problems
from ui.api.routes.uploads import FILE, received
from ui.api.wire import wire

router = APIRouter(tags=['Experiments'])


@router.post(
    '/datasets/{dataset}/uploads',
    response_model=wire(DatasetInfo),
    responses=problems(413, 429),
    openapi_extra=dict(FILE),
    max_body_size=MAX_BYTES,
)
async def upload_dataset(
    conductor: Engine,
    caller: CallerDep,
    request: Request,
    dataset: Annotated[str, Path(max_length=200)],
    note: Annotated[str, Query(max_length=2_000, description='What is new about it.')] = '',
) -> DatasetInfo:
    """Save cases as a version of a dataset, as `save_dataset` does; each line of the body is one, as JSON.

    Safe to repeat: equal cases make no second version.
    """
    caller.require(operations_of(Datasets)['save'].role, 'datasets.save')  # before the body is read
    async with received(request) as file:
        cases = await asyncio.to_thread(read_lines, file)
    return await conductor.datasets.save(dataset, cases, note=note)
