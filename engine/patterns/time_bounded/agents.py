"""The four agents: their roles and prompts."""

from __future__ import annotations

import json

from engine.agents.spec import Role
from engine.patterns.time_bounded import replanning
from engine.patterns.time_bounded.memory.escalation import Level
from engine.patterns.time_bounded.memory.plan import MAX_DEPTH, PlanStep
from engine.patterns.time_bounded.memory.state import OrchestrationState as Memory

FOLDER = 'project'
"""The folder shared by coder, tester and the loop itself."""

SUPERVISOR = Role(
    name='supervisor',
    title='Supervisor',
    instructions=(
        'You supervise a planner, a coder and a tester. You see everything they produce before it is '
        'used. Judge it against the goal and the step, by what you are shown and not by what is claimed. '
        'Score it from 0 to 100, and list what must change, one demand per item. You may reject work.'
    ),
    tools=(),
)
PLANNER = Role(
    name='planner',
    title='Planner',
    instructions=(
        'You plan software work. Look at the project first. Break the goal into 2 to 15 steps that one '
        'programmer can carry out in order, each with its own test. Rate each step simple, medium or '
        'complex, and list the numbers of the steps it depends on. If you are asked about a blocked '
        'step, plan only that step, in smaller ones.'
    ),
    tools=('list_files', 'read_file'),
)
CODER = Role(
    name='coder',
    title='Coder',
    instructions=(
        'You carry out one step of a plan at a time, in the folder you are given. Follow the conventions '
        'of the existing code. Write tests for everything you write, and run them. If you are given a '
        'fix plan, carry it out. If the step cannot be done as described, say why in `blocked`; if it is '
        'too large, set `asks_for_plan`.'
    ),
    tools=('list_files', 'read_file', 'write_file', 'edit_file', 'run_tests'),
)
TESTER = Role(
    name='tester',
    title='Tester',
    instructions=(
        'You test one step of a plan. The tests have already been run, and you get their results. Read '
        'the code for bugs, security issues, code smells and edge cases that no test covers, and rate '
        'how well the tests cover the step. If something is wrong, write a fix plan: for each file, '
        'exactly what to change.'
    ),
    tools=('list_files', 'read_file'),
)

MAX_DIFF = 20_000
MAX_TEXT = 6_000


def planning_prompt(memory: Memory) -> str:
    """The planner's prompt: for a plan, a better one, or one for a blocked step."""
    parts = [f'Goal:\n{memory.primary_goal}']
    if memory.current_step and memory.plan_stack:
        step = memory.step
        parts.append(
            f'Step {step.id} is blocked (plan level {step.depth + 1} of {MAX_DEPTH}):\n'
            f'{step.description}\nReason: {step.fail_reason}\nPlan only this step, in smaller steps.'
        )
    elif memory.replanning:
        parts.append(replanning.describe_plan(memory))
    elif memory.findings:
        listed = ''.join(f'\n- {finding}' for finding in memory.findings)
        parts.append(f'An earlier plan was carried out. Still missing:{listed}\nPlan only that.')
    if memory.problems and memory.draft is not None:
        listed = ''.join(f'\n- {problem}' for problem in memory.problems)
        parts.append(f'Your plan cannot be used:{listed}\nWrite a corrected plan.')
    parts.append(_describe_time(memory, 'planner'))
    return _with_guidance(memory, 'planner', parts)


def plan_review_prompt(memory: Memory) -> str:
    """The supervisor's prompt to review a plan."""
    draft = memory.draft
    heading = f'Plan for step {memory.current_step}' if memory.current_step else 'Plan for the goal'
    if memory.replanning:
        heading = f'The planner was told:\n{replanning.describe_plan(memory)}\n\nIts new steps'
    plan = json.dumps(draft.model_dump(mode='json'), indent=1, ensure_ascii=False) if draft else 'none'
    return f'Goal:\n{memory.primary_goal}\n\n{heading}:\n{plan}\n\nVerify this plan.'


