"""Guards of the time-bounded loop, named as the journal shows them, and time limits of its states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.patterns.time_bounded import replanning
from engine.patterns.time_bounded.gates import GATES
from engine.patterns.time_bounded.memory.escalation import Level
from engine.patterns.time_bounded.memory.plan import MAX_DEPTH, StepStatus
from engine.patterns.time_bounded.memory.schedule import MIN_STEP_SECONDS, TIME_TOLERANCE
from engine.patterns.time_bounded.memory.state import OrchestrationState as Memory
from engine.patterns.time_bounded.memory.state import RunStatus
from engine.patterns.time_bounded.parameters import TimeBoundedParameters
from engine.records import Event
from engine.statechart.pattern import Pattern

MIN_ROUND_SHARE = 0.05
"""Share of the whole budget below which no new round starts."""


FIELDS_BESIDE_RESULTS = frozenset({'minutes', 'seconds', 'why', 'seat', 'changes'})
"""Event fields that people send alongside the work: time, replanning, seats, edits. None is a result."""


WORDS: Mapping[str, str | tuple[str, str]] = {
    **{name: '' for conditions in GATES.values() for name in conditions},
    'plan_is_approved': 'plan approved',
    'code_is_approved': 'code approved',
    'tests_pass': 'tests pass',
    'goal_is_met': 'goal met',
    'supervisor_verifies': 'verified',
    'is_time_over': ('time is up', ''),
    'must_abort': ('ended early', ''),
    'is_prepared': ('prepared', 'not prepared'),
    'is_to_plan': 'plan',
    'is_to_execute': 'carry out',
    'is_to_verify': 'verify',
    'is_in_sub_plan': 'sub-plan over',
    'plan_is_over': '',
    'no_time_for_a_step_is_left': 'no time for a step',
    'no_time_for_a_round_is_left': 'no time for a round',
    'another_round_is_left': 'another round',
    'a_fix_cycle_is_left': 'another fix',
    'time_for_fixes_is_left': '',
    'may_try_again': 'another try',
    'may_plan_deeper': 'a sub-plan',
    'coder_asks_for_plan': '',
    'ends_completed': 'goal met',
    'ends_aborted': 'ended early',
    'ends_failed': 'goal missed',
    'may_be_resumed': 'more to do',
}
"""Guards in words, on the edges of the diagram; of a gate's conditions, the one that people look for."""


