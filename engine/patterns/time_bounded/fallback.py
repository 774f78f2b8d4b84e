"""Fallbacks for agents that gave no answer, all marked as degraded.

If the supervisor is unavailable, checks that need no agent decide, and give exactly the score that the
gate requires: degraded work never passes just because nobody looked.
"""

from __future__ import annotations

from engine.patterns.time_bounded.gates import TEST_FILE, GateFacts
from engine.patterns.time_bounded.memory.plan import validate_plan
from engine.patterns.time_bounded.memory.schemas import (
    CodeOutput,
    CodeVerdict,
    Fix,
    GoalVerdict,
    PlanDraft,
    PlannedStep,
    PlanVerdict,
    StepVerdict,
    TestReading,
    Verdict,
)
from engine.records import Event

MAX_TEXT = 4_000


def simplest_plan(goal: str, problem: str) -> PlanDraft:
    """Return the simplest possible plan, with the reason for using it."""
    return PlanDraft(
        analysis=f'This is a fallback plan: {problem}.'[:10_000],
        steps=(
            PlannedStep(description=f'Do what the goal asks for: {goal[:3_000]}', complexity='complex'),
            PlannedStep(
                description='Find out what the goal still lacks, add it, and test it.',
                complexity='medium',
                depends_on=(1,),
            ),
        ),
    )


def code_output(problem: str) -> CodeOutput:
    """Return an empty answer; the files may still have changed, and are checked."""
    return CodeOutput(summary=f'The coder gave no answer: {problem}')


def test_analysis(passed: bool, text: str) -> TestReading:
    """Return the bare test results, with the failures as the fix plan."""
    fixes = () if passed else (Fix(instruction=f'Make these tests pass:\n{text[-MAX_TEXT:]}'[:MAX_TEXT]),)
    return TestReading(
        passed=passed,
        summary='The tester gave no answer. These are the test results.',
        fix_plan=fixes,
    )


def verdict(gate: str, facts: GateFacts, problem: str) -> Verdict:
    """Return the verdict that can be reached without the supervisor."""
    summary = f'The supervisor gave no answer: {problem}'
    if gate == 'plan':
        good = facts.draft is not None and not validate_plan(facts.draft, min_steps=facts.min_steps)
        score = facts.threshold if good else 0
        return PlanVerdict(score=score, approved=good, actionable=good, reasonable=good, summary=summary)
    if gate == 'code':
        good = not facts.blocked and any(TEST_FILE.search(path) for path in facts.changed)
        score = facts.threshold if good else 0
        return CodeVerdict(score=score, approved=good, addresses_step=good, summary=summary)
    if gate == 'step':
        good = facts.tests_pass
        evidence = 'The tests were run and pass.' if good else ''
        score = facts.threshold if good else 0
        return StepVerdict(score=score, approved=good, evidence=evidence, summary=summary)
    if gate == 'goal':
        # Tests alone cannot show that the goal is met, and nobody else confirms it.
        return GoalVerdict(score=0, approved=False, goal_met=False, evidence='', summary=summary)
    return Verdict(score=facts.threshold, approved=True, summary=summary)


def describe_failure(event: Event) -> str:
    """Return why an agent gave no answer."""
    if unfit := event.data.get('unfit'):
        return f'its answer could not be read: {unfit}'
    return str(event.data.get('error') or 'it timed out')
