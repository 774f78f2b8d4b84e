"""The pipeline: every status and edge of the client's document, and stages of one's own."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from engine import Conductor, EngineError, InvalidInput, ModelError, Outcome, Status, stage
from engine.agents.analyzer import AnalyzerAgent
from engine.agents.researcher import ResearchAgent
from engine.agents.reviewer import ReviewerAgent
from engine.patterns.pipeline import Pipeline
from engine.task import AgentMessage, Draft, Review, TaskState, TaskStatus
from tests.support import FakeModel, catalog, pipeline_reply

TASK = {'task': 'How much is two times three?'}
FINDINGS = {'findings': ['six'], 'sources': [], 'open_questions': ['why']}


async def ran(
    reply: Any = pipeline_reply, pattern: type[Pipeline] = Pipeline, **parameters: Any
) -> tuple[Outcome, list[str]]:
    """How it ended, and each status that memory went through."""
    async with Conductor(catalog=catalog(FakeModel(reply), pattern)) as conductor:
        run = await conductor.start(pattern.name, {**TASK, **parameters})
        outcome = await conductor.result(run)
        assert await conductor.audit(run) == (await conductor.info(run)).seq
        passed = ['PENDING']
        for step in await conductor.transitions(run):
            passed += [change.value for change in step.changes if change.path == '/memory/status']
        return outcome, passed


def test_the_chart_has_the_statuses_and_edges_of_the_document() -> None:
    shape = Conductor(catalog=catalog(FakeModel())).draw('pipeline')
    top = [state for state in shape.states if not state.parent]
    assert {state.name.upper() for state in top} == {status.value for status in TaskStatus}
    assert {state.name: state.outcome for state in top if state.kind == 'final'} == {
        'complete': 'done',
        'failed': 'failed',
    }
    edges = {(edge.trigger, edge.source, edge.dest) for edge in shape.edges if '.' not in edge.source}
    assert edges >= {
        ('start', '[*]', 'pending'),
        ('always', 'pending', 'researching'),
        ('done', 'researching', 'analyzing'),
        ('done', 'analyzing', 'reviewing'),
        ('done', 'reviewing', 'analyzing'),
        ('done', 'reviewing', 'complete'),
        *(('failed', name, 'failed') for name in ('researching', 'analyzing', 'reviewing')),
    }


async def test_it_goes_through_every_status_and_keeps_every_draft_and_verdict() -> None:
    outcome, passed = await ran(partial(pipeline_reply, revisions=2))
    work = ['ANALYZING', 'REVIEWING']
    assert passed == ['PENDING', 'RESEARCHING', *work, *work, *work, 'COMPLETE']
    state = TaskState.from_dict(outcome.memory)
    assert [draft.text.strip() for draft in state.drafts] == ['draft 1', 'draft 2', 'draft 3']
    assert state.drafts[1].answers == ('be clearer',) and [review.approved for review in state.reviews] == [
        False,
        False,
        True,
    ]
    assert (state.iteration, state.approved, outcome.status) == (2, True, Status.DONE)
    senders = [(item.sender, item.recipient, item.kind) for item in state.messages]
    sent_back = [('analyzer', 'reviewer', 'draft'), ('reviewer', 'analyzer', 'verdict')]
    assert senders == [
        ('researcher', 'analyzer', 'findings'),
        *sent_back * 2,
        ('analyzer', 'reviewer', 'draft'),
        ('reviewer', 'orchestrator', 'verdict'),
        ('orchestrator', 'user', 'result'),
    ]
    assert [item.iteration for item in state.messages] == [0, 0, 0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(('limit', 'drafts'), [(0, 1), (1, 2), (3, 4)])
async def test_at_the_limit_the_last_draft_is_delivered_unapproved(limit: int, drafts: int) -> None:
    outcome, passed = await ran(partial(pipeline_reply, revisions=99), max_iterations=limit)
    state = TaskState.from_dict(outcome.memory)
    assert (len(state.drafts), state.approved, passed[-1]) == (drafts, False, 'COMPLETE')
    assert (
        state.messages[-1].content == f'Draft {drafts} is delivered: not approved within {limit} revisions.'
    )


@pytest.mark.parametrize('role', ['researcher', 'analyzer', 'reviewer'])
async def test_an_error_in_any_stage_leads_to_failed_with_the_reason(role: str) -> None:
    outcome, passed = await ran(
        lambda request: ModelError(f'no {role}') if request.hints.role == role else pipeline_reply(request)
    )
    state = TaskState.from_dict(outcome.memory)
    assert (outcome.status, outcome.error, passed[-1]) == (Status.FAILED, f'no {role}', 'FAILED')
    assert (state.error, state.messages[-1].kind) == (f'no {role}', 'error')


async def test_an_answer_that_never_fits_leads_to_failed_with_the_reason() -> None:
    outcome, _ = await ran(
        lambda request: 'no JSON' if request.hints.role == 'reviewer' else pipeline_reply(request)
    )
    assert outcome.status is Status.FAILED and outcome.error.startswith('it is not JSON')
    assert outcome.memory['error'] == outcome.error


@pytest.mark.parametrize(
    ('parameters', 'field'),
    [({'task': ''}, 'task'), ({'task': '  x '}, 'task'), ({'task': 'x' * 20_001}, 'task'), ({}, 'task')]
    + [({**TASK, 'max_iterations': number}, 'max_iterations') for number in (-1, 11, 'many')]
    + [({**TASK, 'colour': 'red'}, 'colour')],
)
async def test_bad_parameters_are_refused_with_the_fields_name(
    parameters: dict[str, Any], field: str
) -> None:
    async with Conductor(catalog=catalog(FakeModel())) as conductor:
        with pytest.raises(InvalidInput) as refused:
            await conductor.start('pipeline', parameters)
        assert list(refused.value.problems) == [field]
        assert (await conductor.runs()).total == 0


def full_state() -> TaskState:
    return TaskState(
        task='t',
        status=TaskStatus.REVIEWING,
        research='- six',
        sources=('a', 'b'),
        drafts=[Draft(version=1, text='d', answers=('c',))],
        reviews=[Review(approved=True, score=7, comments=('x',), summary='s')],
        messages=[AgentMessage(sender='a', recipient='b', kind='draft', content='c', iteration=2)],
        iteration=2,
        approved=True,
        error='e',
    )


def test_the_state_survives_the_way_through_a_dictionary() -> None:
    state = full_state()
    assert TaskState.from_dict(state.to_dict()) == state and TaskState.from_dict({}) == TaskState()
    with pytest.raises(InvalidInput) as refused:
        TaskState.from_dict({**state.to_dict(), 'iteration': 'x', 'colour': 1})
    assert set(refused.value.problems) == {'iteration', 'colour'}


@pytest.mark.parametrize(
    ('agent', 'reply', 'expected'),
    [
        (ResearchAgent(), FINDINGS, {'research': '- six\n\nOpen questions:\n- why'}),
        (AnalyzerAgent(), 'a draft', {'analysis': 'a draft '}),
        (ReviewerAgent(), {'approved': True, 'score': 9, 'summary': 'ok'}, {'approved': True}),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_each_agent_stands_alone(agent: Any, reply: Any, expected: dict[str, Any]) -> None:
    state = TaskState(task='t', drafts=[Draft(version=1, text='d')])
    before = state.to_dict()
    found = await agent.process(state, catalog=catalog(FakeModel(reply)))
    assert {name: getattr(found, name) for name in expected} == expected
    assert state.to_dict() == before and len(found.messages) == 1
    with pytest.raises(EngineError, match=f'{agent.role.title} failed: no luck'):
        await agent.process(state, catalog=catalog(FakeModel(ModelError('no luck'))))


def sync_stage(state: TaskState) -> TaskState:
    state.research = f'about {state.task}'
    state.note('mine', 'analyzer', 'findings', 'sync')
    return state


async def async_stage(state: TaskState) -> TaskState:
    await asyncio.sleep(0)
    return sync_stage(state)


def node(state: TaskState) -> dict[str, Any]:
    return {'research': f'about {state.task}', 'status': 'COMPLETE', 'iteration': 99, 'max_iterations': 99}


class Callable_:
    async def __call__(self, state: TaskState) -> dict[str, Any]:
        return node(state)


@pytest.mark.parametrize(
    'work',
    [sync_stage, async_stage, node, Callable_(), partial(async_stage)],
    ids=['sync', 'async', 'node', 'object', 'partial'],
)
async def test_any_callable_can_stand_in_for_an_agent(work: Any) -> None:
    outcome, passed = await ran(pattern=Pipeline.with_stages('mine', researching=work))
    assert outcome.status is Status.DONE
    assert outcome.memory['research'] == f'about {TASK["task"]}'
    assert passed[-1] == 'COMPLETE' and passed.count('COMPLETE') == 1 and outcome.memory['iteration'] == 1


def raises(error: BaseException) -> Any:
    def work(state: TaskState) -> TaskState:
        raise error

    return work


@pytest.mark.parametrize(
    ('work', 'says'),
    [
        (raises(RuntimeError('broken')), 'RuntimeError: broken'),
        (raises(StopIteration()), 'RuntimeError: StopIteration'),
        (raises(SystemExit(1)), 'SystemExit: 1'),
        (lambda state: None, 'a stage must return the state or a mapping, not NoneType'),
        (lambda state: {'colour': 1}, 'colour: Extra inputs are not permitted'),
        (lambda state: {'drafts': 'x'}, 'drafts: Input should be a valid list'),
    ],
)
async def test_a_callable_that_goes_wrong_leads_to_failed_with_the_reason(work: Any, says: str) -> None:
    async with asyncio.timeout(10):
        outcome, passed = await ran(pattern=Pipeline.with_stages('mine', analyzing=work))
    assert outcome.status is Status.FAILED and says in outcome.error
    assert passed[-1] == 'FAILED' and outcome.memory['error'] == outcome.error


class CheckedState(TaskState):
    checked: bool = False


async def check_facts(state: TaskState) -> dict[str, Any]:
    return {'checked': 'draft' in state.analysis}


class Checked(Pipeline):
    """A fact-checker between the analyzer and the reviewer: one state, one edge."""

    Memory = CheckedState
    states = [*Pipeline.states, stage('checking', check_facts)]
    transitions = [
        ['done', 'analyzing', 'checking'],
        ['done', 'checking', 'reviewing'],
        *Pipeline.transitions,
    ]


async def test_adding_a_stage_is_one_state_and_one_edge() -> None:
    outcome, passed = await ran(pattern=Checked)
    assert outcome.status is Status.DONE and outcome.memory['checked'] is True
    assert passed.count('ANALYZING') == passed.count('REVIEWING') == 2
