"""Actions on plans, including sub-plans: write, review, adopt, replan."""

from __future__ import annotations

from engine.patterns.time_bounded import fallback, replanning
from engine.patterns.time_bounded.actions.verdicts import judge_without_supervisor
from engine.patterns.time_bounded.memory.plan import ExecutionPlan, StepStatus, build_steps, validate_plan
from engine.patterns.time_bounded.memory.protocol import Participant
from engine.patterns.time_bounded.memory.schemas import PlanDraft
from engine.patterns.time_bounded.memory.state import OrchestrationState as Memory
from engine.patterns.time_bounded.memory.state import RunStatus, memory_of
from engine.patterns.time_bounded.parameters import parameters_of
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext


def begin_planning(memory: Memory, event: Event) -> None:
    """Start a round with its planning."""
    memory.status = RunStatus.PLANNING
    memory.clock.begin_phase('planning', event.ran)


def store_plan(scope: CallbackContext, event: Event) -> None:
    """Store the planner's answer."""
    memory = memory_of(scope)
    _store_draft(memory, PlanDraft.model_validate(event.data['output']), event)


def use_fallback_plan(memory: Memory, event: Event) -> None:
    """Stand in for the planner: use the simplest plan for the goal, otherwise none."""
    problem = fallback.describe_failure(event)
    if memory.current_step or memory.replanning:
        memory.draft = None
        memory.record_answer(Participant.PLANNER, 'No plan.', event, problem=problem)
    else:
        _store_draft(memory, fallback.simplest_plan(memory.primary_goal, problem), event, problem)


def examine_plan(memory: Memory, event: Event) -> None:
    """Validate the plan's form; the planner gets one chance to correct it."""
    memory.problems = tuple(replanning.plan_problems(memory))
    if memory.problems and memory.repairs:
        memory.log('error', f'The plan cannot be used: {"; ".join(memory.problems)}', event)


def use_simplest_plan(memory: Memory, event: Event) -> None:
    """Replace a plan that is still unsound with the simplest one."""
    problem = f'its plan cannot be used: {"; ".join(memory.problems)}'
    _store_draft(memory, fallback.simplest_plan(memory.primary_goal, problem), event, problem)


def revise_plan(memory: Memory, event: Event) -> None:
    """Send the plan back to the planner with what must change."""
    memory.revisions += 1
    memory.repairs = 0
    memory.problems = tuple(memory.verdict.issues) or memory.verdict.unmet
    memory.add_to_metrics(replan_count=1)


def adopt_plan(scope: CallbackContext, event: Event) -> None:
    """Adopt the approved plan: its steps become those of the goal or the blocked step."""
    memory, parameters = memory_of(scope), parameters_of(scope)
    draft = memory.draft
    assert draft is not None
    if memory.replanning:
        _replace_pending_steps(memory, draft, event, parameters.max_attempts)
        _end_replanning(memory)
        return
    blocked = memory.step if memory.current_step else None
    number = len(memory.plans) + 1
    prefix = f'{blocked.id}.' if blocked else f'r{memory.iteration}.' if memory.iteration > 1 else ''
    names = tuple(f'{prefix}{index}' for index in range(1, len(draft.steps) + 1))
    plan = ExecutionPlan(
        id=f'plan-{number}',
        goal=blocked.description if blocked else memory.primary_goal,
        analysis=draft.analysis,
        steps=names,
        depth=blocked.depth + 1 if blocked else 0,
        parent_plan_id=blocked.plan_id if blocked else '',
        parent_step_id=blocked.id if blocked else '',
        status=StepStatus.IN_PROGRESS,
        degraded=memory.draft_is_fallback or not memory.verifications or memory.verdict.degraded,
    )
    attempts = parameters.max_attempts
    memory.steps.update(build_steps(draft, plan, prefix=prefix, first=1, max_attempts=attempts))
    memory.plans[plan.id] = plan
    memory.plan_stack = (*memory.plan_stack, plan.id) if blocked else (plan.id,)
    memory.add_to_metrics(total_steps=len(names))
    if blocked:
        blocked.sub_steps = names
    memory.current_step, memory.stage = '', 'executing'
    memory.update_checklist()
    _clear_draft(memory)


