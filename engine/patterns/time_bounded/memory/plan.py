"""Plans and steps: the records, plan validation, and the tree of nested plans."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field

from engine.patterns.time_bounded.memory.escalation import Level
from engine.patterns.time_bounded.memory.schemas import CodeOutput, Complexity, Fix, Issue, PlanDraft
from engine.records.frozen import FrozenModel
from engine.records.products import PlanItem, StepState
from engine.statechart.memory import Memory

MIN_STEPS, MAX_STEPS = 2, 15
MAX_DEPTH = 3
"""Levels of nested plans; the first plan is level 0."""


class StepStatus(StrEnum):
    """Status of a plan or a step; a plan is never blocked."""

    PENDING = 'pending'
    IN_PROGRESS = 'in_progress'
    COMPLETED = 'completed'
    FAILED = 'failed'
    BLOCKED = 'blocked'


class VerificationResult(FrozenModel):
    """The supervisor's verdict on an output, and which conditions of its gate held."""

    gate: str
    """`plan`, `code`, `tests`, `step` or `goal`."""
    score: int
    approved: bool
    conditions: tuple[tuple[str, bool], ...]
    level: Level
    issues: tuple[str, ...] = ()
    summary: str = ''
    evidence: str = ''
    degraded: bool = False
    threshold: int | None = None
    """The gate's minimum score; None if it requires none."""
    refused: bool = False
    """Whether it did not pass because the supervisor found fault with the work."""

    @property
    def passed(self) -> bool:
        """Whether every condition holds."""
        return all(holds for _, holds in self.conditions)

    @property
    def unmet(self) -> tuple[str, ...]:
        """The conditions that do not hold."""
        return tuple(name for name, holds in self.conditions if not holds)

    @property
    def explanation(self) -> str:
        """Why it did not pass: the score, the unmet conditions and the demands."""
        if self.degraded:
            return self.summary
        bound = f' (minimum {self.threshold})' if self.threshold is not None else ''
        unmet_names = ', '.join(name.replace('_', ' ') for name in self.unmet)
        text = f'score {self.score}{bound}' + (f', not met: {unmet_names}' if unmet_names else '')
        return text + (f'; {"; ".join(self.issues)}' if self.issues else '')

    def holds(self, name: str) -> bool:
        """Whether the named condition was met; False if it was not checked."""
        return dict(self.conditions).get(name, False)


class TestResult(FrozenModel):
    """The result of testing a step: the tests that ran, and the tester's reading."""

    __test__ = False

    passed: bool
    """Decided by the tests that actually ran, not by any agent's claim."""
    good: int = 0
    bad: int = 0
    skipped: int = 0
    seconds: float = 0.0
    text: str = ''
    """The counts and the failures."""
    claimed: bool | None = None
    """The tester's claim; None if it made none."""
    summary: str = ''
    issues: tuple[Issue, ...] = ()
    coverage: int = 0
    fix_plan: tuple[Fix, ...] = ()
    degraded: bool = False

    @property
    def sound(self) -> bool:
        """Whether the tests pass and no critical issue was found."""
        return self.passed and not self.critical

    @property
    def critical(self) -> tuple[Issue, ...]:
        """The issues of severity `critical`."""
        return tuple(issue for issue in self.issues if issue.severity == 'critical')


class PlanStep(Memory):
    """One step of a plan."""

    id: str
    number: int
    description: str
    complexity: Complexity = 'medium'
    depends_on: tuple[int, ...] = ()
    status: StepStatus = StepStatus.PENDING
    depth: int = 0
    plan_id: str = ''
    parent_step_id: str = ''
    sub_steps: tuple[str, ...] = ()
    """Ids of the steps of its sub-plan."""
    attempts: int = 0
    max_attempts: int = 3
    fix_cycles: int = 0
    """Fix cycles of the current attempt."""
    stage: str = 'coding'
    """Where to resume after a stop: `coding`, `coded` (not approved) or `approved` (not tested)."""
    code_output: CodeOutput | None = None
    problem: str = ''
    """Why this attempt has no work to judge: the coder gave no answer, or changed no file."""
    changed_files: tuple[str, ...] = ()
    test_results: TestResult | None = None
    verification_result: VerificationResult | None = None
    fail_reason: str = ''
    started: float = -1.0
    """In seconds of running time; negative if it has not begun."""
    ended: float = -1.0


class ExecutionPlan(Memory):
    """A plan for the goal or for a blocked step."""

    id: str
    goal: str
    analysis: str = ''
    steps: tuple[str, ...] = ()
    depth: int = Field(0, ge=0, le=MAX_DEPTH)
    parent_plan_id: str = ''
    parent_step_id: str = ''
    status: StepStatus = StepStatus.PENDING
    current_step_index: int = 0
    degraded: bool = False


