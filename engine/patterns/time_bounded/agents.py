"""The four agents: their roles, prompts and time limits."""

from __future__ import annotations

import json
from typing import Any

from engine.agents.spec import Role
from engine.patterns.time_bounded.actions import replanning
from engine.patterns.time_bounded.escalation import Level
from engine.patterns.time_bounded.plan import MAX_DEPTH, PlanStep
from engine.patterns.time_bounded.protocol import MessageType, Participant
from engine.patterns.time_bounded.schedule import INSTANT
from engine.patterns.time_bounded.state import OrchestrationState as Memory
from engine.patterns.time_bounded.state import RunStatus
from engine.records import Event

FOLDER = 'project'
"""The folder shared by coder, tester and the loop itself."""

SUPERVISOR = Role(
    name='supervisor',
    title='Supervisor',
    instructions=(
        'You supervise a planner, a coder and a tester. Every output of theirs comes to you before it'
        ' is gone on with. Judge it against the goal and the step, by what you are shown and not by '
        'what is claimed. Score it from 0 to 100; say what must change, one demand each. You may '
        'reject work.'
    ),
    tools=(),
)
PLANNER = Role(
    name='planner',
    title='Planner',
    instructions=(
        'You plan software work. Look at the project first. Break the goal into 2 to 15 steps that '
        'one programmer can carry out one after another, each with its own test; rate each simple, '
        'medium or complex; name the steps it depends on by their numbers. For a step that is '
        'blocked, plan only that step, in smaller ones.'
    ),
    tools=('list_files', 'read_file'),
)
CODER = Role(
    name='coder',
    title='Coder',
    instructions=(
        'You carry out one step of a plan at a time in the folder that you are given. Follow the '
        'patterns of the code that is there. Write tests for everything that you write, and run them.'
        ' When you are given a fix plan, carry it out. If the step cannot be done as it is, say why '
        'in `blocked`; if it is too large, set `asks_for_plan`.'
    ),
    tools=('list_files', 'read_file', 'write_file', 'edit_file', 'run_tests'),
)
TESTER = Role(
    name='tester',
    title='Tester',
    instructions=(
        'You test one step of a plan. The tests have been run and you get their results. Read the '
        'code for bugs, security issues, code smells and edge cases that no test covers; say how well'
        ' the tests cover the step. Where something is wrong, write a fix plan: for each file, '
        'exactly what to change.'
    ),
    tools=('list_files', 'read_file'),
)

MAX_DIFF = 20_000
MAX_TEXT = 6_000
TEST_MARGIN = 10.0
"""Seconds allowed for starting and stopping the tests, on top of running them."""


