"""What each agent of the time-bounded loop is asked, from memory."""

from __future__ import annotations

import json

from engine.bounded.escalation import Level
from engine.bounded.plan import DEEPEST, PlanStep
from engine.bounded.state import OrchestrationState

MOST_DIFF = 20_000
MOST_TEXT = 6_000


class Prompts:
    """The `prompt_` methods of the pattern."""

    def prompt_planning(self, memory: OrchestrationState) -> str:
        """For the planner: a plan, a better one, or one for a step that is blocked."""
        parts = [f'Goal:\n{memory.primary_goal}']
        if memory.current_step and memory.plan_stack:
            step = memory.step
            parts.append(
                f'Step {step.id} is blocked (plan level {step.depth + 1} of {DEEPEST}):\n{step.description}\n'
                f'Why: {step.fail_reason}\nPlan this step alone, in smaller steps.'
            )
        elif memory.findings:
            listed = ''.join(f'\n- {finding}' for finding in memory.findings)
            parts.append(f'An earlier plan was carried out. What is still missing:{listed}\nPlan only that.')
        if memory.problems and memory.draft is not None:
            listed = ''.join(f'\n- {problem}' for problem in memory.problems)
            parts.append(f'Your plan cannot be used:{listed}\nWrite it again.')
        parts.append(self._time(memory, 'planner'))
        return self._with_guidance(memory, 'planner', parts)

    def prompt_plan_review(self, memory: OrchestrationState) -> str:
        """For the supervisor: a plan."""
        draft = memory.draft
        about = f'for step {memory.current_step}' if memory.current_step else 'for the goal'
        said = json.dumps(draft.model_dump(mode='json'), indent=1, ensure_ascii=False) if draft else 'none'
        return f'Goal:\n{memory.primary_goal}\n\nPlan {about}:\n{said}\n\nVerify this plan.'

    def prompt_coding(self, memory: OrchestrationState) -> str:
        """For the coder: a step, or a fix plan."""
        step, tests = memory.step, memory.step.test_results
        parts = [f'Goal:\n{memory.primary_goal}', self._step(step)]
        if step.fix_cycles and tests is not None:
            fixes = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in tests.fix_plan)
            parts.append(
                f'Fix cycle {step.fix_cycles}. Results:\n{tests.text[:MOST_TEXT]}\n\nFix plan:{fixes}'
            )
        elif step.attempts > 1:
            parts.append(
                f'Attempt {step.attempts} of {step.max_attempts}. What was wrong: {step.fail_reason}'
            )
        parts.append(self._time(memory, 'coder'))
        return self._with_guidance(memory, 'coder', parts)

    def prompt_code_review(self, memory: OrchestrationState) -> str:
        """For the supervisor: what the coder changed."""
        said = memory.step.code_output.summary if memory.step.code_output else ''
        files = ', '.join(memory.step.changed_files) or 'none'
        return (
            f'{self._step(memory.step)}\n\nThe coder says:\n{said}\n\n'
            f'Files changed since the step began: {files}\n{memory.diff[:MOST_DIFF]}\n\n'
            'Verify this implementation.'
        )

    def prompt_exploring(self, memory: OrchestrationState) -> str:
        """For the tester: the results of the tests, and what to read."""
        tests = memory.step.test_results
        text = tests.text[:MOST_TEXT] if tests else ''
        parts = [
            self._step(memory.step),
            f'Files changed: {", ".join(memory.step.changed_files) or "none"}',
            f'The tests {"pass" if tests and tests.passed else "fail"}:\n{text}',
        ]
        return self._with_guidance(memory, 'tester', parts)

    def prompt_fix_review(self, memory: OrchestrationState) -> str:
        """For the supervisor: the tester's findings and fix plan."""
        return (
            f'{self._step(memory.step)}\n\n{self._tested(memory)}\n\nVerify these findings and the fix plan.'
        )

    def prompt_step_review(self, memory: OrchestrationState) -> str:
        """For the supervisor: a step that is tested, with what the tester says."""
        return (
            f'{self._step(memory.step)}\n\nFiles changed: {", ".join(memory.step.changed_files)}\n'
            f'{self._tested(memory)}\n\n{memory.diff[:MOST_DIFF]}\n\n'
            'Verify that the step is complete and that the findings hold; give the evidence.'
        )

    def prompt_goal_review(self, memory: OrchestrationState) -> str:
        """For the supervisor: the whole."""
        listed = '\n'.join(f'{step.id} {step.status}: {step.description}' for step in memory.steps.values())
        return (
            f'Goal:\n{memory.primary_goal}\n\nSteps:\n{listed}\n\n'
            f'Final tests:\n{memory.final_tests[:MOST_TEXT]}\n\n'
            f'Files changed: {", ".join(memory.changed_files) or "none"}\n\n'
            'Verify that the goal is reached.'
        )

    def _step(self, step: PlanStep) -> str:
        return f'Step {step.id} ({step.complexity}):\n{step.description}'

    def _tested(self, memory: OrchestrationState) -> str:
        tests = memory.step.test_results
        if tests is None:
            return 'It has not been tested.'
        issues = ''.join(
            f'\n- {issue.severity}: {issue.text} {issue.file}'.rstrip() for issue in tests.issues
        )
        fixes = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in tests.fix_plan)
        return (
            f'The tests {"pass" if tests.passed else "fail"}:\n{tests.text[:MOST_TEXT]}\n\n'
            f'The tester says (coverage {tests.coverage}):\n{tests.summary}\n'
            f'Issues:{issues or " none"}\nFix plan:{fixes or " none"}'
        )

    def _time(self, memory: OrchestrationState, agent: str) -> str:
        left = memory.clock.call_ends - memory.agents[agent].since
        return f'Time for this: about {max(0, round(left))} seconds.'

    def _with_guidance(self, memory: OrchestrationState, agent: str, parts: list[str]) -> str:
        guidance = memory.agents[agent].guidance
        if guidance and memory.level is not Level.NONE:
            parts.append(f'The supervisor ({memory.level}):\n{guidance}')
        return '\n\n'.join(parts)
