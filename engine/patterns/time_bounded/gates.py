"""Quality gates: the named conditions under which work proceeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.patterns.time_bounded.memory.plan import MIN_STEPS, validate_plan
from engine.patterns.time_bounded.memory.schemas import (
    CodeVerdict,
    GoalVerdict,
    PlanDraft,
    PlanVerdict,
    StepVerdict,
    Verdict,
)

TEST_FILE = re.compile(r'(^|/)(tests?|__tests__|spec)/|(^|/)test_[^/]*$|_test\.[^/]*$|\.(test|spec)\.[^/]*$')
"""Test file paths, by the conventions of pytest, Go, JavaScript and others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateFacts:
    """Facts known without asking an agent."""

    threshold: int
    draft: PlanDraft | None = None
    min_steps: int = MIN_STEPS
    """Minimum number of steps in the plan."""
    changed: tuple[str, ...] = ()
    """Files changed since the step began."""
    blocked: bool = False
    """Whether the coder reports that it cannot do the step as it is."""
    tests_pass: bool = False
    incomplete_steps: int = 0
    """Number of incomplete steps."""
    max_incomplete_steps: int = 0
    """Maximum number of incomplete steps."""


Condition = Callable[[GateFacts, Verdict], bool]


def _verdict_has(kind: type[Verdict], name: str) -> Condition:
    """Return a condition: the verdict is of this kind and its field `name` is true."""
    return lambda facts, verdict: isinstance(verdict, kind) and bool(getattr(verdict, name))


PLAN: Mapping[str, Condition] = {
    'plan_is_actionable': _verdict_has(PlanVerdict, 'actionable'),
    'dependencies_are_satisfiable': lambda facts, verdict: (
        facts.draft is not None and not validate_plan(facts.draft, min_steps=facts.min_steps)
    ),
    'estimates_are_reasonable': _verdict_has(PlanVerdict, 'reasonable'),
    'plan_score_is_enough': lambda facts, verdict: verdict.score >= facts.threshold,
    'plan_is_approved': lambda facts, verdict: verdict.approved,
}
CODE: Mapping[str, Condition] = {
    'coder_is_not_blocked': lambda facts, verdict: not facts.blocked,
    'step_is_addressed': _verdict_has(CodeVerdict, 'addresses_step'),
    'tests_are_included': lambda facts, verdict: any(TEST_FILE.search(path) for path in facts.changed),
    'no_security_issue_is_critical': lambda facts, verdict: (
        isinstance(verdict, CodeVerdict) and not verdict.critical_security_issues
    ),
    'code_score_is_enough': lambda facts, verdict: verdict.score >= facts.threshold,
    'code_is_approved': lambda facts, verdict: verdict.approved,
}
TESTS: Mapping[str, Condition] = {
    'findings_are_approved': lambda facts, verdict: verdict.approved,
}
"""For the tester's fix plan: if not approved, it is still carried out, with the supervisor's demands."""
STEP: Mapping[str, Condition] = {
    'tests_pass': lambda facts, verdict: facts.tests_pass,
    'supervisor_verifies': lambda facts, verdict: verdict.approved,
    'evidence_is_given': lambda facts, verdict: (
        isinstance(verdict, StepVerdict) and bool(verdict.evidence.strip())
    ),
    'step_score_is_enough': lambda facts, verdict: verdict.score >= facts.threshold,
}
GOAL: Mapping[str, Condition] = {
    'steps_are_complete': lambda facts, verdict: facts.incomplete_steps <= facts.max_incomplete_steps,
    'integration_tests_pass': lambda facts, verdict: facts.tests_pass,
    'goal_is_met': _verdict_has(GoalVerdict, 'goal_met'),
    'goal_score_is_enough': lambda facts, verdict: verdict.score >= facts.threshold,
}
GATES: Mapping[str, Mapping[str, Condition]] = {
    'plan': PLAN, 'code': CODE, 'tests': TESTS, 'step': STEP, 'goal': GOAL,
}  # fmt: skip
GATE_TITLES = {
    'plan': 'Plan approval',
    'code': 'Code approval',
    'tests': 'Findings approval',
    'step': 'Step completion',
    'goal': 'Goal achievement',
}


FACTUAL = frozenset(
    {
        'dependencies_are_satisfiable',
        'coder_is_not_blocked',
        'tests_are_included',
        'tests_pass',
        'steps_are_complete',
        'integration_tests_pass',
    }
)
"""Conditions on facts: the supervisor has no say in them, so that it refuses nothing if they do not hold."""


def evaluate_gate(gate: str, facts: GateFacts, verdict: Verdict) -> tuple[tuple[str, bool], ...]:
    """Return each condition of a gate, and whether it holds."""
    return tuple((name, bool(holds(facts, verdict))) for name, holds in GATES[gate].items())
