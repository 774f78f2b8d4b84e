"""Plans and their steps: the records, what makes a plan sound, and the tree that nested plans form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field

from engine.bounded.answers import CodeOutput, Complexity, Fix, Issue, PlanDraft
from engine.bounded.escalation import Level
from engine.frozen import Record
from engine.memory import Memory
from engine.steps import Step, StepState

FEWEST_STEPS, MOST_STEPS = 2, 15
DEEPEST = 3
"""Levels of plans within plans; the first plan is level 0."""


class State(StrEnum):
    """What became of a plan or a step; a plan is never blocked."""

    PENDING = 'pending'
    IN_PROGRESS = 'in_progress'
    COMPLETED = 'completed'
    FAILED = 'failed'
    BLOCKED = 'blocked'


class VerificationResult(Record):
    """What the supervisor said of an output, and which conditions of its gate held."""

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
    """The least score of the gate; None where it asks for none."""

    @property
    def passed(self) -> bool:
        """Whether every condition holds."""
        return all(holds for _, holds in self.conditions)

    @property
    def held_back(self) -> tuple[str, ...]:
        """The conditions that do not hold."""
        return tuple(name for name, holds in self.conditions if not holds)

    def holds(self, name: str) -> bool:
        """Whether one of them holds."""
        return dict(self.conditions).get(name, False)


class TestResult(Record):
    """What came of testing a step: what was run, and what the tester read."""

    __test__ = False

    passed: bool
    """What was really run decides, and nothing that an agent says."""
    good: int = 0
    bad: int = 0
    skipped: int = 0
    seconds: float = 0.0
    text: str = ''
    """The counts and the failures."""
    claimed: bool | None = None
    """What the tester said; None where it said nothing."""
    summary: str = ''
    issues: tuple[Issue, ...] = ()
    coverage: int = 0
    fix_plan: tuple[Fix, ...] = ()
    degraded: bool = False

    @property
    def sound(self) -> bool:
        """Whether the tests pass and nothing critical was found."""
        return self.passed and not any(issue.severity == 'critical' for issue in self.issues)


class PlanStep(Memory):
    """One step of a plan."""

    id: str
    number: int
    description: str
    complexity: Complexity = 'medium'
    depends_on: tuple[int, ...] = ()
    status: State = State.PENDING
    depth: int = 0
    plan_id: str = ''
    parent_step_id: str = ''
    sub_steps: tuple[str, ...] = ()
    """Ids of the steps of the plan that was made for it."""
    attempts: int = 0
    max_attempts: int = 3
    fix_cycles: int = 0
    """Of the attempt under way."""
    stage: str = 'coding'
    """Where it goes on after a stop: `coding`, `coded` (not approved yet) or `approved` (not tested yet)."""
    code_output: CodeOutput | None = None
    changed_files: tuple[str, ...] = ()
    test_results: TestResult | None = None
    verification_result: VerificationResult | None = None
    fail_reason: str = ''
    started: float = -1.0
    """In seconds of running; below 0 where it has not begun."""
    ended: float = -1.0


class ExecutionPlan(Memory):
    """A plan, for the goal or for a step that is blocked."""

    id: str
    goal: str
    analysis: str = ''
    steps: tuple[str, ...] = ()
    depth: int = Field(0, ge=0, le=DEEPEST)
    parent_plan_id: str = ''
    parent_step_id: str = ''
    status: State = State.PENDING
    current_step_index: int = 0
    degraded: bool = False


def faults(draft: PlanDraft) -> list[str]:
    """What is wrong with a plan, whatever anybody thinks of it; [] where nothing is."""
    count = len(draft.steps)
    found = []
    if not FEWEST_STEPS <= count <= MOST_STEPS:
        found.append(f'a plan has {FEWEST_STEPS} to {MOST_STEPS} steps, not {count}')
    for number, step in enumerate(draft.steps, start=1):
        if not step.description.strip():
            found.append(f'step {number} has no description')
        for other in step.depends_on:
            if not 1 <= other <= count:
                found.append(f'step {number} depends on step {other}, which there is not')
            elif other == number:
                found.append(f'step {number} depends on itself')
    round_ = circle({number: set(step.depends_on) for number, step in enumerate(draft.steps, start=1)})
    if round_ and len(round_) > 1:
        found.append(f'steps {", ".join(map(str, round_))} wait for each other')
    return found


def circle(needs: Mapping[int, set[int]]) -> list[int]:
    """Steps that wait for each other, or []: what stays when all that can be done has been."""
    left = {number: {need for need in found if need in needs} for number, found in needs.items()}
    while ready := [number for number, found in left.items() if not found]:
        for number in ready:
            del left[number]
        left = {number: found.difference(ready) for number, found in left.items()}
    return sorted(left)


def ready(steps: Mapping[str, PlanStep], plan: ExecutionPlan) -> PlanStep | None:
    """The first step that can be begun: those it depends on are over.

    A failed one counts as over ("mark step failed and continue"): what rests on it may still be possible.
    """
    own = [steps[name] for name in plan.steps]
    over = {step.number for step in own if step.status in (State.COMPLETED, State.FAILED)}
    return next(
        (step for step in own if step.status is State.PENDING and over.issuperset(step.depends_on)), None
    )


STATES: Mapping[State, StepState] = {
    State.PENDING: 'pending',
    State.IN_PROGRESS: 'in progress',
    State.COMPLETED: 'completed',
    State.FAILED: 'failed',
    State.BLOCKED: 'blocked',
}
"""As screens of all patterns know them."""


def checklist(plans: Mapping[str, ExecutionPlan], steps: Mapping[str, PlanStep]) -> Iterator[Step]:
    """The steps of all rounds, each with those of its own plan."""

    def item(name: str) -> Step:
        step = steps[name]
        before = name[: len(name) - len(str(step.number))]
        return Step(
            id=name,
            title=step.description,
            role='coder',
            state=STATES[step.status],
            after=tuple(f'{before}{number}' for number in step.depends_on),
            result=step.fail_reason if step.status is not State.COMPLETED else '',
            steps=tuple(map(item, step.sub_steps)),
        )

    return (item(name) for plan in plans.values() if plan.depth == 0 for name in plan.steps)


def progress(
    plans: Mapping[str, ExecutionPlan], steps: Mapping[str, PlanStep], stack: Sequence[str]
) -> tuple[int, int]:
    """How many steps of the outermost plan under way are over, and how many it has."""
    names = plans[stack[0]].steps if stack else ()
    return sum(steps[name].status in (State.COMPLETED, State.FAILED) for name in names), len(names)


def tree(memory: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    """The plans of a run as nested steps, outermost first: each step with its own under `sub_steps`.

    Args:
        memory: that of a view (plain JSON values).
    """
    steps = memory['steps']

    def nested(names: Any) -> Iterator[dict[str, Any]]:
        for name in names:
            yield {**steps[name], 'sub_steps': list(nested(steps[name]['sub_steps']))}

    outer = [plan for plan in memory['plans'].values() if plan['depth'] == 0]
    return tuple({**plan, 'steps': list(nested(plan['steps']))} for plan in outer)
