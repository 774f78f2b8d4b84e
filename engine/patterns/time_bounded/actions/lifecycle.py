"""Actions around the steps: time checks, phases, rounds, the goal, and every way to end."""

from __future__ import annotations

from typing import Any

from engine.patterns.time_bounded import fallback
from engine.patterns.time_bounded.actions.plans import PlanActions
from engine.patterns.time_bounded.escalation import Level
from engine.patterns.time_bounded.gates import GATE_TITLES
from engine.patterns.time_bounded.plan import StepStatus, VerificationResult
from engine.patterns.time_bounded.protocol import MessageType, Participant
from engine.patterns.time_bounded.report import build_report, render_report
from engine.patterns.time_bounded.schemas import GoalVerdict
from engine.patterns.time_bounded.state import OrchestrationState as Memory
from engine.patterns.time_bounded.state import RunStatus
from engine.records import Event


class LifecycleActions(PlanActions):
    """Actions on the whole run."""

    parameters: Any

    def check_time(self, memory: Memory, event: Event) -> None:
        """Check the time left before a round; the first check starts the clock."""
        clock = memory.clock
        if not memory.iteration:
            memory.start_time, memory.iteration = event.time, 1
            seconds = self.parameters.minutes * 60.0
            memory.time_limit = clock.limit = seconds
            clock.ends, clock.grace = event.ran + seconds, float(self.parameters.grace)
            clock.begin_round(event.ran)
        memory.log('time check', f'{max(0.0, clock.seconds_left(event.ran)):.0f} seconds are left.', event)

    def keep_project(self, memory: Memory, event: Event) -> None:
        """Store the project's initial state once it is in the folder."""
        memory.base = memory.last_snapshot = str(event.data['snapshot'])
        memory.id = str(event.data.get('run', ''))

    def enter_executing(self, memory: Memory, event: Event) -> None:
        """Start executing the plan; a sub-plan for a blocked step does not restart the phase."""
        memory.status, memory.stage = RunStatus.EXECUTING, 'executing'
        if memory.clock.phase != 'executing':
            memory.clock.begin_phase('executing', event.ran, memory.iteration)
            if memory.current_step and memory.step.status is StepStatus.IN_PROGRESS:
                memory.clock.begin_step(event.ran, self.step_seconds(memory, event))

    def look_at_plan(self, memory: Memory, event: Event) -> None:
        """Log the time left before each step."""
        left = max(0.0, memory.clock.hard_end - event.ran)
        memory.log('time check', f'{left:.0f} seconds are left for steps.', event)

    def close_sub_plan(self, memory: Memory, event: Event) -> None:
        """Close a finished sub-plan, and its blocked step with it."""
        plan = memory.plan
        failed = [name for name in plan.steps if memory.steps[name].status is not StepStatus.COMPLETED]
        plan.status = StepStatus.FAILED if failed else StepStatus.COMPLETED
        memory.plan_stack = memory.plan_stack[:-1]
        memory.current_step = plan.parent_step_id
        if failed:
            memory.finish_step(StepStatus.FAILED, event, f'of its own plan, {", ".join(failed)} failed')
        elif memory.current_rules:
            self._resume_blocked_step(memory, event)
            return
        else:
            memory.finish_step(StepStatus.COMPLETED, event)
        memory.current_step = ''

    def _resume_blocked_step(self, memory: Memory, event: Event) -> None:
        """Test and verify a step like any other once its sub-plan is done."""
        step = memory.step
        parts = [memory.steps[name] for name in step.sub_steps]
        step.status, step.stage, step.fail_reason = StepStatus.IN_PROGRESS, 'approved', ''
        step.changed_files = tuple(sorted({path for part in parts for path in part.changed_files}))
        step.fix_cycles, step.test_results = 0, None
        memory.clock.begin_step(event.ran, self.step_seconds(memory, event))
        memory.log('step', f'The plan of step {step.id} is carried out: the step is verified.', event)
        memory.tick()

    def close_plan(self, memory: Memory, event: Event) -> None:
        """Close the plan once no step is left; its outcome is verified next."""
        self._close(memory)

    def escalate_failures(self, memory: Memory, event: Event) -> None:
        """Intervene because too many steps failed, and end the plan."""
        memory.too_many_failures = True
        reason = f'More than {self.parameters.max_failed_steps} steps failed: the plan is not gone on with.'
        if memory.current_rules:
            self._warn_of_failures(memory, event)
            self._close(memory)
            return
        result = VerificationResult(gate='goal', score=0, approved=False, conditions=(), level=Level.CRITICAL)
        memory.intervene(
            Level.CRITICAL, Participant.ALL, reason, result, ['Plan what is missing in another way.'], event
        )
        self._close(memory)

    def _warn_of_failures(self, memory: Memory, event: Event) -> None:
        failed, count = memory.failed_steps, len(memory.plans[memory.plan_stack[0]].steps)
        most = self.parameters.max_failed_steps
        warning = f'{len(failed)} of {count} steps failed ({", ".join(failed)}), and at most {most} may.'
        memory.warn(f'{warning} The plan ends here: plan what is missing in another way.', event)

    def enter_verifying(self, memory: Memory, event: Event) -> None:
        """Start verifying the goal."""
        memory.status, memory.stage = RunStatus.VERIFYING, 'verifying'
        memory.clock.begin_phase('verifying', event.ran, memory.iteration)

    def take_final_tests(self, memory: Memory, event: Event) -> None:
        """Store the results of the full test run."""
        memory.final_tests, memory.final_pass = event.data['tests']['text'], event.data['tests']['passed']

    def stand_in_for_final_tests(self, memory: Memory, event: Event) -> None:
        """Count tests that could not be run as failed."""
        memory.final_tests, memory.final_pass = (
            f'They could not be run: {fallback.describe_failure(event)}',
            False,
        )

    def take_goal_verdict(self, memory: Memory, event: Event) -> None:
        """Store the supervisor's verdict."""
        self._judge(memory, 'goal', GoalVerdict.model_validate(event.data['output']), event)

    def stand_in_for_goal_verdict(self, memory: Memory, event: Event) -> None:
        """Stand in for the supervisor: nobody confirms the goal."""
        self._judge_without_supervisor(memory, 'goal', event)

    def reach_goal(self, memory: Memory, event: Event) -> None:
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

    def skip_goal(self, memory: Memory, event: Event) -> None:
        """End without verification, which a person skipped: the steps decide."""
        left = len(memory.unfinished_steps)
        good = left <= self.parameters.max_failed_steps
        memory.ending = RunStatus.COMPLETED if good else RunStatus.FAILED
        memory.reason = (
            f'A person skipped the verification of the goal; {left or "no"} steps are not complete.'
        )
        if memory.rules >= 5:
            lacks = f'{_count(left, "step")} {"is" if left == 1 else "are"} not complete'
            stand = lacks if left else 'all steps are complete'
            memory.reason = f'A person skipped the verification of the goal; {stand}.'
        if good:
            memory.send(
                MessageType.GOAL_COMPLETE,
                Participant.ORCHESTRATOR,
                Participant.ORCHESTRATOR,
                memory.reason,
                event,
            )
        memory.end(event)

    def begin_round(self, memory: Memory, event: Event) -> None:
        """Start another round, which plans what is missing, with the time left."""
        memory.findings = self._missing(memory)
        memory.iteration += 1
        memory.clock.end_phase(event.ran, memory.iteration - 1)
        memory.clock.begin_round(event.ran)
        memory.stage, memory.plan_stack, memory.current_step = 'planning', (), ''
        memory.too_many_failures = False
        memory.replan, memory.replans = '', 0
        if memory.replanning:
            memory.replanning, memory.draft = False, None
        memory.count(replan_count=1)

    def miss_goal(self, memory: Memory, event: Event) -> None:
        """Fail the run: the goal is not reached, and nothing is left to try."""
        memory.ending = RunStatus.FAILED
        rounds = _count(memory.iteration, 'round')
        memory.reason = f'The goal is not reached after {rounds}: {memory.verdict.explanation}'
        memory.end(event)

    def break_off(self, memory: Memory, event: Event) -> None:
        """Fail on an error that nothing else handles."""
        memory.ending, memory.reason = RunStatus.FAILED, fallback.describe_failure(event)
        memory.log('error', memory.reason, event)
        memory.end(event)

    def abort(self, memory: Memory, event: Event) -> None:
        """End the session on the supervisor's order."""
        memory.ending = RunStatus.ABORTED
        memory.reason = f'The supervisor ended the session after {memory.issues} issues in a row.'
        if memory.current_rules:
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

    def expire(self, memory: Memory, event: Event) -> None:
        """End because time is up or a person asked to finish."""
        if memory.finishing:
            self.finish_early(memory, event)
            return
        clock = memory.clock
        share = clock.phase == 'executing' and event.ran < clock.ends
        of = f'{clock.limit:.0f} seconds'
        self._wait_for_time(
            memory,
            event,
            f'The time for steps, out of {of}, is over.' if share else f'The time of {of} is over.',
        )

    def expire_between_rounds(self, memory: Memory, event: Event) -> None:
        """Wait for more time: the goal is not reached, and too little is left for another round."""
        reason, limit = memory.verdict.explanation, memory.clock.limit
        left = memory.clock.seconds_left(event.ran)
        self.begin_round(memory, event)
        if memory.rules < 5 or memory.finishing:
            self.expire(memory, event)
            return
        self._wait_for_time(
            memory,
            event,
            f'The goal is not reached: {reason}. '
            f'What is left of {limit:.0f} seconds, {max(0.0, left):.0f}, is too little for another round.',
        )

    def _wait_for_time(self, memory: Memory, event: Event, reason: str) -> None:
        waits = self.parameters.wait_for_time > 0
        memory.ending, memory.resumable = RunStatus.TIME_EXPIRED, waits or not memory.current_rules
        memory.reason = reason
        memory.end(event)

    def run_out(self, memory: Memory, event: Event) -> None:
        """Fail the run: its budget of tokens, money or time is spent."""
        memory.ending, memory.reason = RunStatus.FAILED, fallback.describe_failure(event)
        memory.end(event)

    def finish_early(self, memory: Memory, event: Event) -> None:
        """Complete the run early, at a person's request."""
        memory.ending, memory.resumable = RunStatus.COMPLETED, False
        memory.reason = f'A person finished it early: {_progress(memory)}.'
        memory.end(event)

    def ask_to_finish(self, memory: Memory, event: Event) -> None:
        """Record a person's request to finish: work under way may end, and nothing new begins."""
        memory.finishing = True
        memory.log('person', 'Finish now.', event)

    def finish_stopped(self, memory: Memory, event: Event) -> None:
        """Complete a stopped run as is, since a person grants no more time."""
        memory.ending, memory.resumable = RunStatus.COMPLETED, False
        memory.reason = f'A person finished it when its time was over: {_progress(memory)}.'
        memory.log('person', 'Finish now.', event)
        memory.end(event)
        self.write_report(memory, event)

    def add_time(self, memory: Memory, event: Event) -> None:
        """Add time that a person grants during the run; this withdraws a request to finish."""
        seconds = float(event.data['seconds'])
        memory.clock.add(seconds, event.time, event.ran)
        memory.time_limit = memory.clock.limit
        again = memory.finishing and memory.rules >= 5
        if again:
            memory.finishing = False
        memory.log('person', f'{seconds:.0f} seconds more{", and it goes on" if again else ""}.', event)

    def ask_to_replan(self, memory: Memory, event: Event) -> None:
        """Record a person's request to replan the pending steps."""
        memory.replan = str(event.data.get('why') or '') or 'A person asks for another plan of them.'
        memory.log('person', f'Plan the steps that are left anew: {memory.replan}', event)

    def skip_verification(self, memory: Memory, event: Event) -> None:
        """Record that a person skips the verification of the goal."""
        memory.skip_verification = True
        memory.log('person', 'Skip the verification of the goal.', event)

    def resume(self, memory: Memory, event: Event) -> None:
        """Resume where the run stopped, with the time that a person grants."""
        seconds = float(event.data['seconds'])
        memory.clock.go_on(seconds, event.time, event.ran)
        memory.time_limit, memory.end_time, memory.report = memory.clock.limit, None, ''
        memory.ending = memory.reason = ''
        memory.resumable = memory.finishing = False
        memory.caveat = ''
        memory.log('person', f'It goes on, with {seconds:.0f} seconds.', event)

    def write_report(self, memory: Memory, event: Event) -> None:
        """Write the final report."""
        memory.report = render_report(build_report(memory.model_dump(mode='json')))

    def stop_waiting(self, memory: Memory, event: Event) -> None:
        """Stop waiting for more time; the final report does not ask for any."""
        if memory.current_rules:
            memory.resumable = False
            memory.abandon(event)
        self.write_report(memory, event)

    def _close(self, memory: Memory) -> None:
        """Close every plan on the stack; no step remains under way."""
        for name in reversed(memory.plan_stack):
            plan = memory.plans[name]
            plan.status = StepStatus.COMPLETED if memory.is_complete(plan) else StepStatus.FAILED
        memory.current_step = ''

    def _missing(self, memory: Memory) -> tuple[str, ...]:
        """Return what the next plan must cover."""
        failed = [
            f'step {step.id} ({step.description}): {step.fail_reason}'
            for step in memory.steps.values()
            if step.status is StepStatus.FAILED and not step.sub_steps and step.id not in memory.superseded
        ]
        return (*memory.verdict.issues, *failed) or (memory.verdict.summary,)


def _count(number: int, one: str) -> str:
    return f'{number} {one}' if number == 1 else f'{number} {one}s'


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
