"""Quality gates: the conditions under which work is gone on with, each of them by its name."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine.bounded.answers import CodeVerdict, GoalVerdict, PlanDraft, PlanVerdict, StepVerdict, Verdict
from engine.bounded.plan import faults

TEST_FILE = re.compile(r'(^|/)(tests?|__tests__|spec)/|(^|/)test_[^/]*$|_test\.[^/]*$|\.(test|spec)\.[^/]*$')
"""Paths of files with tests, by the habits of pytest, Go, JavaScript and others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What is known without asking anybody."""

    threshold: int
    draft: PlanDraft | None = None
    changed: tuple[str, ...] = ()
    """Files that differ from what they were when the step began."""
    blocked: bool = False
    """Whether the coder says that it could not do the step."""
    tests_pass: bool = False
    left_over: int = 0
    """Steps that are not complete."""
    acceptable: int = 0
    """How many of these may be."""


Condition = Callable[[Facts, Verdict], bool]


def _as(kind: type[Verdict], name: str) -> Condition:
    """What a verdict of one kind says; one that stands in for it (degraded) is of that kind too."""
    return lambda facts, verdict: isinstance(verdict, kind) and bool(getattr(verdict, name))


PLAN: Mapping[str, Condition] = {
    'plan_is_actionable': _as(PlanVerdict, 'actionable'),
    'dependencies_are_satisfiable': lambda facts, verdict: (
        facts.draft is not None and not faults(facts.draft)
    ),
    'estimates_are_reasonable': _as(PlanVerdict, 'reasonable'),
    'plan_score_is_enough': lambda facts, verdict: verdict.score >= facts.threshold,
    'plan_is_approved': lambda facts, verdict: verdict.approved,
}
CODE: Mapping[str, Condition] = {
    'step_is_addressed': lambda facts, verdict: (
        isinstance(verdict, CodeVerdict) and verdict.addresses_step and not facts.blocked
    ),
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
"""Of the tester's fix plan: one that is not approved is still carried out, with the supervisor's demands."""
STEP: Mapping[str, Condition] = {
    'tests_pass': lambda facts, verdict: facts.tests_pass,
    'supervisor_verifies': lambda facts, verdict: verdict.approved,
    'evidence_is_given': lambda facts, verdict: (
        isinstance(verdict, StepVerdict) and bool(verdict.evidence.strip())
    ),
    'step_score_is_enough': lambda facts, verdict: verdict.score >= facts.threshold,
}
GOAL: Mapping[str, Condition] = {
    'steps_are_complete': lambda facts, verdict: facts.left_over <= facts.acceptable,
    'integration_tests_pass': lambda facts, verdict: facts.tests_pass,
    'goal_is_met': _as(GoalVerdict, 'goal_met'),
    'goal_score_is_enough': lambda facts, verdict: verdict.score >= facts.threshold,
}
GATES: Mapping[str, Mapping[str, Condition]] = {
    'plan': PLAN, 'code': CODE, 'tests': TESTS, 'step': STEP, 'goal': GOAL,
}  # fmt: skip
TITLES = {
    'plan': 'Plan approval',
    'code': 'Code approval',
    'tests': 'Findings of the tester',
    'step': 'Step completion',
    'goal': 'Goal achievement',
}


def conditions(gate: str, facts: Facts, verdict: Verdict) -> tuple[tuple[str, bool], ...]:
    """Each condition of a gate, and whether it holds."""
    return tuple((name, bool(holds(facts, verdict))) for name, holds in GATES[gate].items())