def adopt_plan_at_timeout(scope: CallbackContext, event: Event) -> None:
    """Adopt the plan, or the simplest one if its form is unsound, because planning time is up."""
    memory = memory_of(scope)
    problem = 'planning time is up'
    if memory.draft is None or validate_plan(memory.draft):
        _store_draft(memory, fallback.simplest_plan(memory.primary_goal, problem), event, problem)
    judge_without_supervisor(scope, 'plan', event, problem)
    adopt_plan(scope, event)


def abandon_sub_plan(memory: Memory, event: Event) -> None:
    """Give up a sub-plan: fail the blocked step, or leave the pending ones as they were."""
    if memory.replanning:
        memory.log('step', 'No new plan for the pending steps was approved: they stay as they are.', event)
        _end_replanning(memory)
        return
    reason = memory.step.fail_reason
    memory.finish_step(StepStatus.FAILED, event, f'{reason}; no plan for it was approved')
    memory.current_step = ''
    _clear_draft(memory)


def begin_replanning(scope: CallbackContext, event: Event) -> None:
    """Record why the pending steps are replanned, and that the next plan is for them."""
    memory, parameters = memory_of(scope), parameters_of(scope)
    if memory.replanning:
        return
    memory.replan = replanning.replan_reason(memory, parameters.max_failed_steps, parameters.max_replans)
    memory.replanning = True
    memory.replans += 1
    memory.add_to_metrics(replan_count=1)
    listed = ', '.join(replanning.pending_steps(memory))
    memory.log('step', f'Replanning the pending steps ({listed}): {memory.replan}', event)


def fail_plan(memory: Memory, event: Event) -> None:
    """Fail the run: no plan for the goal was approved."""
    memory.ending = RunStatus.FAILED
    memory.reason = f'No plan was approved: {memory.verdict.explanation}'
    memory.end(event)


def _store_draft(memory: Memory, draft: PlanDraft, event: Event, problem: str = '') -> None:
    if memory.problems and memory.draft is not None:
        memory.repairs += 1
    memory.draft, memory.draft_is_fallback = draft, bool(problem)
    listed = '\n'.join(f'{number}. {step.description}' for number, step in enumerate(draft.steps, start=1))
    text = f'{draft.analysis}\n{listed}'
    memory.record_answer(Participant.PLANNER, text, event, problem=problem, payload=draft)


def _clear_draft(memory: Memory) -> None:
    memory.draft, memory.problems = None, ()
    memory.repairs = memory.revisions = 0


def _replace_pending_steps(memory: Memory, draft: PlanDraft, event: Event, max_attempts: int) -> None:
    """Replace the pending steps with the new ones.

    Failed steps no longer count, since the supervisor approved a plan that takes them into account.
    """
    plan, pending_steps = memory.plan, replanning.pending_steps(memory)
    kept_steps = tuple(name for name in plan.steps if name not in pending_steps)
    last = max((memory.steps[name].number for name in kept_steps), default=0)
    any_step = memory.steps[plan.steps[0]]
    prefix = any_step.id[: len(any_step.id) - len(str(any_step.number))]
    for name in pending_steps:
        del memory.steps[name]
    new_steps = build_steps(draft, plan, prefix=prefix, first=last + 1, max_attempts=max_attempts)
    memory.steps.update(new_steps)
    failed = tuple(name for name in kept_steps if memory.steps[name].status is StepStatus.FAILED)
    memory.superseded = tuple(dict.fromkeys((*memory.superseded, *failed)))
    plan.steps = (*kept_steps, *new_steps)
    if plan.parent_step_id:
        memory.steps[plan.parent_step_id].sub_steps = plan.steps
    memory.add_to_metrics(total_steps=len(new_steps) - len(pending_steps))
    memory.log('step', f'Steps {", ".join(new_steps)} replace {", ".join(pending_steps)}.', event)


def _end_replanning(memory: Memory) -> None:
    memory.replan, memory.replanning = '', False
    memory.update_checklist()
    _clear_draft(memory)
