"""Actions that end a run: at its goal, on failure, out of time, or at a person's request."""

from __future__ import annotations

from engine.patterns.time_bounded import fallback
from engine.patterns.time_bounded.actions.rounds import begin_round
from engine.patterns.time_bounded.gates import GATE_TITLES
from engine.patterns.time_bounded.memory.plan import StepStatus
from engine.patterns.time_bounded.memory.protocol import MessageType, Participant
from engine.patterns.time_bounded.memory.state import OrchestrationState as Memory
from engine.patterns.time_bounded.memory.state import RunStatus, memory_of
from engine.patterns.time_bounded.parameters import parameters_of
from engine.patterns.time_bounded.report import build_report, render_report
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext


def reach_goal(memory: Memory, event: Event) -> None:
    """Complete the run: all conditions hold, and the goal is reached."""
    memory.verified, memory.ending, memory.reason = True, RunStatus.COMPLETED, memory.verdict.summary
    if memory.rules >= 5:
        memory.reason = f'The goal is reached: {memory.verdict.summary}'
    memory.send(
        MessageType.GOAL_COMPLETE,
        Participant.SUPERVISOR,
        Participant.ORCHESTRATOR,
        memory.verdict.summary,
        event,
    )
    memory.end(event)


def skip_goal(scope: CallbackContext, event: Event) -> None:
    """End without verification, which a person skipped: the steps decide."""
    memory, parameters = memory_of(scope), parameters_of(scope)
    incomplete = len(memory.unfinished_steps)
    good = incomplete <= parameters.max_failed_steps
    memory.ending = RunStatus.COMPLETED if good else RunStatus.FAILED
    memory.reason = (
        f'A person skipped the verification of the goal; {incomplete or "no"} steps are not complete.'
    )
    if memory.rules >= 5:
        shortfall = f'{_count(incomplete, "step")} {"is" if incomplete == 1 else "are"} not complete'
        progress = shortfall if incomplete else 'all steps are complete'
        memory.reason = f'A person skipped the verification of the goal; {progress}.'
    if good:
        memory.send(
            MessageType.GOAL_COMPLETE,
            Participant.ORCHESTRATOR,
            Participant.ORCHESTRATOR,
            memory.reason,
            event,
        )
    memory.end(event)


def fail_goal(memory: Memory, event: Event) -> None:
    """Fail the run: the goal is not reached, and nothing is left to try."""
    memory.ending = RunStatus.FAILED
    rounds = _count(memory.iteration, 'round')
    memory.reason = f'The goal is not reached after {rounds}: {memory.verdict.explanation}'
    memory.end(event)


def fail_on_error(memory: Memory, event: Event) -> None:
    """Fail on an error that nothing else handles."""
    memory.ending, memory.reason = RunStatus.FAILED, fallback.describe_failure(event)
    memory.log('error', memory.reason, event)
    memory.end(event)


def fail_out_of_budget(memory: Memory, event: Event) -> None:
    """Fail the run: its budget of tokens, money or time is spent."""
    memory.ending, memory.reason = RunStatus.FAILED, fallback.describe_failure(event)
    memory.end(event)


def abort(memory: Memory, event: Event) -> None:
    """End the session on the supervisor's order."""
    memory.ending = RunStatus.ABORTED
    memory.reason = f'The supervisor ended the session after {memory.issues} issues in a row.'
    if memory.rules >= 2:
        about = memory.verdict
        memory.reason = (
            f'The supervisor ended the session: {GATE_TITLES[about.gate].lower()} was refused'
            f' {_count(memory.issues, "time")} in a row; {memory.verdict.explanation}.'
        )
    if memory.rules >= 5 and len(gates := memory.refusals_by_gate()) > 1:
        listed = ' and '.join(
            f'{GATE_TITLES[gate].lower()} {_count(number, "time")}' for gate, number in gates.items()
        )
        memory.reason = (
            f'The supervisor ended the session: it refused {listed}; {memory.verdict.explanation}.'
        )
    memory.send(MessageType.ABORT, Participant.SUPERVISOR, Participant.ALL, memory.reason, event)
    memory.end(event)


def expire(scope: CallbackContext, event: Event) -> None:
    """End because time is up or a person asked to finish."""
    memory = memory_of(scope)
    if memory.finishing:
        finish_early(memory, event)
        return
    clock = memory.clock
    is_share_over = clock.phase == 'executing' and event.ran < clock.ends
    limit = f'{clock.limit:.0f} seconds'
    _wait_for_time(
        scope,
        event,
        f'The time for steps, out of {limit}, is over.' if is_share_over else f'The time of {limit} is over.',
    )


def expire_between_rounds(scope: CallbackContext, event: Event) -> None:
    """Wait for more time: the goal is not reached, and too little is left for another round."""
    memory = memory_of(scope)
    reason, limit = memory.verdict.explanation, memory.clock.limit
    left = memory.clock.seconds_left(event.ran)
    begin_round(memory, event)
    if memory.rules < 5 or memory.finishing:
        expire(scope, event)
        return
    _wait_for_time(
        scope,
        event,
        f'The goal is not reached: {reason}. '
        f'What is left of {limit:.0f} seconds, {max(0.0, left):.0f}, is too little for another round.',
    )


def _wait_for_time(scope: CallbackContext, event: Event, reason: str) -> None:
    memory, parameters = memory_of(scope), parameters_of(scope)
    waits = parameters.wait_for_time > 0
    memory.ending, memory.resumable = RunStatus.TIME_EXPIRED, waits or memory.rules < 2
    memory.reason = reason
    memory.end(event)


def finish_early(memory: Memory, event: Event) -> None:
    """Complete the run early, at a person's request."""
    memory.ending, memory.resumable = RunStatus.COMPLETED, False
    memory.reason = f'A person finished it early: {_progress(memory)}.'
    memory.end(event)


def finish_stopped(memory: Memory, event: Event) -> None:
    """Complete a stopped run as is, since a person grants no more time."""
    memory.ending, memory.resumable = RunStatus.COMPLETED, False
    memory.reason = f'A person finished it when its time was over: {_progress(memory)}.'
    memory.log('person', 'Finish now.', event)
    memory.end(event)
    write_report(memory, event)


def stop_waiting(memory: Memory, event: Event) -> None:
    """Stop waiting for more time; the final report does not ask for any."""
    if memory.rules >= 2:
        memory.resumable = False
        memory.close_unfinished(event)
    write_report(memory, event)


def write_report(memory: Memory, event: Event) -> None:
    """Render the report from memory, and store it."""
    memory.report = render_report(build_report(memory.model_dump(mode='json')))


def _count(number: int, noun: str) -> str:
    return f'{number} {noun}' if number == 1 else f'{number} {noun}s'


def _progress(memory: Memory) -> str:
    """Describe the progress of the round or, before it has a plan, of the previous one."""
    plans = [memory.plans[name] for name in memory.plan_stack[:1]]
    if memory.rules >= 5 and not plans:  # It stopped before the next round had a plan.
        plans = [plan for plan in memory.plans.values() if plan.depth == 0][-1:]
    if not plans:
        return 'there was no plan yet'
    names = plans[0].steps
    done = sum(memory.steps[name].status is StepStatus.COMPLETED for name in names)
    return f'{done} of {_count(len(names), "step")} are complete, and the goal is not verified'
