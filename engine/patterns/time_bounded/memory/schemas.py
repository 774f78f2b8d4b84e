"""The records that the time-bounded loop's agents answer with."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field

from engine.patterns.time_bounded.memory.verdict_text import parse_verdict
from engine.records.frozen import FrozenModel

Complexity = Literal['simple', 'medium', 'complex']
Severity = Literal['low', 'medium', 'high', 'critical']


class PlannedStep(FrozenModel):
    """One step of a plan."""

    description: str = Field(max_length=4_000, description='What to do, as one task for a programmer')
    complexity: Complexity = Field(description='How difficult it is')
    depends_on: tuple[int, ...] = Field(
        (), description='Numbers of the steps that must be completed before it'
    )


class PlanDraft(FrozenModel):
    """A plan whose steps are numbered from 1, in order."""

    analysis: str = Field(max_length=10_000, description='What the goal requires, and what already exists')
    steps: tuple[PlannedStep, ...] = Field(description='From 2 to 15 steps')


class CodeOutput(FrozenModel):
    """A report on the work; the files themselves are checked."""

    summary: str = Field(max_length=10_000, description='What was changed and why')
    files: tuple[str, ...] = Field((), description='Paths of the files that were written or changed')
    tests: tuple[str, ...] = Field((), description='Paths of the test files for it')
    blocked: str = Field('', description='Why the step cannot be done; empty if it is done')
    asks_for_plan: bool = Field(False, description='Whether the step must be broken down into its own plan')

    @property
    def declines(self) -> bool:
        """Whether the step was not done, for a reason that was given."""
        return bool(self.blocked or self.asks_for_plan)


class Issue(FrozenModel):
    """A problem."""

    severity: Severity
    text: str = Field(max_length=2_000)
    file: str = ''


class Fix(FrozenModel):
    """One instruction of a fix plan."""

    file: str = Field('', description='The file to change')
    instruction: str = Field(max_length=4_000, description='Exactly what to change')


class TestReading(FrozenModel):
    """The report of the tester, who has read the code and the test results."""

    __test__ = False

    passed: bool = Field(description='Whether the tests passed; the actual test run decides')
    summary: str = Field(max_length=10_000)
    issues: tuple[Issue, ...] = Field((), description='Bugs, security issues, code smells, missed edge cases')
    coverage: int = Field(0, ge=0, le=100, description='How well the tests cover the step, from 0 to 100')
    fix_plan: tuple[Fix, ...] = Field((), description='What the coder must change, if anything is wrong')


class Verdict(FrozenModel):
    """The verdict of the supervisor on any output."""

    @classmethod
    def from_prose(cls, text: str) -> Self:
        """Use prose as the verdict if the supervisor, asked again, still gives no record.

        Approval or rejection covers every yes or no that the verdict asks for. Raises `ValueError` if the
        text does not state score and approval plainly.
        """
        score, approved = parse_verdict(text)
        required = {name: field.annotation for name, field in cls.model_fields.items() if field.is_required()}
        stated = {name: approved if kind is bool else text for name, kind in required.items()}
        return cls.model_validate({**stated, 'score': score})

    score: int = Field(ge=0, le=100, description='The quality of the work, from 0 to 100')
    approved: bool = Field(description='Whether the work may continue')
    summary: str = Field(max_length=10_000, description='The verdict in one sentence')
    issues: tuple[str, ...] = Field((), description='What is wrong, one point per item')


class PlanVerdict(Verdict):
    """The verdict on a plan."""

    actionable: bool = Field(description='Whether every step can be carried out as written')
    reasonable: bool = Field(description='Whether the estimates of complexity are reasonable')


class CodeVerdict(Verdict):
    """The verdict on an implementation."""

    addresses_step: bool = Field(description='Whether it does what the step asks for')
    critical_security_issues: tuple[str, ...] = ()


class StepVerdict(Verdict):
    """The verdict on a finished step."""

    evidence: str = Field(max_length=10_000, description='The evidence that the step is complete')
    replan: str = Field(
        '',
        max_length=4_000,
        description='Why the result of this step means that the remaining steps must be planned again; '
        'empty if they can stay as they are',
    )


class GoalVerdict(Verdict):
    """The verdict on the whole work."""

    goal_met: bool = Field(description='Whether the goal is reached')
    evidence: str = Field(max_length=10_000, description='The evidence for that')
    missing: tuple[str, ...] = Field((), description='What remains to be done')