def coding_prompt(memory: Memory) -> str:
    """The coder's prompt: a step or a fix plan."""
    step, tests = memory.step, memory.step.test_results
    parts = [f'Goal:\n{memory.primary_goal}', _describe_step(step)]
    if step.fix_cycles and tests is not None:
        fixes = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in tests.fix_plan)
        parts.append(f'Fix cycle {step.fix_cycles}. Results:\n{tests.text[:MAX_TEXT]}\n\nFix plan:{fixes}')
    elif step.attempts > 1:
        parts.append(f'Attempt {step.attempts} of {step.max_attempts}. What was wrong: {step.fail_reason}')
    parts.append(_describe_time(memory, 'coder'))
    return _with_guidance(memory, 'coder', parts)


def code_review_prompt(memory: Memory) -> str:
    """The supervisor's prompt to review the coder's changes."""
    summary = memory.step.code_output.summary if memory.step.code_output else ''
    files = ', '.join(memory.step.changed_files) or 'none'
    return (
        f'{_describe_step(memory.step)}\n\nThe coder says:\n{summary}\n\n'
        f'Files changed since the step began: {files}\n{memory.diff[:MAX_DIFF]}\n\n'
        'Verify this implementation.'
    )


def testing_prompt(memory: Memory) -> str:
    """The tester's prompt: the test results, and what to read."""
    tests = memory.step.test_results
    text = tests.text[:MAX_TEXT] if tests else ''
    parts = [
        _describe_step(memory.step),
        f'Files changed: {", ".join(memory.step.changed_files) or "none"}',
        f'The tests {"pass" if tests and tests.passed else "fail"}:\n{text}',
    ]
    return _with_guidance(memory, 'tester', parts)


def fix_review_prompt(memory: Memory) -> str:
    """The supervisor's prompt to review the tester's findings and fix plan."""
    tests = _describe_tests(memory)
    return f'{_describe_step(memory.step)}\n\n{tests}\n\nVerify these findings and the fix plan.'


def step_review_prompt(memory: Memory) -> str:
    """The supervisor's prompt to review a tested step, with the tester's findings."""
    return (
        f'{_describe_step(memory.step)}\n\nFiles changed: {", ".join(memory.step.changed_files)}\n'
        f'{_describe_tests(memory)}\n\n{memory.diff[:MAX_DIFF]}\n\n'
        'Verify that the step is complete and that the findings are right, and give your evidence.'
    )


def goal_review_prompt(memory: Memory) -> str:
    """The supervisor's prompt to review the finished work."""
    listed = '\n'.join(f'{step.id} {step.status}: {step.description}' for step in memory.steps.values())
    return (
        f'Goal:\n{memory.primary_goal}\n\nSteps:\n{listed}\n\n'
        f'Final tests:\n{memory.final_tests[:MAX_TEXT]}\n\n'
        f'Files changed: {", ".join(memory.changed_files) or "none"}\n\n'
        'Verify that the goal is reached.'
    )


def _describe_step(step: PlanStep) -> str:
    return f'Step {step.id} ({step.complexity}):\n{step.description}'


def _describe_tests(memory: Memory) -> str:
    tests = memory.step.test_results
    if tests is None:
        return 'It has not been tested.'
    issues = ''.join(f'\n- {issue.severity}: {issue.text} {issue.file}'.rstrip() for issue in tests.issues)
    fixes = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in tests.fix_plan)
    return (
        f'The tests {"pass" if tests.passed else "fail"}:\n{tests.text[:MAX_TEXT]}\n\n'
        f'The tester says (coverage {tests.coverage}):\n{tests.summary}\n'
        f'Issues:{issues or " none"}\nFix plan:{fixes or " none"}'
    )


def _describe_time(memory: Memory, agent: str) -> str:
    left = memory.clock.call_ends - memory.agents[agent].since
    return f'You have about {max(0, round(left))} seconds.'


def _with_guidance(memory: Memory, agent: str, parts: list[str]) -> str:
    guidance = memory.agents[agent].guidance
    if guidance and memory.level is not Level.NONE:
        parts.append(f'The supervisor ({memory.level}):\n{guidance}')
    return '\n\n'.join(parts)
