"""The audit trail of a task: every action with its agent, time and step; nothing can be removed."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

from engine import LocalConductor, Status
from engine.errors import ModelError
from engine.patterns import audit_trail
from engine.patterns.pipeline import Pipeline
from engine.patterns.pipeline.task_state import AgentMessage, TaskState
from tests.support.harness import PIPELINE_TASK as TASK
from tests.support.harness import SAID_KINDS as KINDS
from tests.support.harness import FakeModel, HastyClock, catalog, pipeline_reply
from tests.support.harness import ran_pipeline as ran


def list_entries(memory: Any, *kinds: str) -> list[tuple[str, str, str]]:
    messages = TaskState.from_dict(memory).messages
    return [(item.sender, item.recipient, item.content) for item in messages if item.kind in kinds]


async def test_every_action_is_in_the_history_with_its_time_and_step() -> None:
    async with LocalConductor(catalog=catalog(FakeModel(partial(pipeline_reply, revisions=0)))) as conductor:
        run = (await conductor.start('pipeline', TASK)).id
        outcome = await conductor.result(run)
        steps = await conductor.transitions(run)
    messages = audit_trail(steps)
    assert [item.content for item in messages] == [item['content'] for item in outcome.memory['messages']]
    assert [(item.sender, item.kind) for item in messages] == [
        ('researcher', 'model_call'),
        ('researcher', 'tool_call'),
        ('researcher', 'tool_call'),
        ('researcher', 'model_call'),
        ('researcher', 'findings'),
        ('analyzer', 'model_call'),
        ('analyzer', 'draft'),
        ('reviewer', 'model_call'),
        ('reviewer', 'verdict'),
        ('orchestrator', 'result'),
    ]
    assert [item.time for item in messages] == [steps[item.seq - 1].time for item in messages]
    assert [item.seq for item in messages] == sorted(item.seq for item in messages) and messages[0].seq > 1
    assert list_entries(outcome.memory, 'model_call')[0] == (
        'researcher',
        'scripted',
        'calls notes, calculator',
    )
    called = list_entries(outcome.memory, 'tool_call')
    assert [recipient for _, recipient, _ in called] == ['notes', 'calculator']
    assert '2*3' in called[1][2] and ': ok: ' in called[1][2]


async def test_a_repeated_attempt_is_in_the_history_with_its_reason() -> None:
    failed: list[Any] = []

    def once(request: Any) -> Any:
        if request.hints.role == 'analyzer' and not failed:
            failed.append(request)
            return ModelError('too busy', kind='rate limit', retryable=True)
        return pipeline_reply(request, revisions=0)

    async with LocalConductor(catalog=catalog(FakeModel(once)), clock=HastyClock()) as conductor:
        run = (await conductor.start('pipeline', TASK)).id
        outcome = await conductor.result(run)
        assert await conductor.audit(run) == (await conductor.info(run)).seq
        steps = await conductor.transitions(run)
    assert outcome.status is Status.DONE
    [(sender, _, content)] = list_entries(outcome.memory, 'retry')
    assert sender == 'analyzer' and content.startswith('attempt 1 failed, retrying in ')
    assert content.endswith('too busy')
    assert any('attempt 2' in content for _, _, content in list_entries(outcome.memory, 'model_call'))
    retried = next(step for step in steps if step.event.name == 'retry')
    assert [change.path for change in retried.changes] == ['/memory/messages/-']


async def test_an_error_of_a_callable_names_its_stage() -> None:
    outcome, _ = await ran(pattern=Pipeline.with_stages('broken', analyzing=lambda state: 1 / 0))
    assert outcome.error.startswith('analyzing: ZeroDivisionError')
    assert list_entries(outcome.memory, 'error')[0][0] == 'analyzing'


def list_kinds(outcome: Any) -> list[str]:
    return [item['kind'] for item in outcome.memory['messages'] if item['kind'] in KINDS]


def erases(state: TaskState) -> TaskState:
    state.messages.clear()
    return state


async def test_a_stage_cannot_erase_the_history() -> None:
    outcome, _ = await ran(pattern=Pipeline.with_stages('erasing', analyzing=erases))
    assert outcome.status is Status.FAILED and 'may add to `messages`' in outcome.error
    assert list_kinds(outcome) == ['findings', 'error', 'error']


@pytest.mark.parametrize('gives', [{'messages': []}, {'analysis': 'drafted', 'messages': []}, {}])
async def test_a_mapping_adds_to_the_history_and_leaves_an_entry(gives: dict[str, Any]) -> None:
    outcome, _ = await ran(
        partial(pipeline_reply, revisions=0), Pipeline.with_stages('mapping', analyzing=lambda state: gives)
    )
    assert list_kinds(outcome) == [
        'findings',
        'update',
        'verdict',
        'result',
    ]
    [(sender, _, _)] = list_entries(outcome.memory, 'update')
    assert sender == 'analyzing'


async def test_a_mapping_may_add_its_own_message() -> None:
    hello = AgentMessage(sender='me', recipient='you', kind='draft', content='hello')
    outcome, _ = await ran(
        pattern=Pipeline.with_stages('saying', analyzing=lambda state: {'messages': [hello]})
    )
    assert list_kinds(outcome)[:2] == ['findings', 'draft']
