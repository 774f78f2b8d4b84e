"""The actions of a step: it is begun, coded, tested, mended, verified, tried again, or given up."""

from __future__ import annotations

from typing import Any

from engine.bounded import fallback
from engine.bounded.answers import CodeOutput, CodeVerdict, StepVerdict, Verdict
from engine.bounded.answers import TestReading as Reading
from engine.bounded.escalation import Level
from engine.bounded.gates import Facts, conditions
from engine.bounded.plan import State, TestResult, VerificationResult, ready
from engine.bounded.protocol import MessageType, Party
from engine.bounded.schedule import per_step
from engine.bounded.state import OrchestrationState as Memory
from engine.records import Event


class Stepping:
    """Actions on the step under way."""

    parameters: Any

    def begin_step(self, memory: Memory, event: Event) -> None:
        """The next step that can be done, with its share of the time."""
        step = ready(memory.steps, memory.plan)
        assert step is not None
        plan = memory.plan
        plan.current_step_index = plan.steps.index(step.id)
        memory.current_step, memory.step_base = step.id, memory.last_snapshot
        memory.clock.begin_step(event.ran, self.step_seconds(memory, event))
        step.status, step.attempts, step.started, step.stage = State.IN_PROGRESS, 1, event.ran, 'coding'
        memory.log('step', f'Step {step.id} begins: {step.description}', event)
        memory.tick()

    def step_seconds(self, memory: Memory, event: Event) -> float:
        """Seconds for the step that begins: of what is left for steps, its share among those that are left.

        For the first step that is the execution's time by the number of steps; what a step saves goes to
        those after it. A step of a sub-plan has its share of the share that the blocked step has.
        """
        seconds = memory.clock.phase_ends - event.ran
        for name in memory.plan_stack:
            states = [memory.steps[step].status for step in memory.plans[name].steps]
            left = sum(state not in (State.COMPLETED, State.FAILED) for state in states)
            seconds = per_step(seconds, left)
        return seconds

    def take_code(self, memory: Memory, event: Event) -> None:
        """The coder's answer."""
        self._code(memory, CodeOutput.model_validate(event.data['output']), event)

    def stand_in_for_code(self, memory: Memory, event: Event) -> None:
        """The coder failed or was too slow; what it did is looked at all the same."""
        self._code(memory, fallback.code(fallback.problem_of(event)), event, fallback.problem_of(event))

    def keep_changes(self, memory: Memory, event: Event) -> None:
        """Which files the step has changed, and how."""
        memory.step.changed_files = tuple(event.data['files'])
        memory.changed_files = tuple(event.data['all'])
        memory.diff = str(event.data['diff'])
        memory.last_snapshot = str(event.data['snapshot'])

    def take_code_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor's answer."""
        verdict = CodeVerdict.model_validate(event.data['output'])
        self._judge(memory, 'code', verdict, Party.CODER, event)

    def stand_in_for_code_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor failed: the files decide."""
        self._judge(memory, 'code', None, Party.CODER, event)

    def approve_code(self, memory: Memory, event: Event) -> None:
        """It may be tested."""
        memory.step.stage = 'approved'

    def retry_step(self, memory: Memory, event: Event) -> None:
        """Another attempt, with what was wrong."""
        step = memory.step
        step.fail_reason = self._why(memory)
        said = f'Attempt {step.attempts} at step {step.id} was not accepted: {step.fail_reason}'
        memory.log('step', said, event)
        step.attempts += 1
        step.fix_cycles, step.stage, step.test_results = 0, 'coding', None

    def ask_for_sub_plan(self, memory: Memory, event: Event) -> None:
        """The step is blocked, and is planned anew in smaller ones."""
        step = memory.step
        step.status, step.fail_reason = State.BLOCKED, self._why(memory)
        memory.count(replan_count=1)
        said = f'Step {step.id} is blocked after {step.attempts} attempts: {step.fail_reason}'
        memory.send(MessageType.STEP_BLOCKED, Party.SUPERVISOR, Party.ORCHESTRATOR, said, event)
        memory.tick()
        memory.log('step', said, event)

    def fail_step(self, memory: Memory, event: Event) -> None:
        """No attempt is left, and no deeper plan."""
        self._over(memory, State.FAILED, event, self._why(memory))

    def fail_tests(self, memory: Memory, event: Event) -> None:
        """The tests still fail when the fixes are used up."""
        tests = memory.step.test_results
        said = tests.text.splitlines()[0] if tests and tests.text else 'the tests fail'
        reason = f'after {memory.step.fix_cycles} fix cycles: {said}'
        self._over(memory, State.FAILED, event, reason)

    def fail_step_by_time(self, memory: Memory, event: Event) -> None:
        """The step has had its time."""
        self._over(memory, State.FAILED, event, f'its time of {memory.clock.step_budget:.0f} seconds is over')

    def complete_step(self, memory: Memory, event: Event) -> None:
        """All conditions hold."""
        self._over(memory, State.COMPLETED, event)

    def take_tests(self, memory: Memory, event: Event) -> None:
        """What was really run."""
        memory.step.test_results = TestResult.model_validate(dict(event.data['tests']))

    def stand_in_for_tests(self, memory: Memory, event: Event) -> None:
        """The tests could not be run: they do not pass."""
        text = f'The tests could not be run: {fallback.problem_of(event)}'
        memory.step.test_results = TestResult(passed=False, text=text, degraded=True)

    def take_reading(self, memory: Memory, event: Event) -> None:
        """What the tester says of it."""
        self._read(memory, Reading.model_validate(event.data['output']), event)

    def stand_in_for_reading(self, memory: Memory, event: Event) -> None:
        """The tester failed: the failures themselves are the fix plan."""
        tests = memory.step.test_results
        assert tests is not None
        self._read(memory, fallback.reading(tests.passed, tests.text), event, fallback.problem_of(event))

    def take_fix_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor's answer."""
        verdict = Verdict.model_validate(event.data['output'])
        self._judge(memory, 'tests', verdict, Party.TESTER, event)

    def stand_in_for_fix_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor failed: the fix plan is carried out."""
        self._judge(memory, 'tests', None, Party.TESTER, event)

    def begin_fix(self, memory: Memory, event: Event) -> None:
        """Another fix cycle; what the supervisor demands of the fix plan is part of it."""
        step = memory.step
        step.fix_cycles += 1
        step.stage = 'coding'
        memory.count(fix_cycles=1)
        memory.clock.begin_fix(event.ran)
        if memory.verdict.issues:
            memory.agents[Party.CODER].guidance = 'On the fix plan: ' + '; '.join(memory.verdict.issues)

    def take_step_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor's answer."""
        verdict = StepVerdict.model_validate(event.data['output'])
        self._judge(memory, 'step', verdict, Party.CODER, event)

    def stand_in_for_step_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor failed: the tests decide."""
        self._judge(memory, 'step', None, Party.CODER, event)

    def _code(self, memory: Memory, output: CodeOutput, event: Event, problem: str = '') -> None:
        step = memory.step
        step.code_output, step.stage = output, 'coded'
        said = f'Blocked: {output.blocked}' if output.blocked else output.summary
        memory.answer(Party.CODER, MessageType.CODE_RESPONSE, said, event, problem=problem)

    def _read(self, memory: Memory, reading: Reading, event: Event, problem: str = '') -> None:
        tests = memory.step.test_results
        assert tests is not None
        plain = () if tests.sound else fallback.reading(tests.passed, tests.text).fix_plan
        kept = tests.model_copy(
            update={
                'claimed': None if problem else reading.passed, 'summary': reading.summary,
                'issues': reading.issues, 'coverage': reading.coverage,
                'fix_plan': reading.fix_plan or plain,
                'degraded': tests.degraded or bool(problem),
            }
        )  # fmt: skip
        memory.step.test_results = kept
        first = kept.text.splitlines()[0] if kept.text else ''
        memory.answer(
            Party.TESTER, MessageType.TEST_RESPONSE, f'{first}\n{reading.summary}', event, problem=problem
        )
        if kept.claimed is not None and kept.claimed != kept.passed:
            claim = 'pass' if kept.claimed else 'fail'
            memory.log(
                'error', f'The tester says that the tests {claim}; what was run says otherwise.', event
            )
        if not kept.sound:
            listed = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in kept.fix_plan)
            memory.send(MessageType.FIX_PLAN, Party.TESTER, Party.CODER, f'Fix plan:{listed}', event)

    def _facts(self, memory: Memory, gate: str) -> Facts:
        step = memory.step
        thresholds = {'code': self.parameters.code_threshold, 'step': self.parameters.step_threshold}
        tests = step.test_results
        return Facts(
            threshold=thresholds.get(gate, 0),
            changed=step.changed_files,
            blocked=bool(step.code_output and (step.code_output.blocked or step.code_output.asks_for_plan)),
            tests_pass=tests is not None and tests.passed,
        )

    def _judge(self, memory: Memory, gate: str, said: Verdict | None, agent: Party, event: Event) -> None:
        problem = '' if said is not None else fallback.problem_of(event)
        facts = self._facts(memory, gate)
        verdict = said if said is not None else fallback.verdict(gate, facts, problem)
        result = VerificationResult(
            gate=gate, score=verdict.score, approved=verdict.approved,
            conditions=conditions(gate, facts, verdict), level=Level.NONE, issues=verdict.issues,
            summary=verdict.summary, evidence=getattr(verdict, 'evidence', ''), degraded=bool(problem),
            threshold=facts.threshold or None,
        )  # fmt: skip
        memory.answer(Party.SUPERVISOR, MessageType.VERIFY_RESPONSE, verdict.summary, event, problem=problem)
        subjects = {'code': 'the code of', 'tests': 'the findings on', 'step': 'the work on'}
        memory.judge(result, agent, f'{subjects[gate]} step {memory.current_step}', event)
        if gate in ('code', 'step'):
            memory.step.verification_result = memory.verdict

    def _why(self, memory: Memory) -> str:
        step, verdict = memory.step, memory.verdict
        if step.code_output and step.code_output.blocked:
            return step.code_output.blocked
        said = '; '.join(verdict.issues) or verdict.summary
        held = ', '.join(name.replace('_', ' ') for name in verdict.held_back)
        return f'{said} (not met: {held})' if held else said

    def _over(self, memory: Memory, state: State, event: Event, reason: str = '') -> None:
        memory.finish_step(state, event, reason)
        memory.current_step = memory.diff = ''
