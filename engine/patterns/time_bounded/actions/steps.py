"""Actions on steps: code, test, fix, retry, complete, fail."""

from __future__ import annotations

from engine.patterns.time_bounded import fallback
from engine.patterns.time_bounded.memory.plan import StepStatus, TestResult
from engine.patterns.time_bounded.memory.protocol import MessageType, Participant
from engine.patterns.time_bounded.memory.schedule import MIN_STEP_SECONDS, seconds_per_step
from engine.patterns.time_bounded.memory.schemas import CodeOutput
from engine.patterns.time_bounded.memory.schemas import TestReading as Reading
from engine.patterns.time_bounded.memory.state import OrchestrationState as Memory
from engine.patterns.time_bounded.memory.state import memory_of
from engine.patterns.time_bounded.parameters import parameters_of
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext


def begin_step(scope: CallbackContext, event: Event) -> None:
    """Start the next ready step, with its share of the time."""
    memory, parameters = memory_of(scope), parameters_of(scope)
    step = memory.next_step(parameters.max_failed_steps)
    assert step is not None
    plan = memory.plan
    plan.current_step_index = plan.steps.index(step.id)
    memory.current_step, memory.step_base = step.id, memory.last_snapshot
    memory.clock.begin_step(event.ran, step_seconds(memory, event))
    step.status, step.attempts, step.started, step.stage = StepStatus.IN_PROGRESS, 1, event.ran, 'coding'
    memory.log('step', f'Step {step.id} begins: {step.description}', event)
    memory.update_checklist()


def step_seconds(memory: Memory, event: Event) -> float:
    """Return the seconds for the step that begins: its share of the time left, among the steps left.

    For the first step, that is the execution time divided by the number of steps; time a step saves goes
    to later ones. A sub-plan's step gets its share of the blocked step's share. None gets almost nothing.
    """
    clock = memory.clock
    seconds = clock.phase_ends - event.ran
    if seconds < clock.allocation.verifying:  # The last steps draw on the reserved time.
        seconds = clock.ends - event.ran
    share = seconds
    for name in memory.plan_stack:
        states = [memory.steps[step].status for step in memory.plans[name].steps]
        left = sum(state not in (StepStatus.COMPLETED, StepStatus.FAILED) for state in states)
        share = seconds_per_step(share, left)
    return clock.ends - event.ran if share == seconds else max(share, MIN_STEP_SECONDS)


def store_code(scope: CallbackContext, event: Event) -> None:
    """Store the coder's answer."""
    memory = memory_of(scope)
    _store_code(memory, CodeOutput.model_validate(event.data['output']), event)


def use_fallback_code(memory: Memory, event: Event) -> None:
    """Stand in for the coder; its changes are checked all the same."""
    _store_code(
        memory,
        fallback.code_output(fallback.describe_failure(event)),
        event,
        fallback.describe_failure(event),
    )


def store_changes(memory: Memory, event: Event) -> None:
    """Store which files the step changed, and how."""
    step = memory.step
    step.changed_files = tuple(event.data['files'])
    if not (step.changed_files or step.problem or (step.code_output and step.code_output.declines)):
        step.problem = 'the coder changed no file'
        memory.log('degraded', 'The coder changed no file.', event)
    memory.changed_files = tuple(event.data['all'])
    memory.diff = str(event.data['diff'])
    memory.last_snapshot = str(event.data['snapshot'])


def approve_code(memory: Memory, event: Event) -> None:
    """Let the step's code be tested."""
    memory.step.stage = 'approved'


def retry_step(memory: Memory, event: Event) -> None:
    """Retry the step, with the reason it was rejected."""
    step = memory.step
    step.fail_reason = _describe_refusal(memory)
    text = f'Attempt {step.attempts} of step {step.id} was rejected: {step.fail_reason}'
    memory.log('step', text, event)
    step.attempts += 1
    step.fix_cycles, step.stage, step.test_results = 0, 'coding', None


def ask_for_sub_plan(memory: Memory, event: Event) -> None:
    """Mark the step as blocked, to be replanned in smaller steps."""
    step = memory.step
    step.status, step.fail_reason = StepStatus.BLOCKED, _describe_refusal(memory)
    memory.add_to_metrics(replan_count=1)
    attempts = 'attempt' if step.attempts == 1 else 'attempts'
    text = f'Step {step.id} is blocked after {step.attempts} {attempts}: {step.fail_reason}'
    memory.send(MessageType.STEP_BLOCKED, Participant.SUPERVISOR, Participant.ORCHESTRATOR, text, event)
    memory.update_checklist()
    memory.log('step', text, event)


def fail_step(memory: Memory, event: Event) -> None:
    """Fail the step: no attempt and no deeper plan is left."""
    _finish_step(memory, StepStatus.FAILED, event, _describe_refusal(memory))


