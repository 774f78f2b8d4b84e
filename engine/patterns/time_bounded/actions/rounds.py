"""Actions on rounds and phases: time checks, closing plans, final tests, and people's requests."""

from __future__ import annotations

from engine.patterns.time_bounded import fallback
from engine.patterns.time_bounded.actions.steps import step_seconds
from engine.patterns.time_bounded.memory.plan import StepStatus
from engine.patterns.time_bounded.memory.state import OrchestrationState as Memory
from engine.patterns.time_bounded.memory.state import RunStatus, memory_of
from engine.patterns.time_bounded.parameters import parameters_of
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext


def check_time(scope: CallbackContext, event: Event) -> None:
    """Check the time left before a round; the first check starts the clock."""
    memory, parameters = memory_of(scope), parameters_of(scope)
    clock = memory.clock
    if not memory.iteration:
        memory.start_time, memory.iteration = event.time, 1
        seconds = parameters.minutes * 60.0
        memory.time_limit = clock.limit = seconds
        clock.ends, clock.grace = event.ran + seconds, float(parameters.grace)
        clock.begin_round(event.ran, memory.iteration)
    memory.log(
        'time check',
        f'Round {clock.round}: {max(0.0, clock.seconds_left(event.ran)):.0f} seconds left.',
        event,
    )


def store_project(memory: Memory, event: Event) -> None:
    """Store the project's initial state once it is in the folder."""
    memory.base = memory.last_snapshot = str(event.data['snapshot'])
    memory.id = str(event.data.get('run', ''))


def enter_executing(memory: Memory, event: Event) -> None:
    """Start executing the plan; a sub-plan for a blocked step does not restart the phase."""
    memory.status, memory.stage = RunStatus.EXECUTING, 'executing'
    if memory.clock.phase != 'executing':
        memory.clock.begin_phase('executing', event.ran)
        if memory.current_step and memory.step.status is StepStatus.IN_PROGRESS:
            memory.clock.begin_step(event.ran, step_seconds(memory, event))


def log_time_left(memory: Memory, event: Event) -> None:
    """Log the time left before each step."""
    left = max(0.0, memory.clock.hard_end - event.ran)
    memory.log('time check', f'Round {memory.clock.round}: {left:.0f} seconds left for steps.', event)


def close_sub_plan(memory: Memory, event: Event) -> None:
    """Close a finished sub-plan, and its blocked step with it."""
    plan = memory.plan
    failed = [name for name in plan.steps if memory.steps[name].status is not StepStatus.COMPLETED]
    plan.status = StepStatus.FAILED if failed else StepStatus.COMPLETED
    memory.plan_stack = memory.plan_stack[:-1]
    memory.current_step = plan.parent_step_id
    if failed:
        memory.finish_step(StepStatus.FAILED, event, f'{", ".join(failed)} of its own plan failed')
        memory.current_step = ''
    else:
        _resume_blocked_step(memory, event)


def _resume_blocked_step(memory: Memory, event: Event) -> None:
    """Test and verify a step like any other once its sub-plan is done."""
    step = memory.step
    parts = [memory.steps[name] for name in step.sub_steps]
    step.status, step.stage, step.fail_reason = StepStatus.IN_PROGRESS, 'approved', ''
    step.changed_files = tuple(sorted({path for part in parts for path in part.changed_files}))
    step.fix_cycles, step.test_results = 0, None
    step.code_output, step.problem = None, ''  # The sub-plan's work is what is judged.
    memory.clock.begin_step(event.ran, step_seconds(memory, event))
    memory.log('step', f'The plan for step {step.id} is done: the step itself is verified next.', event)
    memory.update_checklist()


def close_plan(memory: Memory, event: Event) -> None:
    """Close the plan once no step is left; its outcome is verified next."""
    _close_plans(memory)


