"""A collaboration from a program: one call, a given plan, the state's own methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import Catalog, EngineError, InvalidInput, run_collaborative_task
from engine.models.scripted.model import Scripted
from engine.patterns import CollaborationResult, CollaborationState, TaskResult, execute_plan
from engine.patterns.supervisor.collaboration import order_tasks
from engine.patterns.supervisor.pattern import Supervisor
from engine.tools.builtin.research.get_previous import get_previous
from tests.support.harness import FakeModel, catalog
from tests.support.teams.supervisor import delegate, plan_task, succeed, task_in, team_reply


def offline() -> Catalog:
    own_catalog = Catalog.load()
    own_catalog.models['scripted'] = Scripted(pace=0)
    return own_catalog


def playing(reply: Any) -> Catalog:
    return catalog(FakeModel(reply), Supervisor, tools=(get_previous,))


async def test_one_call_returns_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('HEMICYCLE_PACE', '0')
    result = await run_collaborative_task('Find out how Python runs many tasks at once')
    assert isinstance(result, CollaborationResult)
    assert result.objective == 'Find out how Python runs many tasks at once'
    assert result.success and 1 <= len(result.task_results) <= 4 and result.final_output
    assert result.messages_exchanged >= 2 * len(result.task_results)


async def test_the_result_says_whether_it_is_simulated() -> None:
    simulated = await run_collaborative_task('A bath', catalog=playing(team_reply([plan_task('a')])))
    assert simulated.simulated and simulated.origins == ('simulated',)
    model = FakeModel(team_reply([plan_task('a')]), simulated=False)
    live = await run_collaborative_task('A bath', catalog=catalog(model, Supervisor, tools=(get_previous,)))
    assert not live.simulated and live.origins == ('live',)


async def test_configured_endpoints_are_available(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'endpoints.toml').write_text(
        '[endpoints.mine]\nurl = "http://127.0.0.1:9/v1"\nattempts = 1\n'
    )
    monkeypatch.setenv('HEMICYCLE_ENDPOINTS', str(tmp_path / 'endpoints.toml'))
    with pytest.raises(InvalidInput, match='models: there is no model'):
        await run_collaborative_task('A bath', models={'': 'other/large'})
    with pytest.raises(EngineError, match=r'mine: 127\.0\.0\.1:9 cannot be reached'):
        await run_collaborative_task('A bath', models={'': 'mine/large'})


async def test_the_number_of_tasks_is_limited() -> None:
    result = await run_collaborative_task('Plan a move to another office', max_tasks=2, catalog=offline())
    assert len(result.task_results) == 2


async def test_an_empty_plan_has_an_empty_result() -> None:
    result = await run_collaborative_task('Nothing', catalog=playing(team_reply([])))
    assert result == CollaborationResult(
        objective='Nothing', success=True, messages_exchanged=1, origins=('simulated',)
    )


async def test_success_means_that_every_task_succeeded() -> None:
    tasks = [plan_task('a'), plan_task('b', 'plumber')]
    result = await run_collaborative_task('A bath', catalog=playing(team_reply(tasks)))
    assert not result.success and [task_result.success for task_result in result.task_results] == [
        True,
        False,
    ]
    assert result.final_output.strip() == 'all in all'


async def test_problems_are_reported() -> None:
    with pytest.raises(InvalidInput) as refused:
        await run_collaborative_task('A bath', max_tasks=0, catalog=offline())
    assert 'max_tasks' in refused.value.problems
    with pytest.raises(EngineError, match=r'the collaboration failed: .*not JSON'):
        await run_collaborative_task('A bath', catalog=playing('no plan'))


@pytest.mark.parametrize('execution', ['one after another', 'side by side'])
async def test_a_given_plan_is_carried_out_task_by_task(execution: str) -> None:
    model = FakeModel(team_reply([]))
    own_catalog = catalog(model, Supervisor, tools=(get_previous,))
    state = CollaborationState(
        objective='Test',
        pending_tasks=[delegate('a'), delegate('b', 'writer', 'a'), delegate('c', 'reviewer')],
    )
    after = await execute_plan(state, catalog=own_catalog, execution=execution)
    assert sorted(result.task_id for result in after.completed_results) == ['a', 'b', 'c']
    assert after.pending_tasks == [] and after.result.success and after.final_output
    assert sorted(map(task_in, model.requests[:3])) == ['a', 'b', 'c'] and len(model.requests) == 4
    assert len(state.pending_tasks) == 3 and state.completed_results == []
    assert after.origins == ('simulated',) == after.result.origins and after.result.simulated
    assert state.origins == ()


async def test_a_partly_done_plan_continues() -> None:
    done = TaskResult(task_id='a', agent_role='researcher', success=True, output='facts')
    state = CollaborationState(
        objective='Test', pending_tasks=[delegate('b', 'writer', 'a')], completed_results=[done]
    )
    after = await execute_plan(state, catalog=playing(team_reply([], succeed)))
    assert [result.task_id for result in after.completed_results] == ['a', 'b']
    with pytest.raises(ValueError, match='dependency cycle'):
        await execute_plan(CollaborationState(objective='Test', pending_tasks=[delegate('a', 'writer', 'a')]))


async def test_a_plan_with_nothing_left_is_synthesized() -> None:
    done = TaskResult(task_id='a', agent_role='researcher', success=True, output='facts')
    state = CollaborationState(objective='Test', completed_results=[done])
    assert (await execute_plan(state, catalog=playing(team_reply([])))).final_output.strip() == 'all in all'


def result_of(task_id: str, *, success: bool = True) -> TaskResult:
    return TaskResult(task_id=task_id, agent_role='researcher', success=success, output='x' * 2_000)


def test_completing_a_task_moves_it_to_the_results() -> None:
    state = CollaborationState(objective='Test')
    assert state.current_task is None and state.ready_task is None
    state.pending_tasks = [delegate('a'), delegate('b')]
    assert state.current_task == delegate('a')
    state.complete_task(result_of('a'))
    assert [task.task_id for task in state.pending_tasks] == ['b'] and len(state.completed_results) == 1
    assert not state.result.success
    state.complete_task(result_of('b'))
    assert state.current_task is None and state.result.success


def test_the_checklist_follows_started_and_ended_tasks() -> None:
    state = CollaborationState(objective='Test')
    state.delegate([delegate('a'), delegate('b', 'writer', 'a')])
    assert [step.state for step in state.steps] == ['pending', 'blocked']
    assert state.assign_next('one').task_id == 'a'
    assert [step.state for step in state.steps] == ['in progress', 'blocked']
    with pytest.raises(LookupError, match='no task ready for two'):
        state.assign_next('two')
    state.complete_task(result_of('a', success=False))
    assert [step.state for step in state.steps] == ['failed', 'pending'] and state.under_way == {}
    assert len(state.steps[0].result) == 1_000 and state.steps[1].after == ('a',)


@given(st.lists(st.tuples(st.integers(1, 5), st.sets(st.integers(0, 7))), max_size=8))
def test_any_plan_is_put_in_order_or_refused(drawn: list[tuple[int, set[int]]]) -> None:
    tasks = [
        delegate(str(number)).model_copy(
            update={
                'priority': priority,
                'depends_on': tuple(str(other) for other in needs if other < len(drawn)),
            }
        )
        for number, (priority, needs) in enumerate(drawn)
    ]
    try:
        ordered = order_tasks(tasks)
    except ValueError as refused:
        assert 'a dependency cycle' in str(refused)
        return
    assert sorted(task.task_id for task in ordered) == sorted(task.task_id for task in tasks)
    for place, task in enumerate(ordered):
        assert set(task.depends_on) <= {before.task_id for before in ordered[:place]}
