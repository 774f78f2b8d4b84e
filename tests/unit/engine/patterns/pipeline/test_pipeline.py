"""The pipeline: every status and edge of the client's document."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from engine import EngineError, InvalidInput, LocalConductor, Status
from engine.errors import ModelError
from engine.patterns.pipeline.pattern import AnalyzerAgent, ResearchAgent, ReviewerAgent
from engine.patterns.pipeline.task_state import AgentMessage, Draft, Review, TaskState, TaskStatus
from tests.support.harness import PIPELINE_TASK as TASK
from tests.support.harness import SAID_KINDS as KINDS
from tests.support.harness import FakeModel, catalog, pipeline_reply
from tests.support.harness import ran_pipeline as ran

FINDINGS = {'findings': ['six'], 'sources': [], 'open_questions': ['why']}


def test_the_chart_has_the_statuses_and_edges_of_the_document() -> None:
    shape = catalog(FakeModel()).draw('pipeline')
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


async def test_every_status_draft_and_verdict_is_kept() -> None:
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
    messages = [item for item in state.messages if item.kind in KINDS]
    senders = [(item.sender, item.recipient, item.kind) for item in messages]
    sent_back = [('analyzer', 'reviewer', 'draft'), ('reviewer', 'analyzer', 'verdict')]
    assert senders == [
        ('researcher', 'analyzer', 'findings'),
        *sent_back * 2,
        ('analyzer', 'reviewer', 'draft'),
        ('reviewer', 'orchestrator', 'verdict'),
        ('orchestrator', 'user', 'result'),
    ]
    assert [item.iteration for item in messages] == [0, 0, 0, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(('limit', 'drafts'), [(0, 1), (1, 2), (3, 4)])
async def test_at_the_limit_the_last_draft_is_delivered_unapproved(limit: int, drafts: int) -> None:
    outcome, passed = await ran(partial(pipeline_reply, revisions=99), max_iterations=limit)
    state = TaskState.from_dict(outcome.memory)
    assert (len(state.drafts), state.approved, passed[-1]) == (drafts, False, 'COMPLETE')
    revisions = '1 revision' if limit == 1 else f'{limit} revisions'
    assert state.messages[-1].content == f'Delivered draft {drafts}: not approved after {revisions}.'


def score_of_zero(request: Any) -> Any:
    reply = pipeline_reply(request, revisions=0)
    return {**reply, 'score': 0} if request.hints.role == 'reviewer' else reply


@pytest.mark.parametrize(
    ('reply', 'limit', 'caveat'),
    [
        (partial(pipeline_reply, revisions=99), 0, 'not approved after 0 revisions'),
        (partial(pipeline_reply, revisions=99), 1, 'not approved after 1 revision'),
        (score_of_zero, 1, 'approved with a score of 0'),
        (pipeline_reply, 1, ''),
    ],
)
async def test_an_incomplete_result_is_done_with_issues(reply: Any, limit: int, caveat: str) -> None:
    async with LocalConductor(catalog=catalog(FakeModel(reply))) as conductor:
        run = (await conductor.start('pipeline', {**TASK, 'max_iterations': limit})).id
        outcome = await conductor.result(run)
        info, view = await conductor.info(run), await conductor.view(run)
    assert outcome.status is Status.DONE
    assert (outcome.error, info.error, view.error) == (caveat,) * 3
    assert (outcome.done_with_issues, info.done_with_issues) == (bool(caveat),) * 2


@pytest.mark.parametrize('role', ['researcher', 'analyzer', 'reviewer'])
async def test_an_error_in_any_stage_fails_the_run_with_the_reason(role: str) -> None:
    outcome, passed = await ran(
        lambda request: ModelError(f'no {role}') if request.hints.role == role else pipeline_reply(request)
    )
    state = TaskState.from_dict(outcome.memory)
    assert (outcome.status, outcome.error, passed[-1]) == (Status.FAILED, f'{role}: no {role}', 'FAILED')
    assert state.error == f'{role}: no {role}'
    errors = [(item.sender, item.recipient, item.content) for item in state.messages if item.kind == 'error']
    assert errors == [(role, 'orchestrator', f'no {role}'), ('orchestrator', 'user', state.error)]


async def test_an_answer_that_never_fits_fails_the_run_with_the_reason() -> None:
    outcome, _ = await ran(
        lambda request: 'no JSON' if request.hints.role == 'reviewer' else pipeline_reply(request)
    )
    assert outcome.status is Status.FAILED and outcome.error.startswith('reviewer: it is not JSON')
    assert outcome.memory['error'] == outcome.error


def test_the_state_survives_a_round_trip_through_a_dictionary() -> None:
    state = TaskState(
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
    assert TaskState.from_dict(state.to_dict()) == state and TaskState.from_dict({}) == TaskState()
    with pytest.raises(InvalidInput) as refused:
        TaskState.from_dict({**state.to_dict(), 'iteration': 'x', 'colour': 1})
    assert set(refused.value.problems) == {'iteration', 'colour'}
    with pytest.raises(InvalidInput, match='TaskState: must be an object, not None'):
        TaskState.from_dict(None)


@pytest.mark.parametrize('status', ['complete', ' PENDING', '', 5, None])
def test_a_wrong_status_is_refused_with_the_right_ones(status: Any) -> None:
    with pytest.raises(InvalidInput) as refused:
        TaskState.from_dict({'status': status})
    assert 'PENDING, RESEARCHING, ANALYZING' in refused.value.problems['status']


@pytest.mark.parametrize(
    ('agent', 'reply', 'expected'),
    [
        (ResearchAgent(), FINDINGS, {'research': '- six\n\nOpen questions:\n- why'}),
        (AnalyzerAgent(), 'a draft', {'analysis': 'a draft '}),
        (ReviewerAgent(), {'approved': True, 'score': 9, 'summary': 'ok'}, {'approved': True}),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_each_agent_works_on_its_own(agent: Any, reply: Any, expected: dict[str, Any]) -> None:
    state = TaskState(task='t', drafts=[Draft(version=1, text='d')])
    before = state.to_dict()
    result = await agent.aprocess(state, catalog=catalog(FakeModel(reply)))
    assert {name: getattr(result, name) for name in expected} == expected
    assert state.to_dict() == before
    assert [item.kind for item in result.messages if item.kind in KINDS] == [result.messages[-1].kind]
    with pytest.raises(EngineError, match=f'{agent.role.title} failed: no luck'):
        await agent.aprocess(state, catalog=catalog(FakeModel(ModelError('no luck'))))
