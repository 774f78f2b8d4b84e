"""Replanning: new plans for the steps that have not begun, within the round."""

from __future__ import annotations

from engine.patterns.time_bounded.plan import MIN_STEPS, StepStatus, build_steps, validate_plan
from engine.patterns.time_bounded.schemas import PlanDraft
from engine.patterns.time_bounded.state import OrchestrationState as Memory
from engine.records import Event


def pending_steps(memory: Memory) -> tuple[str, ...]:
    """The current plan's steps that have not begun."""
    return tuple(name for name in memory.plan.steps if memory.steps[name].status is StepStatus.PENDING)


def plan_problems(memory: Memory) -> list[str]:
    """Return what is wrong with the form of the drafted plan, or []."""
    if memory.draft is None:
        return ['there is no plan']
    return validate_plan(memory.draft, fewest=fewest_steps(memory))


def fewest_steps(memory: Memory) -> int:
    """Return the minimum number of steps of a plan; a replan of pending steps may have just one."""
    return 1 if memory.replanning else MIN_STEPS


def reason(memory: Memory, acceptable: int, max_replans: int) -> str:
    """Return why the pending steps are to be replanned now; '' if they are not.

    `acceptable` is the maximum number of failed steps, and `max_replans` that of replans in a round.
    """
    if memory.replanning:  # It was stopped while replanning.
        return memory.replan
    if (
        memory.rules < 4
        or memory.too_many_failures
        or memory.replans >= max_replans
        or not pending_steps(memory)
    ):
        return ''
    if memory.replan:
        return memory.replan
    failed = memory.failed_steps
    stuck = len(failed) > acceptable and memory.next_step(acceptable) is None
    if len(memory.plan_stack) > 1 or not stuck or has_mostly_failed(memory):
        return ''
    return f'{", ".join(pending_steps(memory))} cannot begin, since {", ".join(failed)} failed.'


def has_mostly_failed(memory: Memory) -> bool:
    """Whether more than half of the steps of the round's own plan failed."""
    return 2 * len(memory.failed_steps) > len(memory.plans[memory.plan_stack[0]].steps)


def begin(memory: Memory, event: Event, acceptable: int, max_replans: int) -> None:
    """Record why, and that the next plan is for the pending steps."""
    if memory.replanning:
        return
    memory.replan = reason(memory, acceptable, max_replans)
    memory.replanning = True
    memory.replans += 1
    memory.count(replan_count=1)
    listed = ', '.join(pending_steps(memory))
    memory.log('step', f'Planned anew: what is left ({listed}). {memory.replan}', event)


def adopt(memory: Memory, draft: PlanDraft, event: Event, attempts: int) -> None:
    """Replace the pending steps with the new ones.

    Failed steps no longer count, since the supervisor approved a plan that takes them into account.
    """
    plan, left = memory.plan, pending_steps(memory)
    kept = tuple(name for name in plan.steps if name not in left)
    last = max((memory.steps[name].number for name in kept), default=0)
    any_step = memory.steps[plan.steps[0]]
    prefix = any_step.id[: len(any_step.id) - len(str(any_step.number))]
    for name in left:
        del memory.steps[name]
    made = build_steps(draft, plan, prefix=prefix, first=last + 1, max_attempts=attempts)
    memory.steps.update(made)
    failed = tuple(name for name in kept if memory.steps[name].status is StepStatus.FAILED)
    memory.superseded = tuple(dict.fromkeys((*memory.superseded, *failed)))
    plan.steps = (*kept, *made)
    if plan.parent_step_id:
        memory.steps[plan.parent_step_id].sub_steps = plan.steps
    memory.count(total_steps=len(made) - len(left))
    memory.log('step', f'Steps {", ".join(made)} stand in the place of {", ".join(left)}.', event)
    _end(memory)


def give_up(memory: Memory, event: Event) -> None:
    """Leave the pending steps as they were, since no new plan was approved."""
    memory.log('step', 'No other plan for the steps that are left was approved: they stay.', event)
    _end(memory)


def prompt(memory: Memory) -> str:
    """Describe, for the planner, the plan whose pending steps it replans."""
    listed = ''.join(
        f'\n{step.id} ({step.status}): {step.description}'
        + (f' - {step.fail_reason}' if step.fail_reason else '')
        for step in (memory.steps[name] for name in memory.plan.steps)
    )
    return (
        f'The plan is under way:{listed}\n'
        f'Plan what is left anew, in place of the pending steps: {memory.replan}\n'
        'What is complete stays; say what is to be done instead of what failed. Number your steps from 1.'
    )


def _end(memory: Memory) -> None:
    memory.replan, memory.replanning = '', False
    memory.tick()