def build_steps(
    draft: PlanDraft, plan: ExecutionPlan, *, prefix: str, first: int, max_attempts: int
) -> dict[str, PlanStep]:
    """Return a draft's steps as steps of a plan, by id: numbered from `first`, each after the prefix."""
    return {
        f'{prefix}{number}': PlanStep(
            id=f'{prefix}{number}',
            number=number,
            description=step.description,
            complexity=step.complexity,
            depends_on=tuple(first - 1 + other for other in step.depends_on),
            depth=plan.depth,
            plan_id=plan.id,
            parent_step_id=plan.parent_step_id,
            max_attempts=max_attempts,
        )
        for number, step in enumerate(draft.steps, start=first)
    }


def validate_plan(draft: PlanDraft, *, min_steps: int = MIN_STEPS) -> list[str]:
    """Return what is wrong with a plan's form, or []."""
    count = len(draft.steps)
    problems = []
    if not min_steps <= count <= MAX_STEPS:
        problems.append(f'a plan has {min_steps} to {MAX_STEPS} steps, not {count}')
    for number, step in enumerate(draft.steps, start=1):
        if not step.description.strip():
            problems.append(f'step {number} has no description')
        for other in step.depends_on:
            if not 1 <= other <= count:
                problems.append(f'step {number} depends on step {other}, which does not exist')
            elif other == number:
                problems.append(f'step {number} depends on itself')
    cycle = find_cycle({number: set(step.depends_on) for number, step in enumerate(draft.steps, start=1)})
    if cycle and len(cycle) > 1:
        problems.append(f'steps {", ".join(map(str, cycle))} wait for each other')
    return problems


def find_cycle(needs: Mapping[int, set[int]]) -> list[int]:
    """Return steps that wait for one another, or []: those left after removing all that can be done."""
    waiting = {number: {need for need in needed if need in needs} for number, needed in needs.items()}
    while ready := [number for number, needed in waiting.items() if not needed]:
        for number in ready:
            del waiting[number]
        waiting = {number: needed.difference(ready) for number, needed in waiting.items()}
    return sorted(waiting)


def next_ready_step(
    steps: Mapping[str, PlanStep], plan: ExecutionPlan, *, independent: bool = False
) -> PlanStep | None:
    """Return the first step that can start, because its dependencies are over.

    A failed dependency counts as over ("mark step failed and continue"), since its dependents may
    still be possible; with `independent`, it does not.
    """
    plan_steps = [steps[name] for name in plan.steps]
    ends = (StepStatus.COMPLETED,) if independent else (StepStatus.COMPLETED, StepStatus.FAILED)
    over = {step.number for step in plan_steps if step.status in ends}
    return next(
        (
            step
            for step in plan_steps
            if step.status is StepStatus.PENDING and over.issuperset(step.depends_on)
        ),
        None,
    )


STEP_STATES: Mapping[StepStatus, StepState] = {
    StepStatus.PENDING: 'pending',
    StepStatus.IN_PROGRESS: 'in progress',
    StepStatus.COMPLETED: 'completed',
    StepStatus.FAILED: 'failed',
    StepStatus.BLOCKED: 'blocked',
}
"""The equivalent states, as known to the screens that all patterns share."""


def build_checklist(plans: Mapping[str, ExecutionPlan], steps: Mapping[str, PlanStep]) -> Iterator[PlanItem]:
    """Return the steps of all rounds as checklist items, each with those of its sub-plan."""

    def item(name: str) -> PlanItem:
        step = steps[name]
        before = name[: len(name) - len(str(step.number))]
        return PlanItem(
            id=name,
            title=step.description,
            role='coder',
            state=STEP_STATES[step.status],
            after=tuple(f'{before}{number}' for number in step.depends_on),
            result=step.fail_reason if step.status is not StepStatus.COMPLETED else '',
            steps=tuple(map(item, step.sub_steps)),
        )

    return (item(name) for plan in plans.values() if plan.depth == 0 for name in plan.steps)


def progress(
    plans: Mapping[str, ExecutionPlan], steps: Mapping[str, PlanStep], stack: Sequence[str]
) -> tuple[int, int]:
    """Return how many steps of the outermost current plan are over, and how many it has."""
    names = plans[stack[0]].steps if stack else ()
    return sum(steps[name].status in (StepStatus.COMPLETED, StepStatus.FAILED) for name in names), len(names)


def nest_plans(memory: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """Return a run's plans with nested steps: each step has those of its sub-plan under `sub_steps`.

    Args:
        memory: a view's memory (plain JSON values).
    """
    steps = memory['steps']

    def nest(names: Any) -> Iterator[dict[str, Any]]:
        for name in names:
            yield {**steps[name], 'sub_steps': list(nest(steps[name]['sub_steps']))}

    outer = [plan for plan in memory['plans'].values() if plan['depth'] == 0]
    return tuple({**plan, 'steps': list(nest(plan['steps']))} for plan in outer)