class AgentRequests:
    """Requests to each agent, as messages and prompts, and time limits for the answers."""

    parameters: Any

    def ask_planner(self, memory: Memory, event: Event) -> None:
        """Ask for a plan: for the goal, a blocked step or the pending steps."""
        self.bound_call(memory, event, agent=Participant.PLANNER)
        if memory.current_step:
            text = f'Plan step {memory.current_step}, which is blocked: {memory.step.fail_reason}'
            memory.ask(Participant.PLANNER, MessageType.REPLAN_REQUEST, text, event)
        elif memory.replanning:
            share = event.ran + memory.clock.allocation.planning
            self.bound_call(memory, event, share, agent=Participant.PLANNER)
            text = f'Plan what is left anew ({", ".join(replanning.pending_steps(memory))}): {memory.replan}'
            memory.ask(Participant.PLANNER, MessageType.REPLAN_REQUEST, text, event)
        else:
            text = f'Plan the goal: {memory.primary_goal}'
            memory.ask(Participant.PLANNER, MessageType.PLAN_REQUEST, text, event)

    def ask_coder(self, memory: Memory, event: Event) -> None:
        """Ask for a step or a fix; a fix gets only the time left for fixes."""
        step = memory.step
        step.stage = 'coding'
        if step.fix_cycles and step.test_results is not None:
            self.bound_call(memory, event, memory.clock.fixes_end)
            fixes = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in step.test_results.fix_plan)
            text = f'Fix step {step.id}, cycle {step.fix_cycles}:{fixes}'
            memory.ask(Participant.CODER, MessageType.CODE_FIX_REQUEST, text, event)
        else:
            self.bound_call(memory, event)
            text = f'Carry out step {step.id}, attempt {step.attempts}: {step.description}'
            memory.ask(Participant.CODER, MessageType.CODE_REQUEST, text, event)
        memory.status = RunStatus.EXECUTING

    def ask_tester(self, memory: Memory, event: Event) -> None:
        """Request tests: they run first, then the tester reads the results and the code."""
        self.bound_tests(memory, event)
        memory.status = RunStatus.TESTING
        files = ', '.join(memory.step.changed_files) or 'none'
        memory.ask(
            Participant.TESTER,
            MessageType.TEST_REQUEST,
            f'Test step {memory.current_step}; files: {files}',
            event,
        )

    def ask_plan_review(self, memory: Memory, event: Event) -> None:
        """Ask for a review of a plan before any of it is carried out."""
        count = len(memory.draft.steps) if memory.draft else 0
        self._verify(memory, f'Verify the plan of {count} steps.', event)

    def ask_code_review(self, memory: Memory, event: Event) -> None:
        """Ask for a review of the coder's changes."""
        self._verify(memory, f'Verify the code of step {memory.current_step}.', event)

    def ask_fix_review(self, memory: Memory, event: Event) -> None:
        """Ask for a review of the tester's findings."""
        self._verify(memory, f'Verify the findings and the fix plan for step {memory.current_step}.', event)

    def ask_step_review(self, memory: Memory, event: Event) -> None:
        """Ask for a review of a tested step."""
        self._verify(memory, f'Verify that step {memory.current_step} is complete.', event)

    def ask_goal_review(self, memory: Memory, event: Event) -> None:
        """Ask for a review of the finished work."""
        self._verify(memory, 'Verify that the goal is reached.', event)

    def bound_tests(self, memory: Memory, event: Event) -> None:
        """Give tests their own time limit, even if an answer would get less."""
        clock = memory.clock
        inner = [clock.step_ends] if clock.phase == 'executing' and self._in_step(memory) else []
        longest = max(self.parameters.agent_seconds, self.parameters.test_seconds + TEST_MARGIN)
        clock.begin_call(event.ran, longest, *inner)

    def bound_call(self, memory: Memory, event: Event, *bounds: float, agent: str = '') -> None:
        """Limit the time of the call that starts now; a person in the agent's seat gets all the time left."""
        clock = memory.clock
        inner = [clock.step_ends] if clock.phase == 'executing' and self._in_step(memory) else []
        longest = memory.clock.limit if agent in memory.seats else self.parameters.agent_seconds
        clock.begin_call(event.ran, longest, *inner, *(() if agent in memory.seats else bounds))

    def seconds_to_the_end(self, memory: Memory, event: Event) -> float:
        """Return the seconds until work under way, which may use the grace period, is cut off."""
        return memory.clock.ends + memory.clock.grace - event.ran

    def phase_left(self, memory: Memory, event: Event) -> float | None:
        """Return the time left in the phase; a step running when time is up may use the grace period."""
        clock = memory.clock
        if clock.phase == 'executing':
            return clock.hard_end + clock.grace - event.ran
        return _until(memory, clock.phase_ends, event)

    def step_left(self, memory: Memory, event: Event) -> float | None:
        """Return the time left for the step."""
        return _until(memory, memory.clock.step_ends, event)

    def call_left(self, memory: Memory, event: Event) -> float | None:
        """Return the time left for one answer."""
        return _until(memory, memory.clock.call_ends, event)

    def window_left(self, memory: Memory, event: Event) -> float:
        """Return how much longer to wait for more time."""
        return float(self.parameters.wait_for_time) - (event.ran - memory.clock.stopped)

    def _verify(self, memory: Memory, text: str, event: Event) -> None:
        self.bound_call(memory, event, agent=Participant.SUPERVISOR)
        memory.ask(Participant.SUPERVISOR, MessageType.VERIFY_REQUEST, text, event)

    def _in_step(self, memory: Memory) -> bool:
        return bool(memory.current_step) and memory.step.status == 'in_progress'

    def prompt_planning(self, memory: Memory) -> str:
        """The planner's prompt: for a plan, a better one, or one for a blocked step."""
        parts = [f'Goal:\n{memory.primary_goal}']
        if memory.current_step and memory.plan_stack:
            step = memory.step
            parts.append(
                f'Step {step.id} is blocked (plan level {step.depth + 1} of {MAX_DEPTH}):\n'
                f'{step.description}\nWhy: {step.fail_reason}\nPlan this step alone, in smaller steps.'
            )
        elif memory.replanning:
            parts.append(replanning.prompt(memory))
        elif memory.findings:
            listed = ''.join(f'\n- {finding}' for finding in memory.findings)
            parts.append(f'An earlier plan was carried out. What is still missing:{listed}\nPlan only that.')
        if memory.problems and memory.draft is not None:
            listed = ''.join(f'\n- {problem}' for problem in memory.problems)
            parts.append(f'Your plan cannot be used:{listed}\nWrite it again.')
        parts.append(self._time(memory, 'planner'))
        return self._with_guidance(memory, 'planner', parts)

    def prompt_plan_review(self, memory: Memory) -> str:
        """The supervisor's prompt to review a plan."""
        draft = memory.draft
        about = f'for step {memory.current_step}' if memory.current_step else 'for the goal'
        if memory.replanning:
            about = f'in place of the pending steps.\n{replanning.prompt(memory)}\nThe new steps'
        plan = json.dumps(draft.model_dump(mode='json'), indent=1, ensure_ascii=False) if draft else 'none'
        return f'Goal:\n{memory.primary_goal}\n\nPlan {about}:\n{plan}\n\nVerify this plan.'

    def prompt_coding(self, memory: Memory) -> str:
        """The coder's prompt: a step or a fix plan."""
        step, tests = memory.step, memory.step.test_results
        parts = [f'Goal:\n{memory.primary_goal}', self._step(step)]
        if step.fix_cycles and tests is not None:
            fixes = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in tests.fix_plan)
            parts.append(
                f'Fix cycle {step.fix_cycles}. Results:\n{tests.text[:MAX_TEXT]}\n\nFix plan:{fixes}'
            )
        elif step.attempts > 1:
            parts.append(
                f'Attempt {step.attempts} of {step.max_attempts}. What was wrong: {step.fail_reason}'
            )
        parts.append(self._time(memory, 'coder'))
        return self._with_guidance(memory, 'coder', parts)

    def prompt_code_review(self, memory: Memory) -> str:
        """The supervisor's prompt to review the coder's changes."""
        summary = memory.step.code_output.summary if memory.step.code_output else ''
        files = ', '.join(memory.step.changed_files) or 'none'
        return (
            f'{self._step(memory.step)}\n\nThe coder says:\n{summary}\n\n'
            f'Files changed since the step began: {files}\n{memory.diff[:MAX_DIFF]}\n\n'
            'Verify this implementation.'
        )

    def prompt_exploring(self, memory: Memory) -> str:
        """The tester's prompt: the test results, and what to read."""
        tests = memory.step.test_results
        text = tests.text[:MAX_TEXT] if tests else ''
        parts = [
            self._step(memory.step),
            f'Files changed: {", ".join(memory.step.changed_files) or "none"}',
            f'The tests {"pass" if tests and tests.passed else "fail"}:\n{text}',
        ]
        return self._with_guidance(memory, 'tester', parts)

    def prompt_fix_review(self, memory: Memory) -> str:
        """The supervisor's prompt to review the tester's findings and fix plan."""
        found = self._describe_tests(memory)
        return f'{self._step(memory.step)}\n\n{found}\n\nVerify these findings and the fix plan.'

    def prompt_step_review(self, memory: Memory) -> str:
        """The supervisor's prompt to review a tested step, with the tester's findings."""
        return (
            f'{self._step(memory.step)}\n\nFiles changed: {", ".join(memory.step.changed_files)}\n'
            f'{self._describe_tests(memory)}\n\n{memory.diff[:MAX_DIFF]}\n\n'
            'Verify that the step is complete and that the findings hold; give the evidence.'
        )

    def prompt_goal_review(self, memory: Memory) -> str:
        """The supervisor's prompt to review the finished work."""
        listed = '\n'.join(f'{step.id} {step.status}: {step.description}' for step in memory.steps.values())
        return (
            f'Goal:\n{memory.primary_goal}\n\nSteps:\n{listed}\n\n'
            f'Final tests:\n{memory.final_tests[:MAX_TEXT]}\n\n'
            f'Files changed: {", ".join(memory.changed_files) or "none"}\n\n'
            'Verify that the goal is reached.'
        )

    def _step(self, step: PlanStep) -> str:
        return f'Step {step.id} ({step.complexity}):\n{step.description}'

    def _describe_tests(self, memory: Memory) -> str:
        tests = memory.step.test_results
        if tests is None:
            return 'It has not been tested.'
        issues = ''.join(
            f'\n- {issue.severity}: {issue.text} {issue.file}'.rstrip() for issue in tests.issues
        )
        fixes = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in tests.fix_plan)
        return (
            f'The tests {"pass" if tests.passed else "fail"}:\n{tests.text[:MAX_TEXT]}\n\n'
            f'The tester says (coverage {tests.coverage}):\n{tests.summary}\n'
            f'Issues:{issues or " none"}\nFix plan:{fixes or " none"}'
        )

    def _time(self, memory: Memory, agent: str) -> str:
        left = memory.clock.call_ends - memory.agents[agent].since
        return f'Time for this: about {max(0, round(left))} seconds.'

    def _with_guidance(self, memory: Memory, agent: str, parts: list[str]) -> str:
        guidance = memory.agents[agent].guidance
        if guidance and memory.level is not Level.NONE:
            parts.append(f'The supervisor ({memory.level}):\n{guidance}')
        return '\n\n'.join(parts)


def _until(memory: Memory, moment: float, event: Event) -> float | None:
    """Return the seconds until a bound; None if the enclosing limit ends as early, so its grace applies."""
    clock = memory.clock
    last = clock.hard_end if clock.phase == 'executing' else clock.ends
    return None if moment >= last - INSTANT else moment - event.ran
