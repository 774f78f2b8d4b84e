"""Replanning: why and how the steps that have not begun get a new plan within the round."""

from __future__ import annotations

from engine.patterns.time_bounded.memory.plan import MIN_STEPS, StepStatus, validate_plan
from engine.patterns.time_bounded.memory.state import OrchestrationState as Memory


def pending_steps(memory: Memory) -> tuple[str, ...]:
    """Return the current plan's steps that have not begun."""
    return tuple(name for name in memory.plan.steps if memory.steps[name].status is StepStatus.PENDING)


def plan_problems(memory: Memory) -> list[str]:
    """Return what is wrong with the form of the drafted plan, or []."""
    if memory.draft is None:
        return ['there is no plan']
    return validate_plan(memory.draft, min_steps=min_steps(memory))


def min_steps(memory: Memory) -> int:
    """Return the minimum number of steps of a plan; a replan of pending steps may have just one."""
    return 1 if memory.replanning else MIN_STEPS


def replan_reason(memory: Memory, max_failed_steps: int, max_replans: int) -> str:
    """Return why the pending steps are to be replanned now; '' if they are not.

    `max_failed_steps` is for the plan, and `max_replans` for the round.
    """
    if memory.replanning:  # It was stopped while replanning.
        return memory.replan
    if memory.too_many_failures or memory.replans >= max_replans or not pending_steps(memory):
        return ''
    if memory.replan:
        return memory.replan
    failed = memory.failed_steps
    stuck = len(failed) > max_failed_steps and memory.next_step(max_failed_steps) is None
    if len(memory.plan_stack) > 1 or not stuck or has_mostly_failed(memory):
        return ''
    return f'{", ".join(pending_steps(memory))} cannot begin because {", ".join(failed)} failed.'


def has_mostly_failed(memory: Memory) -> bool:
    """Whether more than half of the steps of the round's own plan failed."""
    return 2 * len(memory.failed_steps) > len(memory.plans[memory.plan_stack[0]].steps)


def describe_plan(memory: Memory) -> str:
    """Describe, for the planner, the plan whose pending steps it replans."""
    listed = ''.join(
        f'\n{step.id} ({step.status}): {step.description}'
        + (f' - {step.fail_reason}' if step.fail_reason else '')
        for step in (memory.steps[name] for name in memory.plan.steps)
    )
    return (
        f'The current plan:{listed}\n'
        f'Replace its pending steps: {memory.replan}\n'
        'What is complete stays; plan what to do instead of what failed. Number your steps from 1.'
    )
