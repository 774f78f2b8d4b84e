"""The records that the time-bounded loop's agents answer with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from engine.records.frozen import FrozenModel

Complexity = Literal['simple', 'medium', 'complex']
Severity = Literal['low', 'medium', 'high', 'critical']


class PlannedStep(FrozenModel):
    """One step as the planner writes it."""

    description: str = Field(max_length=4_000, description='What is to be done, as one task for a programmer')
    complexity: Complexity = Field(description='How hard it is')
    depends_on: tuple[int, ...] = Field(
        (), description='Numbers of the steps that must be complete before it'
    )


class PlanDraft(FrozenModel):
    """A plan as the planner writes it; steps are numbered from 1 in their order."""

    analysis: str = Field(max_length=10_000, description='What the goal asks for and what is there already')
    steps: tuple[PlannedStep, ...] = Field(description='From 2 to 15 steps')


class CodeOutput(FrozenModel):
    """What the coder says of its work; the files themselves are looked at."""

    summary: str = Field(max_length=10_000, description='What was changed and why')
    files: tuple[str, ...] = Field((), description='Paths of the files that were written or changed')
    tests: tuple[str, ...] = Field((), description='Paths of the files with the tests for it')
    blocked: str = Field('', description='Why the step cannot be done; empty if it is done')
    asks_for_plan: bool = Field(
        False, description='Whether the step must be broken down into a plan of its own'
    )


class Issue(FrozenModel):
    """Something that is wrong."""

    severity: Severity
    text: str = Field(max_length=2_000)
    file: str = ''


class Fix(FrozenModel):
    """One instruction of a fix plan."""

    file: str = Field('', description='Where')
    instruction: str = Field(max_length=4_000, description='What to change, exactly')


class TestReading(FrozenModel):
    """What the tester says after reading the code and the results of the tests."""

    __test__ = False

    passed: bool = Field(description='Whether the tests passed; what was actually run decides')
    summary: str = Field(max_length=10_000)
    issues: tuple[Issue, ...] = Field((), description='Bugs, security issues, code smells, missed edge cases')
    coverage: int = Field(0, ge=0, le=100, description='How well the tests cover the step, from 0 to 100')
    fix_plan: tuple[Fix, ...] = Field((), description='What the coder must change, if something is wrong')


class Verdict(FrozenModel):
    """What the supervisor says of any output."""

    score: int = Field(ge=0, le=100, description='How good the work is, from 0 to 100')
    approved: bool = Field(description='Whether the work may continue')
    summary: str = Field(max_length=10_000, description='The verdict in a sentence')
    issues: tuple[str, ...] = Field((), description='What is wrong, one point each')


class PlanVerdict(Verdict):
    """Of a plan."""

    actionable: bool = Field(description='Whether every step can be carried out as it is written')
    reasonable: bool = Field(description='Whether the estimates of complexity are reasonable')


class CodeVerdict(Verdict):
    """Of an implementation."""

    addresses_step: bool = Field(description='Whether it does what the step asks for')
    critical_security_issues: tuple[str, ...] = ()


class StepVerdict(Verdict):
    """Of a finished step."""

    evidence: str = Field(max_length=10_000, description='What shows that the step is complete')
    replan: str = Field(
        '',
        max_length=4_000,
        description='Why the steps that are still to come must be planned anew, by what this one has shown; '
        'nothing where they can stay as they are',
    )


class GoalVerdict(Verdict):
    """Of the whole."""

    goal_met: bool = Field(description='Whether the goal is reached')
    evidence: str = Field(max_length=10_000, description='What shows it')
    missing: tuple[str, ...] = Field((), description='What is still to be done')
