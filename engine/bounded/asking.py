"""How the agents of the time-bounded loop are asked: the requests, and how long an answer may take."""

from __future__ import annotations

from typing import Any

from engine.bounded.protocol import MessageType, Party
from engine.bounded.state import OrchestrationState as Memory
from engine.bounded.state import RunStatus
from engine.records import Event


class Asking:
    """Actions on entering an agent's state, and the time-outs of all states."""

    parameters: Any

    def ask_planner(self, memory: Memory, event: Event) -> None:
        """For a plan, or for one that a blocked step needs."""
        self.bound_call(memory, event)
        if memory.current_step:
            text = f'Plan step {memory.current_step}, which is blocked: {memory.step.fail_reason}'
            memory.ask(Party.PLANNER, MessageType.REPLAN_REQUEST, text, event)
        else:
            text = f'Plan the goal: {memory.primary_goal}'
            memory.ask(Party.PLANNER, MessageType.PLAN_REQUEST, text, event)

    def ask_coder(self, memory: Memory, event: Event) -> None:
        """For a step, or for a fix; a fix has only the time that is left for fixes."""
        step = memory.step
        step.stage = 'coding'
        if step.fix_cycles and step.test_results is not None:
            self.bound_call(memory, event, memory.clock.fixes_end)
            fixes = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in step.test_results.fix_plan)
            text = f'Fix step {step.id}, cycle {step.fix_cycles}:{fixes}'
            memory.ask(Party.CODER, MessageType.CODE_FIX_REQUEST, text, event)
        else:
            self.bound_call(memory, event)
            text = f'Carry out step {step.id}, attempt {step.attempts}: {step.description}'
            memory.ask(Party.CODER, MessageType.CODE_REQUEST, text, event)
        memory.status = RunStatus.EXECUTING

    def ask_tester(self, memory: Memory, event: Event) -> None:
        """The tests are run first; then the tester reads them and the code."""
        self.bound_call(memory, event)
        memory.status = RunStatus.TESTING
        files = ', '.join(memory.step.changed_files) or 'none'
        memory.ask(
            Party.TESTER, MessageType.TEST_REQUEST, f'Test step {memory.current_step}; files: {files}', event
        )

    def ask_plan_review(self, memory: Memory, event: Event) -> None:
        """Of a plan, before anything of it is carried out."""
        count = len(memory.draft.steps) if memory.draft else 0
        self._verify(memory, f'Verify the plan of {count} steps.', event)

    def ask_code_review(self, memory: Memory, event: Event) -> None:
        """Of what the coder changed."""
        self._verify(memory, f'Verify the code of step {memory.current_step}.', event)

    def ask_fix_review(self, memory: Memory, event: Event) -> None:
        """Of the tester's findings."""
        self._verify(memory, f'Verify the findings and the fix plan for step {memory.current_step}.', event)

    def ask_step_review(self, memory: Memory, event: Event) -> None:
        """Of a step that is tested."""
        self._verify(memory, f'Verify that step {memory.current_step} is complete.', event)

    def ask_goal_review(self, memory: Memory, event: Event) -> None:
        """Of the whole."""
        self._verify(memory, 'Verify that the goal is reached.', event)

    def bound_call(self, memory: Memory, event: Event, *bounds: float) -> None:
        """What begins now has so long."""
        clock = memory.clock
        inner = [clock.step_ends] if clock.phase == 'executing' and self._in_step(memory) else []
        clock.begin_call(event.ran, self.parameters.agent_seconds, *inner, *bounds)

    def seconds_to_the_end(self, memory: Memory, event: Event) -> float:
        """What is under way may use the grace; then it is cut off."""
        return memory.clock.ends + memory.clock.grace - event.ran

    def phase_left(self, memory: Memory, event: Event) -> float | None:
        """What is left of the phase; what is under way when the steps' time is over may use the grace."""
        clock = memory.clock
        if clock.phase == 'executing':
            return min(clock.phase_ends, clock.ends) + clock.grace - event.ran
        return _until(memory, clock.phase_ends, event)

    def step_left(self, memory: Memory, event: Event) -> float | None:
        """What is left of the step."""
        return _until(memory, memory.clock.step_ends, event)

    def call_left(self, memory: Memory, event: Event) -> float | None:
        """What is left for one answer."""
        return _until(memory, memory.clock.call_ends, event)

    def window_left(self, memory: Memory, event: Event) -> float:
        """How long more time is waited for."""
        return float(self.parameters.wait_for_time) - (event.ran - memory.clock.stopped)

    def _verify(self, memory: Memory, text: str, event: Event) -> None:
        self.bound_call(memory, event)
        memory.ask(Party.SUPERVISOR, MessageType.VERIFY_REQUEST, text, event)

    def _in_step(self, memory: Memory) -> bool:
        return bool(memory.current_step) and memory.step.status == 'in_progress'


def _until(memory: Memory, moment: float, event: Event) -> float | None:
    """Seconds until a bound; none where what it is part of ends as early, whose grace then counts."""
    clock = memory.clock
    last = min(clock.phase_ends, clock.ends) if clock.phase == 'executing' else clock.ends
    return None if moment >= last - INSTANT else moment - event.ran


INSTANT = 0.001
"""Seconds that make no difference between two bounds."""
