"""The time-bounded loop with an obedient team: every path through its chart."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from engine import Status
from engine.errors import ModelError
from engine.models.protocol import ModelRequest
from engine.patterns.time_bounded.memory.escalation import Escalation
from engine.patterns.time_bounded.memory.plan import TestResult, VerificationResult
from engine.patterns.time_bounded.memory.protocol import MessageType
from engine.patterns.time_bounded.memory.schemas import CodeOutput, PlanDraft
from engine.patterns.time_bounded.memory.state import OrchestrationState
from tests.support.teams.time_bounded import (
    BAD,
    PLAN,
    SUITED,
    bad_at_first,
    begin,
    good,
    kinds,
    leaf,
    make_conductor,
    play,
    team,
    verdict,
    write,
)
from tests.unit.engine.patterns.test_time_bounded_tables import REQUESTS, RESPONSES

pytestmark = pytest.mark.slow

THREE = {'actionable': True, 'reasonable': True}


def plan_at_first(request: ModelRequest) -> Any:
    """Ask for a plan at the first visit and write the code afterwards."""
    return {'summary': 'Too large.', 'asks_for_plan': True} if request.hints.visit == 1 else write(request)


def fixed_once(**fix: Any) -> Any:
    """A team whose first code is wrong; the tester says so, and then finds nothing."""
    finding = {'passed': False, 'summary': 'It triples.', **fix}
    return team(coding=bad_at_first, exploring=lambda r: finding if r.hints.visit == 1 else good(r))


async def test_a_supervisor_that_answers_in_words_is_understood() -> None:
    words = dict.fromkeys(SUITED, 'Score: 95/100, approved.')
    outcome, _ = await play(team(**words))
    assert (outcome.memory['status'], outcome.memory['verified']) == ('completed', True)
    assert not any(result['degraded'] for result in outcome.memory['verifications'])
    assert {result['score'] for result in outcome.memory['verifications']} == {95}


async def test_a_good_team_reaches_the_goal_and_every_output_is_verified() -> None:
    outcome, steps = await play(good)
    memory = outcome.memory
    assert (outcome.status, memory['status'], memory['verified']) == (Status.DONE, 'completed', True)
    assert kinds(memory)[-1] == 'GOAL_COMPLETE'
    # The plan once, code and tests for each of two steps, and the goal.
    assert Counter(verification['gate'] for verification in memory['verifications']) == {
        'plan': 1,
        'code': 2,
        'step': 2,
        'goal': 1,
    }
    answers = Counter(kinds(memory))
    assert answers['VERIFY_REQUEST'] == answers['VERIFY_RESPONSE'] == 6
    assert memory['changed_files'] == ['double.py', 'test_double.py']
    assert outcome.answer == memory['report'] and outcome.answer.startswith('# Write double')
    assert [step['status'] for step in memory['steps'].values()] == ['completed', 'completed']
    guards = [guard for step in steps for guard in step.guards if guard.name == 'tests_are_included']
    assert len(guards) == 2 and all(guard.value for guard in guards)


async def test_failing_tests_are_fixed_by_the_testers_plan() -> None:
    outcome, _ = await play(fixed_once(fix_plan=[{'file': 'double.py', 'instruction': 'Use 2.'}]))
    memory = outcome.memory
    assert memory['status'] == 'completed' and memory['metrics']['fix_cycles'] == 1
    message_kinds = kinds(memory)
    assert (
        message_kinds.index('FIX_PLAN')
        < message_kinds.index('CODE_FIX_REQUEST')
        < message_kinds.index('STEP_COMPLETE')
    )
    assert 'double.py: Use 2.' in next(
        m['content'] for m in memory['messages'] if m['type'] == 'CODE_FIX_REQUEST'
    )
    assert memory['steps']['1']['fix_cycles'] == 1 and memory['steps']['1']['attempts'] == 1
    assert {'tests'} < {verification['gate'] for verification in memory['verifications']}


async def test_a_step_whose_tests_never_pass_fails_alone() -> None:
    bad = {'passed': False, 'summary': 'Wrong.', 'fix_plan': []}
    outcome, _ = await play(
        team(coding=lambda r: write(r, BAD), exploring=bad),
        max_fix_cycles=2,
        max_rounds=1,
        max_failed_steps=15,
    )
    steps = outcome.memory['steps']
    assert [step['status'] for step in steps.values()] == ['failed', 'failed']
    assert [step['fix_cycles'] for step in steps.values()] == [2, 2]
    assert '2 fix cycles' in steps['1']['fail_reason']
    assert outcome.memory['status'] == 'failed' and outcome.status is Status.FAILED


async def test_a_plan_is_sent_back_until_it_is_approved() -> None:
    weak = verdict(40, actionable=False, reasonable=True, issues=['say which file'])
    reply = team(reviewing=lambda r: weak if r.hints.visit <= 2 else good(r))
    outcome, steps = await play(reply)
    memory = outcome.memory
    assert memory['status'] == 'completed' and memory['metrics']['replan_count'] == 2
    assert [escalation['level'] for escalation in memory['escalations']] == ['CORRECT', 'CORRECT']
    guards = [guard for step in steps for guard in step.guards if guard.name == 'plan_is_actionable']
    assert [guard.value for guard in guards] == [False, False, True]


async def test_a_plan_that_is_never_approved_ends_the_run() -> None:
    weak = verdict(69, **THREE, issues=['no'])
    outcome, _ = await play(team(reviewing=weak), max_revisions=1)
    assert outcome.memory['status'] == 'failed' and 'No plan was approved' in outcome.memory['reason']
    assert outcome.memory['verifications'][0]['conditions'][3] == ['plan_score_is_enough', False]


async def test_an_invalid_plan_is_requested_again_and_then_replaced() -> None:
    circle = {
        **PLAN,
        'steps': [{**step, 'depends_on': [2 - index]} for index, step in enumerate(PLAN['steps'])],
    }
    outcome, _ = await play(team(writing=circle))
    memory = outcome.memory
    assert memory['status'] == 'completed'
    requests = [message for message in memory['messages'] if message['type'] == 'PLAN_REQUEST']
    assert len(requests) == 2
    assert any('wait for each other' in entry['text'] for entry in memory['event_log'])
    plan = memory['plans']['plan-1']
    assert plan['analysis'].startswith('This is a fallback plan: its plan cannot be used: ')
    assert plan['degraded']  # although the supervisor approved it


async def test_a_blocked_step_gets_its_own_plan() -> None:
    def coding(request: ModelRequest) -> Any:
        if request.hints.visit <= 3:
            return {'summary': '', 'blocked': 'there is no module for numbers'}
        return write(request)

    outcome, _ = await play(team(coding=coding))
    memory = outcome.memory
    assert memory['status'] == 'completed'
    first = memory['steps']['1']
    assert (first['status'], first['attempts'], first['sub_steps']) == ('completed', 3, ['1.1', '1.2'])
    assert memory['plans']['plan-2'] | {'depth': 1, 'parent_step_id': '1'} == memory['plans']['plan-2']
    message_kinds = kinds(memory)
    assert (
        message_kinds.index('STEP_BLOCKED')
        < message_kinds.index('REPLAN_REQUEST')
        < message_kinds.index('SUBPLAN_RESPONSE')
    )
    assert memory['metrics']['completed_steps'] == 4 and memory['metrics']['total_steps'] == 4


@pytest.mark.parametrize(
    ('coding', 'reason'),
    [
        ({'summary': '', 'blocked': 'there is no module'}, 'there is no module'),
        ({'summary': 'It is done.'}, 'the coder changed no file'),
        (ModelError('HTTP 500'), 'the coder gave no answer: HTTP 500'),
    ],
    ids=['blocked', 'idle', 'failing'],
)
async def test_a_coder_without_work_is_not_refused_and_its_step_is_planned_three_levels_deep(
    coding: Any, reason: str
) -> None:
    reply = team(coding=coding, reviewing_code=verdict(90, addresses_step=True))
    outcome, _ = await play(reply, max_attempts=2, max_rounds=1, max_failed_steps=15)
    memory = outcome.memory
    assert max(plan['depth'] for plan in memory['plans'].values()) == 3
    assert max(step['depth'] for step in memory['steps'].values()) == 3
    assert memory['steps']['1.1.1.1']['sub_steps'] == []
    assert memory['steps']['1.1.1.1']['fail_reason'] == reason
    assert memory['steps']['2']['status'] == 'failed'  # It was tried, too.
    assert (memory['status'], memory['escalations']) == ('failed', [])
    assert memory['agents']['coder']['metrics']['rejected'] == 0
    assert reason in memory['report']


async def test_asking_for_a_plan_earns_no_correction() -> None:
    def coding(request: ModelRequest) -> Any:
        asks = request.hints.visit == 1
        return {'summary': '', 'asks_for_plan': True} if asks else write(request)

    def code(request: ModelRequest) -> Any:
        return verdict(30 if request.hints.visit == 1 else 90, addresses_step=True)

    outcome, _ = await play(team(coding=coding, reviewing_code=code))
    assert outcome.memory['steps']['1']['sub_steps'] and outcome.memory['escalations'] == []
    assert 'CORRECTION' not in kinds(outcome.memory)


async def test_issues_in_a_row_escalate_to_the_end_of_the_session() -> None:
    scores = {1: 55, 2: 40, 3: 20}

    def code(request: ModelRequest) -> Any:
        return verdict(
            scores.get(request.hints.visit, 90), addresses_step=True, issues=['where are the tests?']
        )

    def plan(request: ModelRequest) -> Any:
        return verdict(90 if request.hints.visit == 1 else 60, **THREE)

    outcome, _ = await play(team(reviewing_code=code, reviewing=plan))
    memory = outcome.memory
    assert [escalation['level'] for escalation in memory['escalations']] == [
        'REMIND', 'CORRECT', 'REFOCUS', 'CRITICAL', 'ABORT',
    ]  # fmt: skip
    assert (memory['status'], outcome.status) == ('aborted', Status.FAILED)
    assert [escalation['issues'] for escalation in memory['escalations']] == [1, 2, 3, 4, 5]
    assert 'FINAL WARNING' in memory['escalations'][3]['message']
    assert kinds(memory)[-2:] == ['ESCALATION', 'ABORT']
    assert memory['agents']['coder']['guidance'] and memory['agents']['planner']['guidance']


async def test_guidance_reaches_only_its_recipient() -> None:
    prompts: list[str] = []

    def coding(request: ModelRequest) -> Any:
        if request.hints.turn == 0:
            prompts.append(request.messages[-1].text)
        return write(request)

    code = team(
        coding=coding,
        reviewing_code=lambda r: verdict(
            40 if r.hints.visit == 1 else 90, addresses_step=True, issues=['Name it well']
        ),
    )
    await play(code)
    assert 'Name it well' not in prompts[0] and 'Name it well' in prompts[1] and 'CORRECT' in prompts[1]
    assert 'Name it well' not in prompts[2]


async def test_a_goal_that_is_not_met_is_planned_again() -> None:
    def judging(request: ModelRequest) -> Any:
        met = request.hints.visit > 1
        return verdict(90 if met else 50, goal_met=met, evidence='', missing=[] if met else ['the docs'])

    outcome, _ = await play(team(judging=judging))
    memory = outcome.memory
    assert memory['status'] == 'completed' and memory['iteration'] == 2
    assert list(memory['steps']) == ['1', '2', 'r2.1', 'r2.2']
    assert 'the docs' in memory['findings']


async def test_rounds_are_bounded() -> None:
    outcome, _ = await play(team(judging=verdict(50, goal_met=False, evidence='')), max_rounds=2)
    assert outcome.memory['iteration'] == 2 and outcome.memory['status'] == 'failed'
    assert 'not reached' in outcome.memory['reason']
    assert '| Phase | Seconds in all 2 rounds |' in outcome.memory['report']
    assert [span['round'] for span in outcome.memory['clock']['spans']] == [1, 1, 1, 2, 2, 2]


async def test_too_many_failures_are_escalated_and_the_plan_ends() -> None:
    plan = {**PLAN, 'steps': [{**PLAN['steps'][0], 'description': f'part {number}'} for number in range(5)]}
    bad = {'passed': False, 'summary': 'Wrong.'}
    outcome, _ = await play(
        team(writing=plan, coding=lambda r: write(r, BAD), exploring=bad),
        max_fix_cycles=0, max_rounds=1, max_failed_steps=1,
    )  # fmt: skip
    memory = outcome.memory
    statuses = [step['status'] for step in memory['steps'].values()]
    assert statuses == ['failed', 'failed', 'failed', 'pending', 'pending']
    assert any(m['type'] == 'ESCALATION' and m['recipient'] == 'all' for m in memory['messages'])


async def test_messages_follow_the_protocol_and_metrics_agree_with_the_journal() -> None:
    outcome, steps = await play(fixed_once())
    times = {step.time for step in steps}
    for message in outcome.memory['messages']:
        kind = MessageType(message['type'])
        assert message['sender'] == RESPONSES.get(kind, message['sender'])
        assert message['recipient'] == REQUESTS.get(kind, message['recipient'])
        assert message['time'] in times and message['content']
    metrics, memory = outcome.memory['metrics'], outcome.memory
    entered = Counter(
        leaf_of(edge.source) + '>' + leaf_of(edge.dest) for step in steps for edge in step.edges
    )
    assert metrics['fix_cycles'] == entered['fix_gate>coding']
    assert metrics['completed_steps'] == entered['step_gate>choosing']
    assert metrics['total_steps'] == len(memory['steps'])
    assert metrics['verifications_passed'] + metrics['verifications_failed'] == len(memory['verifications'])
    calls = Counter(leaf_of(step.event.at.rpartition('.')[0]) for step in steps if step.event.name == 'done')
    assert memory['agents']['coder']['metrics']['answers'] == entered['coding>collecting']
    assert calls['coding'] >= entered['coding>collecting']


def leaf_of(path: str) -> str:
    return path.rpartition('.')[2]


async def test_a_critical_finding_is_fixed_though_the_tests_pass() -> None:
    finding = {
        'passed': True,
        'summary': 'It can be misused.',
        'issues': [{'severity': 'critical', 'text': 'eval of user input', 'file': 'double.py'}],
    }
    outcome, _ = await play(team(exploring=lambda r: finding if r.hints.visit == 1 else good(r)))
    assert outcome.memory['metrics']['fix_cycles'] == 1 and outcome.memory['status'] == 'completed'


@pytest.mark.parametrize('skip_at', ['coding', 'judging'])
async def test_verification_of_the_goal_can_be_skipped(skip_at: str) -> None:
    signal = asyncio.Event()

    def reply(request: ModelRequest) -> Any:
        if leaf(request) == skip_at and request.hints.turn == 0 and not signal.is_set():
            signal.set()
            return asyncio.Event() if skip_at == 'judging' else good(request)
        return good(request)

    async with make_conductor(reply) as conductor:
        run = await begin(conductor)
        await signal.wait()
        await conductor.send(run, 'skip_verification')
        outcome = await conductor.result(run)
    assert outcome.memory['status'] == 'completed' and not outcome.memory['verified']
    reason = 'A person skipped verification; all steps are complete.'
    assert outcome.error == outcome.memory['reason'] == reason
    assert 'The goal has not been verified.' in outcome.answer


async def test_a_step_finished_by_a_plan_that_its_coder_asked_for_must_pass_the_step_gate_too() -> None:
    outcome, _ = await play(team(coding=plan_at_first))
    first = outcome.memory['steps']['1']
    assert (outcome.memory['status'], first['status'], outcome.error) == ('completed', 'completed', '')
    assert first['attempts'] == 1 and first['sub_steps']
    assert first['test_results']['passed'] and first['verification_result']['gate'] == 'step'
    # Its two own steps, the step itself, and the other step.
    assert sum(verification['gate'] == 'step' for verification in outcome.memory['verifications']) == 4


async def test_a_step_refused_after_its_own_plan_is_refused_for_what_the_supervisor_says() -> None:
    def step(request: ModelRequest) -> Any:
        refuses = request.hints.visit in (3, 4)
        return verdict(40 if refuses else 90, evidence='tests', issues=['wrong algorithm'] if refuses else [])

    reply = team(coding=plan_at_first, reviewing_step=step)
    outcome, _ = await play(reply, max_attempts=1, max_rounds=1, max_failed_steps=15)
    memory = outcome.memory
    assert memory['steps']['1']['fail_reason'].startswith('wrong algorithm (not met: ')
    assert [sent['level'] for sent in memory['escalations']][:1] == ['CORRECT']


async def test_a_step_is_not_planned_again_after_a_failed_plan() -> None:
    def refuse_first(request: ModelRequest) -> Any:
        doomed = 'Step 1 (' in request.messages[-1].text
        return verdict(40 if doomed else 90, evidence='tests', issues=['no'] if doomed else [])

    reply = team(coding=plan_at_first, reviewing_step=refuse_first)
    outcome, _ = await play(reply, max_attempts=1, max_rounds=1)
    assert outcome.memory['steps']['1']['status'] == 'failed'
    assert len(outcome.memory['plans']) == 2


async def test_steps_independent_of_failures_continue_by_default() -> None:
    described = ['part 1', 'part 2', 'rests on 1', 'part 4']
    needs: list[list[int]] = [[], [], [1], []]
    plan = {
        **PLAN,
        'steps': [
            {'description': text, 'complexity': 'simple', 'depends_on': need}
            for text, need in zip(described, needs, strict=True)
        ],
    }

    prompts: list[str] = []

    def writing(request: ModelRequest) -> Any:
        prompts.append(request.messages[-1].text)
        return plan if len(prompts) == 1 else PLAN

    outcome, _ = await play(
        team(writing=writing, coding=bad_at_first), max_fix_cycles=0, max_rounds=2, max_replans=0
    )
    memory = outcome.memory
    statuses = [step['status'] for name, step in memory['steps'].items() if not name.startswith('r2')]
    assert statuses == ['failed', 'completed', 'pending', 'completed']
    (warning,) = [escalation for escalation in memory['escalations'] if escalation['level'] == 'CRITICAL']
    assert warning['message'].startswith('1 of 4 steps failed (1); at most 0 may.')
    assert warning['message'] in prompts[1]
    assert 'STEP_BLOCKED' not in kinds(memory)


async def test_refusals_are_counted_per_step_and_gate_even_if_other_gates_pass_in_between() -> None:
    reply = team(reviewing_step=verdict(20, evidence='', issues=['show it']))
    outcome, _ = await play(reply, max_attempts=3)
    memory = outcome.memory
    counted = [escalation['issues'] for escalation in memory['escalations']]
    assert counted[:5] == [1, 2, 3, 4, 5]
    assert [escalation['level'] for escalation in memory['escalations']][:5] == [
        'REFOCUS', 'REFOCUS', 'REFOCUS', 'CRITICAL', 'ABORT',
    ]  # fmt: skip
    assert (memory['status'], outcome.status) == ('aborted', Status.FAILED)
    assert (
        outcome.error == memory['reason'] and 'step completion was refused 5 times in a row' in outcome.error
    )
    assert not any(plan['status'] == 'in_progress' for plan in memory['plans'].values())
    assert not any(step['status'] in ('in_progress', 'blocked') for step in memory['steps'].values())


async def test_a_session_ended_by_several_gates_counts_the_refusals_of_each() -> None:
    def reply(request: ModelRequest) -> Any:
        if leaf(request) == 'coding' and request.hints.visit < 4:
            return write(request, code=BAD)
        if leaf(request) == 'reviewing_fixes':
            return verdict(75) | {'approved': False}
        if leaf(request) == 'reviewing_step':
            return verdict(20, evidence='', issues=['show it'])
        return good(request)

    outcome, _ = await play(reply, max_attempts=3)
    assert outcome.memory['status'] == 'aborted'
    assert 'it refused findings approval 3 times and step completion 2 times; score 20' in outcome.error
    third = outcome.memory['escalations'][2]['message']
    assert third.startswith('Stop and') and '(score 75, rejected 3 times in a row)' in third


@pytest.mark.parametrize(('issues', 'level'), [(1, 'REMIND'), (2, 'CORRECT'), (3, 'REFOCUS')])
async def test_every_issue_of_a_refusal_counts_and_the_first_refusal_sends_a_correction(
    issues: int, level: str
) -> None:
    def code(request: ModelRequest) -> Any:
        refused = request.hints.visit == 1
        listed = [f'demand {number}' for number in range(issues)] if refused else []
        return verdict(75, addresses_step=True, issues=listed) | {'approved': not refused}

    outcome, _ = await play(team(reviewing_code=code))
    assert [escalation['level'] for escalation in outcome.memory['escalations']] == [level]
    assert '(score 75, rejected once)' in outcome.memory['escalations'][0]['message']
    assert kinds(outcome.memory).count('CORRECTION') == 1


async def test_a_silent_supervisor_does_not_fail_the_coder() -> None:
    def silent(request: ModelRequest) -> Any:
        return ModelError('overloaded') if leaf(request) == 'judging' else good(request)

    outcome, _ = await play(silent, max_rounds=2)
    agents = outcome.memory['agents']
    assert agents['coder']['metrics']['rejected'] == 0 and outcome.memory['escalations'] == []
    assert agents['supervisor']['metrics']['degraded'] == 2
    assert 'overloaded' in outcome.error and 'The supervisor gave no answer' in outcome.error


async def test_the_state_converts_to_a_dictionary() -> None:
    outcome, steps = await play(good)
    state = OrchestrationState.from_dict(outcome.memory)
    data = state.to_dict()
    assert data['id'] == steps[0].run and data['current_plan']['steps'] == ['1', '2']
    assert OrchestrationState.from_dict(data).to_dict() == data
    assert OrchestrationState().to_dict()['current_plan'] is None


async def test_messages_carry_their_payload_as_an_object() -> None:
    def review(request: ModelRequest) -> Any:
        return verdict(40 if request.hints.visit == 2 else 90, **SUITED['reviewing_code'])

    outcome, _ = await play(team(coding=bad_at_first, reviewing_code=review))
    messages = OrchestrationState.from_dict(outcome.memory).messages
    types = {
        MessageType.PLAN_RESPONSE: PlanDraft,
        MessageType.CODE_RESPONSE: CodeOutput,
        MessageType.TEST_RESPONSE: TestResult,
        MessageType.VERIFY_RESPONSE: VerificationResult,
        MessageType.CORRECTION: Escalation,
        MessageType.FIX_PLAN: tuple,
    }
    assert {item.type for item in messages if item.payload is not None} >= set(types)
    for entry in messages:
        assert isinstance(entry.payload, types.get(entry.type, type(None))), entry
    verified = [item.payload for item in messages if isinstance(item.payload, VerificationResult)]
    assert verified == OrchestrationState.from_dict(outcome.memory).verifications
    assert {(item.score, item.approved) for item in verified} == {(40, False), (90, True)}