def fail_tests(memory: Memory, event: Event) -> None:
    """Fail the step: its tests still fail after the last fix."""
    tests = memory.step.test_results
    headline = tests.text.splitlines()[0] if tests and tests.text else 'the tests fail'
    if tests and tests.passed:
        headline = '; '.join(f'{issue.severity}: {issue.text}' for issue in tests.critical)
    cycles = memory.step.fix_cycles
    reason = f'after {cycles} fix cycle{"" if cycles == 1 else "s"}: {headline}'
    _finish_step(memory, StepStatus.FAILED, event, reason)


def fail_step_by_time(memory: Memory, event: Event) -> None:
    """Fail the step: its time is up."""
    _finish_step(
        memory, StepStatus.FAILED, event, f'its time of {memory.clock.step_budget:.0f} seconds is up'
    )


def complete_step(memory: Memory, event: Event) -> None:
    """Complete the step: all conditions hold."""
    _finish_step(memory, StepStatus.COMPLETED, event)


def store_test_results(memory: Memory, event: Event) -> None:
    """Store the results of the tests that ran."""
    memory.step.test_results = TestResult.model_validate(dict(event.data['tests']))


def record_tests_as_failed(memory: Memory, event: Event) -> None:
    """Count tests that could not be run as failed."""
    text = f'The tests could not be run: {fallback.describe_failure(event)}'
    memory.step.test_results = TestResult(passed=False, text=text, degraded=True)


def store_test_analysis(scope: CallbackContext, event: Event) -> None:
    """Store the tester's reading of the results."""
    memory = memory_of(scope)
    _store_test_analysis(memory, Reading.model_validate(event.data['output']), event)


def use_fallback_analysis(memory: Memory, event: Event) -> None:
    """Stand in for the tester: the failures themselves are the fix plan."""
    tests = memory.step.test_results
    assert tests is not None
    _store_test_analysis(
        memory, fallback.test_analysis(tests.passed, tests.text), event, fallback.describe_failure(event)
    )


def begin_fix(memory: Memory, event: Event) -> None:
    """Start another fix cycle; the coder also gets the supervisor's demands."""
    step = memory.step
    step.fix_cycles += 1
    step.stage = 'coding'
    memory.add_to_metrics(fix_cycles=1)
    memory.clock.begin_fix(event.ran)
    if memory.verdict.issues:
        memory.agents[Participant.CODER].guidance = 'On the fix plan: ' + '; '.join(memory.verdict.issues)


def _store_code(memory: Memory, output: CodeOutput, event: Event, problem: str = '') -> None:
    step = memory.step
    step.code_output, step.stage = output, 'coded'
    step.problem = f'the coder gave no answer: {problem}' if problem else ''
    text = f'Blocked: {output.blocked}' if output.blocked else output.summary
    memory.record_answer(Participant.CODER, text, event, problem=problem, payload=output)


def _store_test_analysis(memory: Memory, analysis: Reading, event: Event, problem: str = '') -> None:
    tests = memory.step.test_results
    assert tests is not None
    fallback_fixes = () if tests.sound else fallback.test_analysis(tests.passed, tests.text).fix_plan
    results = tests.model_copy(
        update={
            'claimed': None if problem else analysis.passed, 'summary': analysis.summary,
            'issues': analysis.issues, 'coverage': analysis.coverage,
            'fix_plan': analysis.fix_plan or fallback_fixes,
            'degraded': tests.degraded or bool(problem),
        }
    )  # fmt: skip
    memory.step.test_results = results
    first = results.text.splitlines()[0] if results.text else ''
    memory.record_answer(
        Participant.TESTER, f'{first}\n{analysis.summary}', event, problem=problem, payload=results
    )
    if results.claimed is not None and results.claimed != results.passed:
        claim = 'pass' if results.claimed else 'fail'
        memory.log(
            'error', f'The tester says that the tests {claim}, but the test run says otherwise.', event
        )
    if not results.sound:
        listed = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in results.fix_plan)
        memory.send(
            MessageType.FIX_PLAN, Participant.TESTER, Participant.CODER, f'Fix plan:{listed}', event,
            payload=results.fix_plan,
        )  # fmt: skip


def _describe_refusal(memory: Memory) -> str:
    step, verdict = memory.step, memory.verdict
    if step.code_output and step.code_output.blocked:
        return step.code_output.blocked
    unmet = ', '.join(name.replace('_', ' ') for name in verdict.unmet)
    if step.problem or not verdict.refused:  # Whatever the supervisor said, it is not why.
        return step.problem or f'not met: {unmet}'
    reason = '; '.join(verdict.issues) or verdict.summary
    return f'{reason} (not met: {unmet})'


def _finish_step(memory: Memory, state: StepStatus, event: Event, reason: str = '') -> None:
    memory.finish_step(state, event, reason)
    memory.current_step = memory.diff = ''
