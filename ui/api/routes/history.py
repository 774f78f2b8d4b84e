"""Comparing and checking runs: comparison, traffic, audit, regression tests."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from engine.history import RegressionResult, RegressionTest
from engine.records import MAX_NUMBER, RunId, Traffic
from engine.runtime import GuardExplanation
from ui.api.dependencies import BackendDep, Engine, Filters, Run, list_of
from ui.api.problems import problems
from ui.api.records import SavedTest, SavedTestInput
from ui.api.wire import to_record, wire

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


@router.get('/runs/{run}/test', response_model=SavedTest, responses=problems(404))
async def save_test(conductor: Engine, run: Run) -> RegressionTest:
    """Make a regression test that expects what the run did."""
    return await conductor.save_test(RunId(run))


@router.post('/checks', response_model=wire(RegressionResult), responses=problems(404, 413, 415))
async def check(web: BackendDep, test: SavedTestInput) -> RegressionResult:
    """Replay a regression test through the current pattern, without calling models or tools."""
    return await web.check(to_record(RegressionTest, test))
