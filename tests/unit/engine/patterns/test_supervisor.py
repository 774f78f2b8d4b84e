"""The supervisor's chart: every edge, one worker after another, and failures on the way."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from engine import LocalConductor, PatternError, Role, Status, Transition
from engine.errors import ModelError
from engine.models.protocol import ModelRequest
from engine.patterns.supervisor.pattern import Supervisor
from engine.records import Outcome
from tests.support.harness import FakeModel, calls, catalog, in_turn, until, wait_for_state
from tests.support.teams.supervisor import begin, plan_task, succeed, task_in, team, team_reply


async def run(
    reply: Any, *, models: dict[str, str] | None = None, **parameters: Any
) -> tuple[Outcome, list[Transition], FakeModel]:
    model = FakeModel(reply)
    async with team(model) as conductor:
        started = (
            await conductor.start('supervisor', {'objective': 'a bridge', **parameters}, models=models)
        ).id
        outcome = await conductor.result(started)
        steps = await conductor.transitions(started)
        assert await conductor.audit(started) == len(steps)
    return outcome, steps, model


def list_edges(steps: list[Transition]) -> list[str]:
    """Return the outermost edges taken after the start."""
    return [
        f'{edge.source}>{edge.dest}'
        for step in steps[1:]
        for edge in step.edges
        if '.' not in f'{edge.source}{edge.dest}'
    ]


def results(outcome: Outcome) -> list[tuple[str, str, bool]]:
    return [
        (result['task_id'], result['agent_role'], result['success'])
        for result in outcome.memory['completed_results']
    ]


def notes(outcome: Outcome, kind: str) -> list[str]:
    return [message['content'] for message in outcome.memory['messages'] if message['kind'] == kind]


async def test_each_task_is_one_visit_of_executing() -> None:
    outcome, steps, model = await run(
        team_reply([plan_task('a'), plan_task('b', 'analyst'), plan_task('c', 'writer')])
    )
    assert outcome.status is Status.DONE and outcome.answer.strip() == 'all in all'
    assert list_edges(steps) == [
        'planning>executing',
        'executing>executing',
        'executing>executing',
        'executing>synthesizing',
        'synthesizing>complete',
    ]
    assert results(outcome) == [('a', 'researcher', True), ('b', 'analyst', True), ('c', 'writer', True)]
    assert [request.hints.role for request in model.requests] == [
        'supervisor', 'researcher', 'analyst', 'writer', 'synthesizer',
    ]  # fmt: skip
    assert [step['state'] for step in outcome.memory['steps']] == ['completed'] * 3
    assert outcome.memory['under_way'] == {} and outcome.memory['pending_tasks'] == []


async def test_an_empty_plan_ends_at_once_with_an_empty_result() -> None:
    outcome, steps, model = await run(team_reply([]))
    assert outcome.status is Status.DONE and outcome.answer == ''
    assert list_edges(steps) == ['planning>complete']
    assert len(model.requests) == 1 and results(outcome) == []


async def test_one_task_leads_directly_to_the_synthesis() -> None:
    outcome, steps, _ = await run(team_reply([plan_task('a')]))
    assert list_edges(steps) == ['planning>executing', 'executing>synthesizing', 'synthesizing>complete']
    assert results(outcome) == [('a', 'researcher', True)]


@pytest.mark.parametrize(('most', 'completed'), [(1, ['b']), (2, ['b', 'a']), (3, ['b', 'a', 'c'])])
async def test_a_plan_that_is_too_long_is_cut_with_a_message(most: int, completed: list[str]) -> None:
    plan = [plan_task('a', 'writer', 'b'), plan_task('b'), plan_task('c', 'writer', 'a')]
    outcome, _, model = await run(team_reply(plan), max_tasks=most)
    assert [task for task, _, _ in results(outcome)] == completed
    texts = notes(outcome, 'limit')
    assert bool(texts) == (most < 3) and all('dropped: ' in text and 'c' in text for text in texts)
    assert f'at most {most} tasks' in model.requests[0].messages[-1].text


async def test_tasks_wait_for_dependencies_and_urgent_ones_go_first() -> None:
    plan = [plan_task('a', 'writer', 'b'), plan_task('b'), plan_task('c'), plan_task('d', priority=1)]
    outcome, _, _ = await run(team_reply(plan))
    assert [task for task, _, _ in results(outcome)] == ['d', 'b', 'a', 'c']


async def test_a_task_for_an_unknown_role_fails_and_the_run_continues() -> None:
    outcome, steps, model = await run(team_reply([plan_task('a', 'plumber'), plan_task('b', ' Writer ')]))
    assert outcome.status is Status.DONE
    assert results(outcome) == [('a', 'plumber', False), ('b', 'writer', True)]
    assert outcome.memory['completed_results'][0]['output'] == "No worker has the role 'plumber'"
    assert 'executing>executing' in list_edges(steps)
    assert [step['state'] for step in outcome.memory['steps']] == ['failed', 'completed']
    assert "Task a failed: No worker has the role 'plumber'" in model.requests[-1].messages[-1].text


def fail_analyst(request: ModelRequest) -> Any:
    if request.hints.role == 'analyst':
        return ModelError('the key was refused', kind='auth', retryable=False)
    return succeed(request)


async def test_a_failed_worker_becomes_a_failed_result() -> None:
    outcome, steps, _ = await run(
        team_reply([plan_task('a', 'analyst'), plan_task('b', 'writer', 'a')], fail_analyst)
    )
    assert outcome.status is Status.DONE
    assert results(outcome) == [('a', 'analyst', False), ('b', 'writer', True)]
    assert 'the key was refused' in outcome.memory['completed_results'][0]['output']
    assert outcome.memory['caveat'] == '1 of 2 tasks failed'
    assert 'failed@executing.working' in [f'{step.event.name}@{step.event.at}' for step in steps]


async def test_a_worker_may_report_its_own_failure() -> None:
    outcome, _, _ = await run(
        team_reply([plan_task('a')], lambda request: {'success': False, 'output': 'no'})
    )
    assert results(outcome) == [('a', 'researcher', False)] and notes(outcome, 'failure') == ['no']
    assert outcome.status is Status.FAILED and outcome.error == 'the task failed: a: no'


async def test_an_empty_synthesis_is_a_failure() -> None:
    def reply(request: ModelRequest) -> Any:
        return ' ' if request.hints.role == 'synthesizer' else team_reply([plan_task('a')])(request)

    outcome, _, _ = await run(reply)
    assert outcome.status is Status.FAILED and outcome.error == 'the answer is empty'


async def test_prose_from_a_worker_is_its_result() -> None:
    answers = in_turn('x', 'y', {'success': True, 'output': 'b'})
    outcome, _, model = await run(team_reply([plan_task('a'), plan_task('b', 'writer')], answers))
    assert results(outcome) == [('a', 'researcher', True), ('b', 'writer', True)]
    assert outcome.memory['completed_results'][0]['output'] == 'y'
    assert len(model.requests) == 5


@pytest.mark.parametrize(
    ('tasks', 'problem'),
    [
        ([plan_task('a', 'writer', 'b'), plan_task('b', 'writer', 'a')], "form a dependency cycle: 'a', 'b'"),
        ([plan_task('a', 'writer', 'a')], "form a dependency cycle: 'a'"),
        ([plan_task('a', 'writer', 'z')], "depends on 'z', and there is no such task"),
        ([plan_task('a'), plan_task('a')], "two tasks have the task_id 'a'"),
        ([{'task_id': 'a'}], 'tasks.0.assigned_to: Field required'),
    ],
)
async def test_an_invalid_plan_is_requested_once_more(tasks: list[Any], problem: str) -> None:
    good = {'approach': '', 'tasks': []}
    outcome, _, model = await run(in_turn({'tasks': tasks}, good))
    assert outcome.status is Status.DONE and len(model.requests) == 2
    assert problem in model.requests[1].messages[-1].text


async def test_a_plan_that_is_malformed_twice_ends_the_run_and_says_why() -> None:
    outcome, steps, model = await run(in_turn('a plan!', {'tasks': [plan_task('a', 'writer', 'z')]}))
    assert outcome.status is Status.FAILED and 'there is no such task' in outcome.error
    assert list_edges(steps) == ['planning>failed'] and len(model.requests) == 2
    assert 'there is no such task' in notes(outcome, 'error')[0]


async def test_numeric_task_ids_are_read_as_text() -> None:
    plan = [{**plan_task('x'), 'task_id': 1}, {**plan_task('y', 'writer'), 'task_id': 2, 'depends_on': [1]}]
    outcome, _, _ = await run(team_reply(plan))
    assert [task for task, _, _ in results(outcome)] == ['1', '2']


async def test_a_failed_synthesis_ends_the_run() -> None:
    def reply(request: ModelRequest) -> Any:
        if request.hints.role == 'synthesizer':
            return ModelError('gone', retryable=False)
        return team_reply([plan_task('a')])(request)

    outcome, steps, _ = await run(reply)
    assert outcome.status is Status.FAILED and 'gone' in outcome.error
    assert list_edges(steps)[-1] == 'synthesizing>failed' and len(outcome.memory['completed_results']) == 1


async def test_each_task_is_a_separate_conversation_in_its_role() -> None:
    _, _, model = await run(
        team_reply([plan_task('a'), plan_task('b'), plan_task('c', 'writer')]), models={'writer': 'scripted'}
    )
    workers = model.requests[1:4]
    assert [len(request.messages) for request in workers] == [2, 2, 2]
    assert [request.hints.visit for request in workers] == [1, 2, 1]
    assert [task_in(request) for request in workers] == ['a', 'b', 'c']
    assert 'what is known' in workers[0].messages[0].text and 'act on' in workers[2].messages[0].text
    assert '- researcher (task a)\n- researcher (task b)' in workers[2].messages[1].text


async def test_each_role_has_its_own_model() -> None:
    usual, special = FakeModel(team_reply([plan_task('a'), plan_task('b', 'writer')])), FakeModel(succeed)
    team_conductor = team(usual)
    team_conductor.catalog.models['special'] = special  # type: ignore[assignment]
    async with team_conductor as conductor:
        started = (
            await conductor.start('supervisor', {'objective': 'a bridge'}, models={'writer': 'special'})
        ).id
        assert (await conductor.result(started)).status is Status.DONE
    assert [request.hints.role for request in special.requests] == ['writer']
    assert 'writer' not in [request.hints.role for request in usual.requests]


async def test_a_run_can_be_cancelled_in_the_middle_of_a_task() -> None:
    model = FakeModel(team_reply([plan_task('a'), plan_task('b')], lambda request: asyncio.Event()))
    async with team(model) as conductor:
        started = await begin(conductor)
        await until(lambda: len(model.requests) == 2)
        await conductor.cancel(started, 'enough')
        outcome = await conductor.result(started)
        assert outcome.status is Status.CANCELLED and model.running == 0
        assert [step['state'] for step in outcome.memory['steps']] == ['in progress', 'pending']


async def test_stopping_one_worker_leaves_other_tasks_running() -> None:
    def reply(request: ModelRequest) -> Any:
        return asyncio.Event() if task_in(request) == 'a' else succeed(request)

    model = FakeModel(team_reply([plan_task('a'), plan_task('b')], reply))
    async with team(model) as conductor:
        started = await begin(conductor)
        await wait_for_state(conductor, started, 'executing.working.thinking')
        await conductor.send(started, 'failed', at='executing.working', data={'error': 'stopped by hand'})
        outcome = await conductor.result(started)
    assert results(outcome) == [('a', 'researcher', False), ('b', 'researcher', True)]
    assert 'stopped by hand' in outcome.memory['completed_results'][0]['output']


def test_four_tasks_are_allowed_by_default() -> None:
    assert Supervisor.parse({'objective': 'a bridge'}).model_dump() == {
        'objective': 'a bridge',
        'max_tasks': 4,
        'execution': 'one after another',
        'workers': 3,
        'more_roles': [],
    }


async def test_the_form_can_add_a_role() -> None:
    outcome, _, model = await run(
        team_reply([plan_task('a', 'translator')]),
        more_roles=['Translator: You translate into plain French.'],
    )
    assert results(outcome) == [('a', 'translator', True)]
    assert model.requests[1].messages[0].text == 'You translate into plain French.'
    assert '- translator: You translate' in model.requests[0].messages[-1].text


class Newsroom(Supervisor):
    """A supervisor with an additional role, as in a user's own file."""

    roles = (
        *Supervisor.roles,
        Role(name='checker', title='Checker', instructions='You check facts.', tools=('notes',)),
    )


