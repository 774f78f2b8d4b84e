"""Actions on plans (write, review, adopt) and steps (code, test, fix, verify, retry, give up)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.patterns.time_bounded import fallback
from engine.patterns.time_bounded.actions import replanning
from engine.patterns.time_bounded.escalation import Level
from engine.patterns.time_bounded.gates import GateFacts, evaluate_gate
from engine.patterns.time_bounded.plan import (
    ExecutionPlan,
    StepStatus,
    TestResult,
    VerificationResult,
    build_steps,
    validate_plan,
)
from engine.patterns.time_bounded.protocol import MessageType, Participant
from engine.patterns.time_bounded.schedule import seconds_per_step
from engine.patterns.time_bounded.schemas import (
    CodeOutput,
    CodeVerdict,
    PlanDraft,
    PlanVerdict,
    StepVerdict,
    Verdict,
)
from engine.patterns.time_bounded.schemas import TestReading as Reading
from engine.patterns.time_bounded.state import OrchestrationState as Memory
from engine.patterns.time_bounded.state import RunStatus
from engine.records import Event

JUDGED: Mapping[str, tuple[Participant, str]] = {
    'plan': (Participant.PLANNER, 'the plan'),
    'code': (Participant.CODER, 'the code of step {}'),
    'tests': (Participant.TESTER, 'the findings on step {}'),
    'step': (Participant.CODER, 'the work on step {}'),
    'goal': (Participant.CODER, 'the goal'),
}
"""By gate: whose work is judged, and what it is."""


class PlanActions:
    """Actions on plans and steps; a sub-plan follows the same path as the goal's plan."""

    parameters: Any

    def begin_planning(self, memory: Memory, event: Event) -> None:
        """Start a round with its planning."""
        memory.status = RunStatus.PLANNING
        memory.clock.begin_phase('planning', event.ran, memory.iteration)

    def take_plan(self, memory: Memory, event: Event) -> None:
        """Store the planner's answer."""
        self._draft(memory, PlanDraft.model_validate(event.data['output']), event)

    def stand_in_for_plan(self, memory: Memory, event: Event) -> None:
        """Stand in for the planner: use the simplest plan for the goal, otherwise none."""
        problem = fallback.describe_failure(event)
        if memory.current_step or memory.replanning:
            memory.draft = None
            kind = MessageType.SUBPLAN_RESPONSE if memory.current_step else MessageType.PLAN_RESPONSE
            memory.answer(Participant.PLANNER, kind, 'No plan.', event, problem=problem)
        else:
            self._draft(memory, fallback.plan(memory.primary_goal, problem), event, problem)

    def examine_plan(self, memory: Memory, event: Event) -> None:
        """Validate the plan's form; the planner gets one chance to correct it."""
        memory.problems = tuple(replanning.plan_problems(memory))
        if memory.problems and memory.repairs:
            memory.log('error', f'The plan cannot be used: {"; ".join(memory.problems)}', event)

    def settle_for_plainest(self, memory: Memory, event: Event) -> None:
        """Replace a plan that is still unsound with the simplest one."""
        problem = f'its plan cannot be used: {"; ".join(memory.problems)}'
        self._draft(memory, fallback.plan(memory.primary_goal, problem), event, problem)

    def take_plan_verdict(self, memory: Memory, event: Event) -> None:
        """Store the supervisor's verdict."""
        self._judge(memory, 'plan', PlanVerdict.model_validate(event.data['output']), event)

    def stand_in_for_plan_verdict(self, memory: Memory, event: Event) -> None:
        """Stand in for the supervisor: the plan's form decides."""
        self._judge_without_supervisor(memory, 'plan', event)

    def revise_plan(self, memory: Memory, event: Event) -> None:
        """Send the plan back to the planner with what must change."""
        memory.revisions += 1
        memory.repairs = 0
        memory.problems = tuple(memory.verdict.issues) or memory.verdict.held_back
        memory.count(replan_count=1)

    def adopt_plan(self, memory: Memory, event: Event) -> None:
        """Adopt the approved plan: its steps become those of the goal or the blocked step."""
        draft = memory.draft
        assert draft is not None
        if memory.replanning:
            replanning.adopt(memory, draft, event, self.parameters.max_attempts)
            self._clear(memory)
            return
        blocked = memory.step if memory.current_step else None
        number = len(memory.plans) + 1
        prefix = f'{blocked.id}.' if blocked else f'r{memory.iteration}.' if memory.iteration > 1 else ''
        names = tuple(f'{prefix}{index}' for index in range(1, len(draft.steps) + 1))
        plan = ExecutionPlan(
            id=f'plan-{number}',
            goal=blocked.description if blocked else memory.primary_goal,
            analysis=draft.analysis,
            steps=names,
            depth=blocked.depth + 1 if blocked else 0,
            parent_plan_id=blocked.plan_id if blocked else '',
            parent_step_id=blocked.id if blocked else '',
            status=StepStatus.IN_PROGRESS,
            degraded=memory.verdict.degraded if memory.verifications else True,
        )
        attempts = self.parameters.max_attempts
        memory.steps.update(build_steps(draft, plan, prefix=prefix, first=1, max_attempts=attempts))
        memory.plans[plan.id] = plan
        memory.plan_stack = (*memory.plan_stack, plan.id) if blocked else (plan.id,)
        memory.count(total_steps=len(names))
        if blocked:
            blocked.sub_steps = names
        memory.current_step, memory.stage = '', 'executing'
        memory.tick()
        self._clear(memory)

    def settle_for_plan(self, memory: Memory, event: Event) -> None:
        """Adopt the plan, or the simplest one if its form is unsound, because planning time is up."""
        problem = 'the time for planning is over'
        if memory.draft is None or validate_plan(memory.draft):
            self._draft(memory, fallback.plan(memory.primary_goal, problem), event, problem)
        self._judge_without_supervisor(memory, 'plan', event, problem)
        self.adopt_plan(memory, event)

    def drop_sub_plan(self, memory: Memory, event: Event) -> None:
        """Give up a sub-plan: fail the blocked step, or leave the pending ones as they were."""
        if memory.replanning:
            replanning.give_up(memory, event)
            self._clear(memory)
            return
        reason = memory.step.fail_reason
        memory.finish_step(StepStatus.FAILED, event, f'{reason}; and no plan for it was approved')
        memory.current_step = ''
        self._clear(memory)

    def begin_replanning(self, memory: Memory, event: Event) -> None:
        """Replan the pending steps, within this round."""
        replanning.begin(memory, event, self.parameters.max_failed_steps, self.parameters.max_replans)

    def fail_plan(self, memory: Memory, event: Event) -> None:
        """Fail the run: no plan for the goal was approved."""
        memory.ending = RunStatus.FAILED
        memory.reason = f'No plan was approved: {memory.verdict.explanation}'
        memory.end(event)

    def _draft(self, memory: Memory, draft: PlanDraft, event: Event, problem: str = '') -> None:
        if memory.problems and memory.draft is not None:
            memory.repairs += 1
        memory.draft = draft
        kind = MessageType.SUBPLAN_RESPONSE if memory.current_step else MessageType.PLAN_RESPONSE
        listed = '\n'.join(
            f'{number}. {step.description}' for number, step in enumerate(draft.steps, start=1)
        )
        text = f'{draft.analysis}\n{listed}'
        memory.answer(Participant.PLANNER, kind, text, event, problem=problem, payload=draft)

    def _clear(self, memory: Memory) -> None:
        memory.draft, memory.problems = None, ()
        memory.repairs = memory.revisions = 0

    def begin_step(self, memory: Memory, event: Event) -> None:
        """Start the next ready step, with its share of the time."""
        step = memory.next_step(self.parameters.max_failed_steps)
        assert step is not None
        plan = memory.plan
        plan.current_step_index = plan.steps.index(step.id)
        memory.current_step, memory.step_base = step.id, memory.last_snapshot
        memory.clock.begin_step(event.ran, self.step_seconds(memory, event))
        step.status, step.attempts, step.started, step.stage = StepStatus.IN_PROGRESS, 1, event.ran, 'coding'
        memory.log('step', f'Step {step.id} begins: {step.description}', event)
        memory.tick()

    def step_seconds(self, memory: Memory, event: Event) -> float:
        """Return the seconds for the step that begins: its share of the time left, among the steps left.

        For the first step, that is the execution time divided by the number of steps; time a step saves goes
        to later ones. A sub-plan's step gets its share of the blocked step's share.
        """
        clock = memory.clock
        seconds = clock.phase_ends - event.ran
        if clock.flows and seconds < clock.allocation.verifying:  # The last steps draw on the reserved time.
            seconds = clock.ends - event.ran
        share = seconds
        for name in memory.plan_stack:
            states = [memory.steps[step].status for step in memory.plans[name].steps]
            left = sum(state not in (StepStatus.COMPLETED, StepStatus.FAILED) for state in states)
            share = seconds_per_step(share, left)
        return clock.ends - event.ran if clock.flows and share == seconds else share

    def take_code(self, memory: Memory, event: Event) -> None:
        """Store the coder's answer."""
        self._code(memory, CodeOutput.model_validate(event.data['output']), event)

    def stand_in_for_code(self, memory: Memory, event: Event) -> None:
        """Stand in for the coder; its changes are checked all the same."""
        self._code(
            memory, fallback.code(fallback.describe_failure(event)), event, fallback.describe_failure(event)
        )

    def keep_changes(self, memory: Memory, event: Event) -> None:
        """Store which files the step changed, and how."""
        memory.step.changed_files = tuple(event.data['files'])
        memory.changed_files = tuple(event.data['all'])
        memory.diff = str(event.data['diff'])
        memory.last_snapshot = str(event.data['snapshot'])

    def take_code_verdict(self, memory: Memory, event: Event) -> None:
        """Store the supervisor's verdict."""
        self._judge(memory, 'code', CodeVerdict.model_validate(event.data['output']), event)

    def stand_in_for_code_verdict(self, memory: Memory, event: Event) -> None:
        """Stand in for the supervisor: the files decide."""
        self._judge_without_supervisor(memory, 'code', event)

    def approve_code(self, memory: Memory, event: Event) -> None:
        """Approve the code for testing."""
        memory.step.stage = 'approved'

    def retry_step(self, memory: Memory, event: Event) -> None:
        """Retry the step, with the reason it was rejected."""
        step = memory.step
        step.fail_reason = self._describe_refusal(memory)
        text = f'Attempt {step.attempts} at step {step.id} was not accepted: {step.fail_reason}'
        memory.log('step', text, event)
        step.attempts += 1
        step.fix_cycles, step.stage, step.test_results = 0, 'coding', None

    def ask_for_sub_plan(self, memory: Memory, event: Event) -> None:
        """Mark the step as blocked, to be replanned in smaller steps."""
        step = memory.step
        step.status, step.fail_reason = StepStatus.BLOCKED, self._describe_refusal(memory)
        memory.count(replan_count=1)
        text = f'Step {step.id} is blocked after {step.attempts} attempts: {step.fail_reason}'
        memory.send(MessageType.STEP_BLOCKED, Participant.SUPERVISOR, Participant.ORCHESTRATOR, text, event)
        memory.tick()
        memory.log('step', text, event)

    def fail_step(self, memory: Memory, event: Event) -> None:
        """Fail the step: no attempt and no deeper plan is left."""
        self._finish_step(memory, StepStatus.FAILED, event, self._describe_refusal(memory))

    def fail_tests(self, memory: Memory, event: Event) -> None:
        """Fail the step: its tests still fail after the last fix."""
        tests = memory.step.test_results
        headline = tests.text.splitlines()[0] if tests and tests.text else 'the tests fail'
        if tests and tests.passed:
            headline = '; '.join(f'{issue.severity}: {issue.text}' for issue in tests.critical)
        cycles = memory.step.fix_cycles
        reason = f'after {cycles} fix cycle{"" if cycles == 1 else "s"}: {headline}'
        self._finish_step(memory, StepStatus.FAILED, event, reason)

    def fail_step_by_time(self, memory: Memory, event: Event) -> None:
        """Fail the step: its time is up."""
        self._finish_step(
            memory, StepStatus.FAILED, event, f'its time of {memory.clock.step_budget:.0f} seconds is over'
        )

    def complete_step(self, memory: Memory, event: Event) -> None:
        """Complete the step: all conditions hold."""
        self._finish_step(memory, StepStatus.COMPLETED, event)

    def take_tests(self, memory: Memory, event: Event) -> None:
        """Store the results of the tests that ran."""
        memory.step.test_results = TestResult.model_validate(dict(event.data['tests']))

    def stand_in_for_tests(self, memory: Memory, event: Event) -> None:
        """Count tests that could not be run as failed."""
        text = f'The tests could not be run: {fallback.describe_failure(event)}'
        memory.step.test_results = TestResult(passed=False, text=text, degraded=True)

    def take_reading(self, memory: Memory, event: Event) -> None:
        """Store the tester's reading of the results."""
        self._keep_reading(memory, Reading.model_validate(event.data['output']), event)

    def stand_in_for_reading(self, memory: Memory, event: Event) -> None:
        """Stand in for the tester: the failures themselves are the fix plan."""
        tests = memory.step.test_results
        assert tests is not None
        self._keep_reading(
            memory, fallback.reading(tests.passed, tests.text), event, fallback.describe_failure(event)
        )

    def take_fix_verdict(self, memory: Memory, event: Event) -> None:
        """Store the supervisor's verdict."""
        self._judge(memory, 'tests', Verdict.model_validate(event.data['output']), event)

    def stand_in_for_fix_verdict(self, memory: Memory, event: Event) -> None:
        """Stand in for the supervisor: carry out the fix plan."""
        self._judge_without_supervisor(memory, 'tests', event)

    def begin_fix(self, memory: Memory, event: Event) -> None:
        """Start another fix cycle; the coder also gets the supervisor's demands."""
        step = memory.step
        step.fix_cycles += 1
        step.stage = 'coding'
        memory.count(fix_cycles=1)
        memory.clock.begin_fix(event.ran)
        if memory.verdict.issues:
            memory.agents[Participant.CODER].guidance = 'On the fix plan: ' + '; '.join(memory.verdict.issues)

    def take_step_verdict(self, memory: Memory, event: Event) -> None:
        """Store the supervisor's verdict."""
        verdict = StepVerdict.model_validate(event.data['output'])
        if memory.rules >= 4 and verdict.replan:
            memory.replan = verdict.replan
        self._judge(memory, 'step', verdict, event)

    def stand_in_for_step_verdict(self, memory: Memory, event: Event) -> None:
        """Stand in for the supervisor: the tests decide."""
        self._judge_without_supervisor(memory, 'step', event)

    def _code(self, memory: Memory, output: CodeOutput, event: Event, problem: str = '') -> None:
        step = memory.step
        step.code_output, step.stage = output, 'coded'
        text = f'Blocked: {output.blocked}' if output.blocked else output.summary
        memory.answer(
            Participant.CODER, MessageType.CODE_RESPONSE, text, event, problem=problem, payload=output
        )

    def _keep_reading(self, memory: Memory, reading: Reading, event: Event, problem: str = '') -> None:
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
            Participant.TESTER,
            MessageType.TEST_RESPONSE,
            f'{first}\n{reading.summary}',
            event,
            problem=problem,
            payload=kept,
        )
        if kept.claimed is not None and kept.claimed != kept.passed:
            claim = 'pass' if kept.claimed else 'fail'
            memory.log(
                'error', f'The tester says that the tests {claim}; what was run says otherwise.', event
            )
        if not kept.sound:
            listed = ''.join(f'\n- {fix.file}: {fix.instruction}' for fix in kept.fix_plan)
            memory.send(
                MessageType.FIX_PLAN, Participant.TESTER, Participant.CODER, f'Fix plan:{listed}', event,
                payload=kept.fix_plan,
            )  # fmt: skip

    def _facts(self, memory: Memory, gate: str) -> GateFacts:
        parameters = self.parameters
        if gate == 'plan':
            return GateFacts(
                threshold=parameters.plan_threshold,
                draft=memory.draft,
                fewest=replanning.fewest_steps(memory),
            )
        if gate == 'goal':
            return GateFacts(
                threshold=parameters.goal_threshold,
                tests_pass=memory.final_pass,
                left_over=len(memory.unfinished_steps),
                acceptable=parameters.max_failed_steps,
            )
        step, thresholds = memory.step, {'code': parameters.code_threshold, 'step': parameters.step_threshold}
        tests = step.test_results
        return GateFacts(
            threshold=thresholds.get(gate, 0),
            changed=step.changed_files,
            blocked=bool(step.code_output and (step.code_output.blocked or step.code_output.asks_for_plan)),
            tests_pass=tests is not None and tests.passed,
        )

    def _judge_without_supervisor(self, memory: Memory, gate: str, event: Event, problem: str = '') -> None:
        problem = problem or fallback.describe_failure(event)
        self._judge(memory, gate, fallback.verdict(gate, self._facts(memory, gate), problem), event, problem)

    def _judge(self, memory: Memory, gate: str, verdict: Verdict, event: Event, problem: str = '') -> None:
        facts = self._facts(memory, gate)
        result = VerificationResult(
            gate=gate, score=verdict.score, approved=verdict.approved,
            conditions=evaluate_gate(gate, facts, verdict), level=Level.NONE,
            issues=(*verdict.issues, *getattr(verdict, 'missing', ())),
            summary=verdict.summary, evidence=getattr(verdict, 'evidence', ''), degraded=bool(problem),
            threshold=facts.threshold if gate in ('plan', 'goal') else facts.threshold or None,
        )  # fmt: skip
        agent, subject = JUDGED[gate]
        memory.judge(result, agent, subject.format(memory.current_step), event, problem)
        if gate in ('code', 'step'):
            memory.step.verification_result = memory.verdict

    def _describe_refusal(self, memory: Memory) -> str:
        step, verdict = memory.step, memory.verdict
        if step.code_output and step.code_output.blocked:
            return step.code_output.blocked
        reason = '; '.join(verdict.issues) or verdict.summary
        held = ', '.join(name.replace('_', ' ') for name in verdict.held_back)
        return f'{reason} (not met: {held})' if held else reason

    def _finish_step(self, memory: Memory, state: StepStatus, event: Event, reason: str = '') -> None:
        memory.finish_step(state, event, reason)
        memory.current_step = memory.diff = ''
