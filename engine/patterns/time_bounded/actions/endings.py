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
    memory.verified, memory.ending = True, RunStatus.COMPLETED
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
    shortfall = f'{_count(incomplete, "step")} {"is" if incomplete == 1 else "are"} not complete'
    progress = shortfall if incomplete else 'all steps are complete'
    memory.reason = f'A person skipped verification; {progress}.'
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
    memory.reason = f'The goal was not reached after {rounds}: {memory.verdict.explanation}'
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
    refusals = {GATE_TITLES[gate].lower(): _count(n, 'time') for gate, n in memory.refusals_by_gate().items()}
    if len(refusals) > 1:
        what = 'it refused ' + ' and '.join(f'{title} {times}' for title, times in refusals.items())
    else:
        title = GATE_TITLES[memory.verdict.gate].lower()
        what = f'{title} was refused {_count(memory.issues, "time")} in a row'
    memory.ending = RunStatus.ABORTED
    memory.reason = f'The supervisor ended the session: {what}; {memory.verdict.explanation}.'
    memory.send(MessageType.ABORT, Participant.SUPERVISOR, Participant.ALL, memory.reason, event)
    memory.end(event)


def expire(scope: CallbackContext, event: Event) -> None:
    """End because time is up or a person asked to finish."""
    limit = memory_of(scope).clock.limit
    _expire(scope, event, f'The time limit of {limit:.0f} seconds was reached.')


def expire_before_step(scope: CallbackContext, event: Event) -> None:
    """Wait for more time: too little is left for another step."""
    clock = memory_of(scope).clock
    left = f'{clock.seconds_left(event.ran):.1f} of {clock.limit:.0f} seconds'
    _expire(scope, event, f'The remaining {left} are too few for another step.')


def expire_between_rounds(scope: CallbackContext, event: Event) -> None:
    """Wait for more time: the goal is not reached, and too little is left for another round."""
    memory = memory_of(scope)
    reason, limit = memory.verdict.explanation, memory.clock.limit
    left = memory.clock.seconds_left(event.ran)
    begin_round(memory, event)
    _expire(
        scope,
        event,
        f'The goal is not reached: {reason}. '
        f'The remaining {max(0.0, left):.0f} of {limit:.0f} seconds are too few for another round.',
    )


def _expire(scope: CallbackContext, event: Event, reason: str) -> None:
    memory = memory_of(scope)
    if memory.finishing:
        finish_early(memory, event)
        return
    memory.ending, memory.reason = RunStatus.TIME_EXPIRED, reason
    memory.resumable = parameters_of(scope).wait_for_time > 0
    memory.end(event)


def finish_early(memory: Memory, event: Event) -> None:
    """Complete the run early, at a person's request."""
    memory.ending, memory.resumable = RunStatus.COMPLETED, False
    memory.reason = f'A person finished the run early: {_progress(memory)}.'
    memory.end(event)


def finish_stopped(memory: Memory, event: Event) -> None:
    """Complete a stopped run as is, since a person grants no more time."""
    memory.ending, memory.resumable = RunStatus.COMPLETED, False
    memory.reason = f'A person finished the run when its time was up: {_progress(memory)}.'
    memory.log('person', 'Finish now.', event)
    memory.end(event)
    write_report(memory, event)


def stop_waiting(memory: Memory, event: Event) -> None:
    """Stop waiting for more time; the final report does not ask for any."""
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
    if not plans:  # It stopped before the next round had a plan.
        plans = [plan for plan in memory.plans.values() if plan.depth == 0][-1:]
    if not plans:
        return 'there was no plan yet'
    names = plans[0].steps
    done = sum(memory.steps[name].status is StepStatus.COMPLETED for name in names)
    return f'{done} of {_count(len(names), "step")} are complete, and the goal is not verified'
