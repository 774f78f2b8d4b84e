"""Requests to the four agents, as messages, and time limits for their answers."""

from __future__ import annotations

from engine.patterns.time_bounded import replanning
from engine.patterns.time_bounded.memory.plan import StepStatus
from engine.patterns.time_bounded.memory.protocol import MessageType, Participant
from engine.patterns.time_bounded.memory.state import OrchestrationState as Memory
from engine.patterns.time_bounded.memory.state import RunStatus, memory_of
from engine.patterns.time_bounded.parameters import parameters_of
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext

TEST_MARGIN = 10.0
"""Seconds allowed for starting and stopping the tests, on top of running them."""


def ask_planner(scope: CallbackContext, event: Event) -> None:
    """Ask for a plan: for the goal, a blocked step or the pending steps."""
    memory = memory_of(scope)
    set_call_timeout(scope, event, agent=Participant.PLANNER)
    if memory.current_step:
        text = f'Plan step {memory.current_step}, which is blocked: {memory.step.fail_reason}'
        memory.record_request(Participant.PLANNER, MessageType.REPLAN_REQUEST, text, event)
    elif memory.replanning:
        share = event.ran + memory.clock.allocation.planning
        set_call_timeout(scope, event, share, agent=Participant.PLANNER)
        text = f'Replan the pending steps ({", ".join(replanning.pending_steps(memory))}): {memory.replan}'
        memory.record_request(Participant.PLANNER, MessageType.REPLAN_REQUEST, text, event)
    else:
        text = f'Plan the goal: {memory.primary_goal}'
        memory.record_request(Participant.PLANNER, MessageType.PLAN_REQUEST, text, event)


def ask_coder(scope: CallbackContext, event: Event) -> None:
    """Ask for a step or a fix; a fix gets only the time left for fixes."""
    memory = memory_of(scope)
    step = memory.step
    step.stage = 'coding'
    if step.fix_cycles and step.test_results is not None:
        set_call_timeout(scope, event, memory.clock.fixes_end)
        fixes = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in step.test_results.fix_plan)
        text = f'Fix step {step.id}, cycle {step.fix_cycles}:{fixes}'
        memory.record_request(Participant.CODER, MessageType.CODE_FIX_REQUEST, text, event)
    else:
        set_call_timeout(scope, event)
        text = f'Carry out step {step.id}, attempt {step.attempts}: {step.description}'
        memory.record_request(Participant.CODER, MessageType.CODE_REQUEST, text, event)
    memory.status = RunStatus.EXECUTING


def ask_tester(scope: CallbackContext, event: Event) -> None:
    """Request tests: they run first, then the tester reads the results and the code."""
    memory = memory_of(scope)
    set_test_timeout(scope, event)
    memory.status = RunStatus.TESTING
    files = ', '.join(memory.step.changed_files) or 'none'
    memory.record_request(
        Participant.TESTER,
        MessageType.TEST_REQUEST,
        f'Test step {memory.current_step}; files: {files}',
        event,
    )


def ask_plan_review(scope: CallbackContext, event: Event) -> None:
    """Ask for a review of a plan before any of it is carried out."""
    memory = memory_of(scope)
    count = len(memory.draft.steps) if memory.draft else 0
    _ask_supervisor(scope, f'Verify the plan of {count} steps.', event)


def ask_code_review(scope: CallbackContext, event: Event) -> None:
    """Ask for a review of the coder's changes."""
    memory = memory_of(scope)
    _ask_supervisor(scope, f'Verify the code of step {memory.current_step}.', event)


def ask_fix_review(scope: CallbackContext, event: Event) -> None:
    """Ask for a review of the tester's findings."""
    memory = memory_of(scope)
    _ask_supervisor(scope, f'Verify the findings and the fix plan for step {memory.current_step}.', event)


def ask_step_review(scope: CallbackContext, event: Event) -> None:
    """Ask for a review of a tested step."""
    memory = memory_of(scope)
    _ask_supervisor(scope, f'Verify that step {memory.current_step} is complete.', event)


def ask_goal_review(scope: CallbackContext, event: Event) -> None:
    """Ask for a review of the finished work."""
    _ask_supervisor(scope, 'Verify that the goal is reached.', event)


def set_test_timeout(scope: CallbackContext, event: Event) -> None:
    """Give tests their own time limit, even if an answer would get less."""
    parameters = parameters_of(scope)
    longest = max(parameters.agent_seconds, parameters.test_seconds + TEST_MARGIN)
    _begin_call(memory_of(scope), event, longest)


def set_call_timeout(scope: CallbackContext, event: Event, *deadlines: float, agent: str = '') -> None:
    """Limit the time of the call that begins now; a person in the agent's seat gets all the time left."""
    memory = memory_of(scope)
    if agent in memory.seats:
        _begin_call(memory, event, memory.clock.limit)
    else:
        _begin_call(memory, event, parameters_of(scope).agent_seconds, *deadlines)


def _ask_supervisor(scope: CallbackContext, text: str, event: Event) -> None:
    memory = memory_of(scope)
    set_call_timeout(scope, event, agent=Participant.SUPERVISOR)
    memory.record_request(Participant.SUPERVISOR, MessageType.VERIFY_REQUEST, text, event)


def _begin_call(memory: Memory, event: Event, longest: float, *deadlines: float) -> None:
    """Start the clock for a call, which ends with the step under way at the latest."""
    clock = memory.clock
    in_step = bool(memory.current_step) and memory.step.status is StepStatus.IN_PROGRESS
    step_deadline = (clock.step_ends,) if clock.phase == 'executing' and in_step else ()
    clock.begin_call(event.ran, longest, *step_deadline, *deadlines)
