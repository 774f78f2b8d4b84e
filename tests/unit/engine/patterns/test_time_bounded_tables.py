"""The tables of the time-bounded loop, row by row: protocol, time, escalation, gates, plans, fallbacks."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import InvalidInput
from engine.patterns.time_bounded import fallback
from engine.patterns.time_bounded.gates import GATES, TEST_FILE, GateFacts, evaluate_gate
from engine.patterns.time_bounded.memory.escalation import ACTIONS, TRIGGERS, Level, level_of, message_for
from engine.patterns.time_bounded.memory.plan import find_cycle, validate_plan
from engine.patterns.time_bounded.memory.protocol import MessageType, Participant
from engine.patterns.time_bounded.memory.schedule import allocate, seconds_for_fixes, seconds_per_step
from engine.patterns.time_bounded.memory.schemas import (
    CodeVerdict,
    GoalVerdict,
    PlanDraft,
    PlannedStep,
    PlanVerdict,
    StepVerdict,
    Verdict,
)
from engine.patterns.time_bounded.memory.state import OrchestrationState

REQUESTS = {
    MessageType.PLAN_REQUEST: Participant.PLANNER,
    MessageType.REPLAN_REQUEST: Participant.PLANNER,
    MessageType.CODE_REQUEST: Participant.CODER,
    MessageType.CODE_FIX_REQUEST: Participant.CODER,
    MessageType.TEST_REQUEST: Participant.TESTER,
    MessageType.VERIFY_REQUEST: Participant.SUPERVISOR,
    MessageType.STEP_COMPLETE: Participant.ORCHESTRATOR,
    MessageType.STEP_BLOCKED: Participant.ORCHESTRATOR,
    MessageType.GOAL_COMPLETE: Participant.ORCHESTRATOR,
    MessageType.ABORT: Participant.ALL,
}
"""Messages that go to one recipient only."""
RESPONSES = {
    MessageType.PLAN_RESPONSE: Participant.PLANNER,
    MessageType.SUBPLAN_RESPONSE: Participant.PLANNER,
    MessageType.CODE_RESPONSE: Participant.CODER,
    MessageType.TEST_RESPONSE: Participant.TESTER,
    MessageType.FIX_PLAN: Participant.TESTER,
    MessageType.VERIFY_RESPONSE: Participant.SUPERVISOR,
    MessageType.CORRECTION: Participant.SUPERVISOR,
    MessageType.ESCALATION: Participant.SUPERVISOR,
}
"""Messages that only one role sends."""


def test_each_of_eighteen_message_types_has_a_fixed_sender_or_recipient() -> None:
    assert len(MessageType) == 18
    assert set(REQUESTS) | set(RESPONSES) == set(MessageType)


@pytest.mark.parametrize(
    ('score', 'issues', 'level'),
    [
        (100, 0, 'NONE'), (70, 0, 'NONE'), (70, 1, 'NONE'),
        (69, 1, 'REMIND'), (50, 1, 'REMIND'),
        (49, 1, 'CORRECT'), (30, 1, 'CORRECT'), (90, 2, 'CORRECT'), (60, 2, 'CORRECT'),
        (29, 1, 'REFOCUS'), (0, 1, 'REFOCUS'), (90, 3, 'REFOCUS'), (40, 3, 'REFOCUS'), (20, 2, 'REFOCUS'),
        (90, 4, 'CRITICAL'), (10, 4, 'CRITICAL'),
        (90, 5, 'ABORT'), (10, 5, 'ABORT'), (90, 17, 'ABORT'),
    ],
)  # fmt: skip
def test_score_and_issues_decide_the_escalation_level(score: int, issues: int, level: str) -> None:
    assert level_of(score, issues) is Level(level)


def test_every_level_has_its_own_trigger_action_and_message() -> None:
    assert set(TRIGGERS) == set(ACTIONS) == set(Level)
    messages = [message_for(level, 'the code', ['write tests']) for level in Level]
    assert len(set(messages)) == 6 and all('write tests' in text for text in messages[1:])


@given(st.integers(0, 100), st.integers(0, 20))
def test_a_worse_score_or_another_issue_is_never_milder(score: int, issues: int) -> None:
    assert level_of(score, issues + 1).severity >= level_of(score, issues).severity
    assert score == 0 or level_of(score - 1, issues).severity >= level_of(score, issues).severity


@pytest.mark.parametrize(
    ('budget', 'planning', 'executing', 'verifying'),
    [(600, 60, 480, 60), (6_000, 600, 4_800, 600), (9_000, 900, 7_200, 600), (36_000, 900, 28_800, 600)],
)
def test_time_is_divided_between_phases(
    budget: float, planning: float, executing: float, verifying: float
) -> None:
    shares = allocate(budget)
    assert (shares.planning, shares.executing, shares.verifying) == pytest.approx(
        (planning, executing, verifying)
    )
    assert seconds_per_step(shares.executing, 8) == executing / 8
    assert seconds_for_fixes(100) == 30


def draft(*needs: tuple[int, ...]) -> PlanDraft:
    steps = tuple(PlannedStep(description='do it', complexity='simple', depends_on=need) for need in needs)
    return PlanDraft(analysis='', steps=steps)


@pytest.mark.parametrize(
    ('needs', 'problem'),
    [
        (((), (1,)), ''),
        (((), (1,), (1, 2)), ''),
        (((2,), ()), ''),
        (((),), '2 to 15 steps, not 1'),
        (((),) * 16, '2 to 15 steps, not 16'),
        (((), (3,)), 'step 3, which does not exist'),
        (((), (0,)), 'step 0, which does not exist'),
        (((), (2,)), 'depends on itself'),
        (((2,), (1,)), 'steps 1, 2 wait for each other'),
        (((3,), (), (4,), (1,)), 'steps 1, 3, 4 wait for each other'),
    ],
)
def test_invalid_plans_are_explained(needs: Any, problem: str) -> None:
    problems = validate_plan(draft(*needs))
    assert (problem in '; '.join(problems)) if problem else problems == []


@given(st.integers(2, 15).flatmap(lambda n: st.lists(st.sets(st.integers(1, n)), min_size=n, max_size=n)))
def test_an_acyclic_plan_can_be_ordered(needs: list[set[int]]) -> None:
    graph = dict(enumerate(needs, start=1))
    stuck, order = find_cycle(graph), []
    while ready := [n for n in graph if n not in order and graph[n] <= set(order)]:
        order += ready
    assert sorted(order + stuck) == sorted(graph)


GOOD = {
    'plan': (PlanVerdict(score=70, approved=True, summary='', actionable=True, reasonable=True), 70),
    'code': (CodeVerdict(score=60, approved=True, summary='', addresses_step=True), 60),
    'step': (StepVerdict(score=70, approved=True, summary='', evidence='ran'), 70),
    'goal': (GoalVerdict(score=80, approved=True, summary='', goal_met=True, evidence='ran'), 80),
}


def facts(threshold: int, **other: Any) -> GateFacts:
    given_: dict[str, Any] = {'draft': draft((), (1,)), 'changed': ('a.py', 'test_a.py'), 'tests_pass': True}
    return GateFacts(threshold=threshold, **{**given_, **other})


@pytest.mark.parametrize(
    ('gate', 'change', 'held'),
    [
        ('plan', {'actionable': False}, 'plan_is_actionable'),
        ('plan', {'draft': draft((2,), (1,))}, 'dependencies_are_satisfiable'),
        ('plan', {'reasonable': False}, 'estimates_are_reasonable'),
        ('plan', {'score': 69}, 'plan_score_is_enough'),
        ('plan', {'approved': False}, 'plan_is_approved'),
        ('code', {'addresses_step': False}, 'step_is_addressed'),
        ('code', {'blocked': True}, 'coder_is_not_blocked'),
        ('code', {'changed': ('a.py',)}, 'tests_are_included'),
        ('code', {'critical_security_issues': ('eval',)}, 'no_security_issue_is_critical'),
        ('code', {'score': 59}, 'code_score_is_enough'),
        ('code', {'approved': False}, 'code_is_approved'),
        ('step', {'tests_pass': False}, 'tests_pass'),
        ('step', {'approved': False}, 'supervisor_verifies'),
        ('step', {'evidence': '  '}, 'evidence_is_given'),
        ('step', {'score': 69}, 'step_score_is_enough'),
        ('goal', {'incomplete_steps': 1}, 'steps_are_complete'),
        ('goal', {'tests_pass': False}, 'integration_tests_pass'),
        ('goal', {'goal_met': False}, 'goal_is_met'),
        ('goal', {'score': 79}, 'goal_score_is_enough'),
    ],
)
def test_each_condition_of_each_gate_blocks_on_its_own(gate: str, change: dict[str, Any], held: str) -> None:
    verdict, threshold = GOOD[gate]
    assert all(holds for _, holds in evaluate_gate(gate, facts(threshold), verdict))
    verdict_changes = {name: value for name, value in change.items() if name in type(verdict).model_fields}
    fact_changes = {name: value for name, value in change.items() if name not in verdict_changes}
    decision = evaluate_gate(
        gate, facts(threshold, **fact_changes), verdict.model_copy(update=verdict_changes)
    )
    assert [name for name, holds in decision if not holds] == [held]


def test_acceptable_failures_do_not_block_the_goal() -> None:
    verdict, threshold = GOOD['goal']
    assert all(
        holds
        for _, holds in evaluate_gate(
            'goal', facts(threshold, incomplete_steps=2, max_incomplete_steps=2), verdict
        )
    )


@pytest.mark.parametrize('gate', ['plan', 'code', 'step', 'goal'])
def test_without_the_supervisor_only_checkable_gates_pass(gate: str) -> None:
    fine, bad = facts(70), facts(70, draft=None, changed=(), tests_pass=False)
    passes = all(holds for _, holds in evaluate_gate(gate, fine, fallback.verdict(gate, fine, 'gone')))
    assert passes is (gate != 'goal')
    assert not all(holds for _, holds in evaluate_gate(gate, bad, fallback.verdict(gate, bad, 'gone')))


def test_the_fallback_plan_is_valid() -> None:
    assert validate_plan(fallback.simplest_plan('x' * 20_000, 'y' * 20_000)) == []


@pytest.mark.parametrize(
    ('path', 'is_test'),
    [
        ('test_a.py', True), ('src/a_test.go', True), ('tests/a.py', True), ('a.spec.ts', True),
        ('a.test.js', True), ('a.py', False), ('contest/a.py', False), ('latest_.py', False),
        ('testing.py', False),
    ],
)  # fmt: skip
def test_test_files_are_recognized_by_name(path: str, is_test: bool) -> None:
    assert bool(TEST_FILE.search(path)) is is_test


def test_every_condition_has_a_unique_name() -> None:
    names = [name for gate in GATES.values() for name in gate]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ('text', 'score', 'approved'),
    [
        ('Score: 95/100, approved.', 95, True),
        ('**Score:** 40 out of 100\n\n**Verdict:** not approved - the tests are missing.', 40, False),
        ('I approve the plan. My score is 80%; nothing is missing.', 80, True),
        ('Rejected (score 20): it lacks tests.', 20, False),
        ('Approved: no. Score: 55', 55, False),
    ],
)
def test_a_verdict_in_words_with_score_and_approval_is_one(text: str, score: int, approved: bool) -> None:
    verdict = GoalVerdict.from_prose(text)
    assert (verdict.score, verdict.approved, verdict.goal_met) == (score, approved, approved)
    assert verdict.summary == verdict.evidence == text


@pytest.mark.parametrize(
    'text',
    [
        'Approved.', 'Score: 95/100.', 'Score: 95 of the tests pass, approved.', 'Score: 950/100, approved.',
        'Score: 9/10, approved.', 'Score: 95/100. It can be approved once the tests pass.',
        'Score: 95/100, approved. Score: 20/100, rejected.', 'Score: 95/100, approved? No.',
        'Score: 95/100, approved. The plan is not approved.', 'Score: -5, approved.',
        'If the tests pass, approved. Score: 90', 'Score: 90, approved unless a test fails',
        'Score: 90, approved: not yet', 'Score: 90, approved, but not now',
    ],
)  # fmt: skip
def test_a_verdict_in_words_that_says_less_or_two_things_is_none(text: str) -> None:
    with pytest.raises(ValueError, match='score and approval'):
        Verdict.from_prose(text)


@pytest.mark.parametrize(
    ('data', 'problem'),
    [
        ({'primary_goal': 3}, 'primary_goal: '),
        ({'status': 'done'}, "status: Input should be 'initializing'"),
        ({'plan_stack': ['1']}, "plan_stack: there is no '1'"),
        ({'current_step': '1'}, "current_step: there is no '1'"),
        ({'plans': {'1': {'id': '1', 'goal': 'g', 'steps': ['2']}}}, "plans: there is no '2'"),
        ({'agents': {}}, "agents: there is no 'coder'"),
        ([], r'OrchestrationState: must be an object, not \[\]'),
    ],
)
def test_a_state_that_cannot_be_restored_says_why(data: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        OrchestrationState.from_dict(data)