def escalate_failures(scope: CallbackContext, event: Event) -> None:
    """Intervene because too many steps failed, and end the plan."""
    memory, parameters = memory_of(scope), parameters_of(scope)
    memory.too_many_failures = True
    failed, count = memory.failed_steps, len(memory.plans[memory.plan_stack[0]].steps)
    most = parameters.max_failed_steps
    warning = f'{len(failed)} of {count} steps failed ({", ".join(failed)}); at most {most} may.'
    memory.warn(f'{warning} This plan ends here: find another way to do what is missing.', event)
    _close_plans(memory)


def enter_verifying(memory: Memory, event: Event) -> None:
    """Start verifying the goal."""
    memory.status, memory.stage = RunStatus.VERIFYING, 'verifying'
    memory.clock.begin_phase('verifying', event.ran)


def store_final_tests(memory: Memory, event: Event) -> None:
    """Store the results of the full test run."""
    memory.final_tests, memory.final_pass = event.data['tests']['text'], event.data['tests']['passed']


def record_final_tests_as_failed(memory: Memory, event: Event) -> None:
    """Count tests that could not be run as failed."""
    memory.final_tests, memory.final_pass = (
        f'The tests could not be run: {fallback.describe_failure(event)}',
        False,
    )


def begin_round(memory: Memory, event: Event) -> None:
    """Start another round, which plans what is missing, with the time left."""
    memory.findings = _missing_work(memory)
    memory.iteration += 1
    memory.clock.end_phase(event.ran)
    memory.clock.begin_round(event.ran, memory.iteration)
    memory.stage, memory.plan_stack, memory.current_step = 'planning', (), ''
    memory.too_many_failures = False
    memory.replan, memory.replans = '', 0
    if memory.replanning:
        memory.replanning, memory.draft = False, None
    memory.add_to_metrics(replan_count=1)


def add_time(memory: Memory, event: Event) -> None:
    """Add time that a person grants during the run; this withdraws a request to finish."""
    seconds = float(event.data['seconds'])
    memory.clock.add_time(seconds, event.time, event.ran)
    memory.time_limit = memory.clock.limit
    text = f'{seconds:.0f} seconds added'
    if memory.finishing:
        memory.finishing = False
        text += '; the run continues'
    memory.log('person', f'{text}.', event)


def ask_to_finish(memory: Memory, event: Event) -> None:
    """Record a person's request to finish: work under way may end, and nothing new begins."""
    memory.finishing = True
    memory.log('person', 'Finish now.', event)


def ask_to_replan(memory: Memory, event: Event) -> None:
    """Record a person's request to replan the pending steps."""
    memory.replan = str(event.data.get('why') or '') or 'A person asked for a new plan.'
    memory.log('person', f'Replan the pending steps: {memory.replan}', event)


def skip_verification(memory: Memory, event: Event) -> None:
    """Record that a person skips the verification of the goal."""
    memory.skip_verification = True
    memory.log('person', 'Skip verification.', event)


def resume(memory: Memory, event: Event) -> None:
    """Resume where the run stopped, with the time that a person grants."""
    seconds = float(event.data['seconds'])
    memory.clock.resume(seconds, event.time, event.ran)
    memory.time_limit, memory.end_time, memory.report = memory.clock.limit, None, ''
    memory.ending = memory.reason = ''
    memory.resumable = memory.finishing = False
    memory.caveat = ''
    memory.log('person', f'The run continues with {seconds:.0f} more seconds.', event)


def _close_plans(memory: Memory) -> None:
    """Close every plan on the stack; no step remains under way."""
    for name in reversed(memory.plan_stack):
        plan = memory.plans[name]
        plan.status = StepStatus.COMPLETED if memory.is_complete(plan) else StepStatus.FAILED
    memory.current_step = ''


def _missing_work(memory: Memory) -> tuple[str, ...]:
    """Return what the next plan must cover."""
    failed = [
        f'step {step.id} ({step.description}): {step.fail_reason}'
        for step in memory.steps.values()
        if step.status is StepStatus.FAILED and not step.sub_steps and step.id not in memory.superseded
    ]
    return (*memory.verdict.issues, *failed) or (memory.verdict.summary,)