class Guards(Pattern, abstract=True):
    """Guards and time limits, which read nothing but memory, parameters and the event."""

    parameters: TimeBoundedParameters

    def is_prepared(self, memory: Memory, event: Event) -> bool:
        """The project is in the folder."""
        return bool(memory.base)

    def is_to_plan(self, memory: Memory, event: Event) -> bool:
        """The round begins with planning, or was stopped while planning."""
        return memory.stage == 'planning'

    def is_to_execute(self, memory: Memory, event: Event) -> bool:
        """The round was stopped while the plan was carried out."""
        return memory.stage == 'executing'

    def is_to_verify(self, memory: Memory, event: Event) -> bool:
        """The round was stopped while the goal was verified."""
        return memory.stage == 'verifying'

    def is_time_over(self, memory: Memory, event: Event) -> bool:
        """The budget is used up, or a person asked to finish: nothing new starts."""
        # A person's request takes effect at the next event with a result: that of the work under way.
        result = not FIELDS_BESIDE_RESULTS.issuperset(event.data)
        return memory.clock.is_over(event.ran) or (memory.finishing and result)

    def is_finishing(self, memory: Memory, event: Event) -> bool:
        """A person asked to finish now."""
        return memory.finishing

    def must_abort(self, memory: Memory, event: Event) -> bool:
        """The supervisor ended the session."""
        return memory.level is Level.ABORT

    def draft_is_sound(self, memory: Memory, event: Event) -> bool:
        """There is a plan, and its form is valid."""
        return memory.draft is not None and not replanning.plan_problems(memory)

    def may_repair_plan(self, memory: Memory, event: Event) -> bool:
        """The planner has not been asked to correct this plan's form yet."""
        return memory.draft is not None and memory.repairs == 0

    def is_sub_plan(self, memory: Memory, event: Event) -> bool:
        """The plan is not the goal's own: it is for a blocked step or for the pending steps."""
        return bool(memory.current_step) or memory.replanning

    def may_revise_plan(self, memory: Memory, event: Event) -> bool:
        """The plan has revisions left."""
        return bool(memory.revisions < self.parameters.max_revisions)

    def step_is_open(self, memory: Memory, event: Event) -> bool:
        """A step was interrupted by a stop."""
        return bool(memory.current_step) and memory.step.status is StepStatus.IN_PROGRESS

    def step_waits_for_plan(self, memory: Memory, event: Event) -> bool:
        """A blocked step has no plan of its own yet."""
        return (
            bool(memory.current_step)
            and memory.step.status is StepStatus.BLOCKED
            and not memory.step.sub_steps
        )

    def failures_are_too_many(self, memory: Memory, event: Event) -> bool:
        """More steps of this round failed than is acceptable."""
        failed, max_failed_steps = len(memory.failed_steps), self.parameters.max_failed_steps
        if memory.too_many_failures or failed <= max_failed_steps:
            return False
        # Steps that do not depend on a failed one continue, unless most of the plan has failed.
        if replanning.has_mostly_failed(memory):
            return True
        return memory.next_step(max_failed_steps) is None and not self._replan_reason(memory)

    def has_next_step(self, memory: Memory, event: Event) -> bool:
        """A step of the plan can start."""
        return not memory.too_many_failures and memory.next_step(self.parameters.max_failed_steps) is not None

    def no_time_for_a_step_is_left(self, memory: Memory, event: Event) -> bool:
        """The plan is not over, but its next step would have almost no time."""
        if memory.clock.seconds_left(event.ran) >= MIN_STEP_SECONDS:
            return False
        return self.step_is_open(memory, event) or not self.plan_is_over(memory, event)

    def plan_is_over(self, memory: Memory, event: Event) -> bool:
        """No step of the plan is left to start."""
        if memory.too_many_failures:
            return True
        return memory.next_step(self.parameters.max_failed_steps) is None and not self._replan_reason(memory)

    def steps_are_to_be_replanned(self, memory: Memory, event: Event) -> bool:
        """Replanning of the pending steps was requested, or none of them can begin."""
        return bool(self._replan_reason(memory))

    def has_pending_steps(self, memory: Memory, event: Event) -> bool:
        """The plan has pending steps, and they may be replanned."""
        if not memory.plan_stack or memory.stage != 'executing' or memory.finishing:
            return False
        return bool(replanning.pending_steps(memory)) and memory.replans < self.parameters.max_replans

    def _replan_reason(self, memory: Memory) -> str:
        return replanning.replan_reason(memory, self.parameters.max_failed_steps, self.parameters.max_replans)

    def is_in_sub_plan(self, memory: Memory, event: Event) -> bool:
        """The current plan is for a step of another plan."""
        return len(memory.plan_stack) > 1

    def code_is_written(self, memory: Memory, event: Event) -> bool:
        """The coder has answered, and its code is not approved yet."""
        return memory.step.stage == 'coded'

    def code_is_good(self, memory: Memory, event: Event) -> bool:
        """The code was approved before the stop."""
        return memory.step.stage == 'approved'

    def coder_asks_for_plan(self, memory: Memory, event: Event) -> bool:
        """The coder wants the step to be broken down."""
        return memory.step.code_output is not None and memory.step.code_output.asks_for_plan

    def may_try_again(self, memory: Memory, event: Event) -> bool:
        """The step has attempts left."""
        return memory.step.attempts < memory.step.max_attempts

    def may_plan_deeper(self, memory: Memory, event: Event) -> bool:
        """A plan within this plan would not be nested too deeply."""
        return memory.step.depth < MAX_DEPTH and not memory.step.sub_steps  # It gets one plan of its own.

    def work_is_sound(self, memory: Memory, event: Event) -> bool:
        """The tests pass, and nothing critical was found."""
        tests = memory.step.test_results
        return tests is not None and tests.sound

    def a_fix_cycle_is_left(self, memory: Memory, event: Event) -> bool:
        """The step has fix cycles left."""
        return bool(memory.step.fix_cycles < self.parameters.max_fix_cycles)

    def time_for_fixes_is_left(self, memory: Memory, event: Event) -> bool:
        """The step's time for fixes is not used up."""
        return not memory.clock.fixes_end or event.ran < memory.clock.fixes_end

    def no_time_for_a_round_is_left(self, memory: Memory, event: Event) -> bool:
        """The time left is too short to replan, carry out and verify."""
        return memory.clock.seconds_left(event.ran) < MIN_ROUND_SHARE * memory.clock.limit

    def another_round_is_left(self, memory: Memory, event: Event) -> bool:
        """The goal is not reached, and another round may plan what is missing."""
        return bool(memory.iteration < self.parameters.max_rounds)

    def is_skipping_verification(self, memory: Memory, event: Event) -> bool:
        """A person chose to skip verification."""
        return memory.skip_verification

    def ends_completed(self, memory: Memory, event: Event) -> bool:
        """The goal is reached."""
        return memory.status is RunStatus.COMPLETED

    def ends_aborted(self, memory: Memory, event: Event) -> bool:
        """The supervisor ended the session."""
        return memory.status is RunStatus.ABORTED

    def ends_failed(self, memory: Memory, event: Event) -> bool:
        """The goal cannot be reached."""
        return memory.status is RunStatus.FAILED

    def may_be_resumed(self, memory: Memory, event: Event) -> bool:
        """More time may still be added."""
        return memory.resumable and self.parameters.wait_for_time > 0

    def seconds_until_cutoff(self, memory: Memory, event: Event) -> float:
        """Return the seconds until work under way, which may use the grace period, is cut off."""
        return memory.clock.ends + memory.clock.grace - event.ran

    def phase_seconds_left(self, memory: Memory, event: Event) -> float | None:
        """Return the time left in the phase; a step running when time is up may use the grace period."""
        clock = memory.clock
        if clock.phase == 'executing':
            return clock.hard_end + clock.grace - event.ran
        return _seconds_until(clock.phase_ends, memory, event)

    def step_seconds_left(self, memory: Memory, event: Event) -> float | None:
        """Return the seconds until the step's time limit; None if an enclosing limit ends as early."""
        return _seconds_until(memory.clock.step_ends, memory, event)

    def call_seconds_left(self, memory: Memory, event: Event) -> float | None:
        """Return the time left for one answer."""
        return _seconds_until(memory.clock.call_ends, memory, event)

    def wait_seconds_left(self, memory: Memory, event: Event) -> float:
        """Return how much longer to wait for more time."""
        return float(self.parameters.wait_for_time) - (event.ran - memory.clock.stopped)


def _seconds_until(moment: float, memory: Memory, event: Event) -> float | None:
    """Return the seconds until a moment; None if the enclosing limit ends as early, so its grace applies."""
    clock = memory.clock
    last = clock.hard_end if clock.phase == 'executing' else clock.ends
    return None if moment >= last - TIME_TOLERANCE else moment - event.ran


def _of_gate(name: str, gate: str) -> Any:
    def holds(self: Guards, memory: Memory, event: Event) -> bool:
        return memory.verdict.holds(name)

    holds.__name__, holds.__qualname__ = name, f'Guards.{name}'
    holds.__doc__ = f'{gate.capitalize()} gate: {name.replace("_", " ")}.'
    return holds


for _gate, _conditions in GATES.items():
    for _name in _conditions:
        setattr(Guards, _name, _of_gate(_name, _gate))
