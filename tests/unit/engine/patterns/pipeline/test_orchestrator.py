"""AgentOrchestrator: processes a task's state to its end, from any status."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from engine import EngineError, InvalidInput
from engine.errors import ModelError
from engine.patterns.pipeline import AgentOrchestrator, Pipeline
from engine.patterns.pipeline.stage import stage
from engine.patterns.pipeline.task_state import Draft, TaskState, TaskStatus
from tests.support.harness import PIPELINE_TASK as TASK
from tests.support.harness import FakeModel, catalog, pipeline_reply


def orchestrator(reply: Any = pipeline_reply, *patterns: type[Pipeline], **options: Any) -> AgentOrchestrator:
    return AgentOrchestrator(*patterns, catalog=catalog(FakeModel(reply)), **options)


async def test_a_pending_task_is_completed_without_changing_the_given_state() -> None:
    state = TaskState(**TASK)
    result = await orchestrator().aprocess(state)
    assert (result.status, result.approved, result.iteration) == (TaskStatus.COMPLETE, True, 1)
    assert state == TaskState(**TASK)
    assert all(item.time and item.seq for item in result.messages)


def test_it_works_without_an_event_loop() -> None:
    assert orchestrator().process(TaskState(**TASK)).status == 'COMPLETE'


async def test_it_continues_from_the_status_of_the_task() -> None:
    model = FakeModel(partial(pipeline_reply, revisions=0))
    state = TaskState(
        **TASK, status=TaskStatus.REVIEWING, research='- six', drafts=[Draft(version=1, text='six')]
    )
    result = await AgentOrchestrator(catalog=catalog(model)).aprocess(state)
    assert [request.hints.role for request in model.requests] == ['reviewer']
    assert result.approved and result.status == 'COMPLETE'


@pytest.mark.parametrize('status', [TaskStatus.COMPLETE, TaskStatus.FAILED])
async def test_an_ended_task_is_not_changed(status: TaskStatus) -> None:
    state = TaskState(**TASK, status=status, analysis='six')
    assert await orchestrator(RuntimeError('asked')).aprocess(state) == state


async def test_a_failed_task_names_its_reason_and_stage() -> None:
    result = await orchestrator(ModelError('no luck')).aprocess(TaskState(**TASK))
    assert (result.status, result.error) == ('FAILED', 'researcher: no luck')


async def test_the_callers_limit_and_models_are_used() -> None:
    own_catalog = catalog(FakeModel('never'))
    own_catalog.models['other'] = FakeModel(partial(pipeline_reply, revisions=9))  # type: ignore[assignment]
    orchestrated = AgentOrchestrator(catalog=own_catalog, models={'': 'other'})
    result = await orchestrated.aprocess(TaskState(**TASK, max_iterations=0))
    assert (len(result.drafts), result.caveat) == (1, 'not approved after 0 revisions')


class CheckedState(TaskState):
    checked: bool = False


class Checked(Pipeline):
    Memory = CheckedState
    states = [
        *Pipeline.states,
        stage('checking', lambda state: {'checked': True}, status='FACT_CHECK'),
    ]
    transitions = [
        ['done', 'analyzing', 'checking'],
        ['done', 'checking', 'reviewing'],
        *Pipeline.transitions,
    ]


async def test_a_custom_stage_can_be_resumed() -> None:
    result = await orchestrator(partial(pipeline_reply, revisions=0), Checked).aprocess(
        TaskState(**TASK, status='FACT_CHECK', drafts=[Draft(version=1, text='six')])
    )
    assert isinstance(result, CheckedState) and result.checked and result.status == 'COMPLETE'


@pytest.mark.parametrize(
    ('state', 'field'), [(TaskState(), 'task'), (TaskState(**TASK, status='LUNCH'), 'status')]
)
async def test_an_invalid_state_is_refused(state: TaskState, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        await orchestrator().aprocess(state)
    assert list(refused.value.problems) == [field]


async def test_an_end_outside_the_pipeline_is_an_error() -> None:
    class Broken(Pipeline):
        def deliver(self, memory: Any, event: Any) -> None:
            raise RuntimeError('cannot deliver')

    with pytest.raises(EngineError, match='cannot deliver'):
        await orchestrator(pipeline_reply, Broken).aprocess(TaskState(**TASK))