async def test_a_custom_pattern_can_have_other_roles() -> None:
    model = FakeModel(team_reply([plan_task('a', 'checker')]))
    team_conductor = team(model)
    team_conductor.catalog.add(Newsroom)
    async with team_conductor as conductor:
        outcome = await conductor.result(await begin(conductor, 'newsroom'))
    assert results(outcome) == [('a', 'checker', True)]
    assert [tool.name for tool in model.requests[1].tools] == ['notes']


async def test_a_role_whose_tool_is_missing_is_an_error_at_the_start() -> None:
    async with LocalConductor(catalog=catalog(FakeModel('x'), Supervisor)) as conductor:
        with pytest.raises(PatternError, match="no tool 'get_previous'"):
            await begin(conductor)


async def test_workers_read_earlier_results_by_role() -> None:
    kinds: list[str] = []

    def work(request: ModelRequest) -> Any:
        if task_in(request) == 'b' and request.hints.turn == 0:
            roles = ('Researcher', 'reviewer', 'plumber')
            return calls(*(('get_previous', {'role': role}) for role in roles))
        kinds.extend(part.text for part in request.messages[-1].parts if part.kind == 'result')
        return succeed(request)

    outcome, _, _ = await run(
        team_reply([plan_task('p', 'plumber'), plan_task('a'), plan_task('b', 'writer')], work)
    )
    assert outcome.status is Status.DONE
    assert kinds == [
        'Task a of the researcher:\na by researcher',
        "There is no result from 'reviewer' yet. There are results from: plumber, researcher.",
        "Task p of the plumber (it failed):\nNo worker has the role 'plumber'",
    ]
