"""Comparing runs: traffic, and what guards have read."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from engine.records import MAX_NUMBER, RunId, Traffic
from engine.runtime import GuardExplanation
from ui.api.dependencies import Engine, Filters, Run, list_of
from ui.api.problems import problems
from ui.api.wire import wire

router = APIRouter(tags=['History'])
Seq = Annotated[int, Path(ge=1, le=MAX_NUMBER)]


@router.get('/traffic', response_model=wire(Traffic))
async def traffic(conductor: Engine, query: Filters) -> Traffic:
    """Show the states and transitions that all matching runs went through."""
    return await conductor.traffic(query)


@router.get(
    '/runs/{run}/steps/{seq}/guards', response_model=list_of(GuardExplanation), responses=problems(404)
)
async def explain_guards(conductor: Engine, run: Run, seq: Seq) -> list[GuardExplanation]:
    """Explain what each guard of a step read, in the order of evaluation."""
    info = await conductor.info(RunId(run))
    await conductor.turn_end(info, seq)  # Raises if there is no such step.
    before = await conductor.fold(info.id, seq - 1)
    step = (await conductor.transitions(info.id, after=seq - 1, until=seq))[0]
    explanations = await conductor.explain_guards(info.id)
    return [
        explanations.of(guard.source, guard.dest, guard.name, before.document, step.event)
        for guard in step.guards
    ]
