"""The actions around the steps: time checks, phases, rounds, the goal, and every way to end."""

from __future__ import annotations

from typing import Any

from engine.bounded import fallback
from engine.bounded.answers import GoalVerdict
from engine.bounded.escalation import Level
from engine.bounded.gates import Facts, conditions
from engine.bounded.plan import State, VerificationResult
from engine.bounded.protocol import MessageType, Party
from engine.bounded.report import markdown, report_of
from engine.bounded.state import OrchestrationState as Memory
from engine.bounded.state import RunStatus
from engine.bounded.stepping import Stepping
from engine.records import Event


class Ending(Stepping):
    """Actions on the run as a whole."""

    parameters: Any

    def check_time(self, memory: Memory, event: Event) -> None:
        """How much is left before a round; the first check begins the clock."""
        clock = memory.clock
        if not memory.iteration:
            memory.start_time, memory.iteration = event.time, 1
            seconds = self.parameters.minutes * 60.0
            memory.time_limit = clock.limit = seconds
            clock.ends, clock.grace = event.ran + seconds, float(self.parameters.grace)
            clock.begin_round(event.ran)
        memory.log('time check', f'{max(0.0, clock.left(event.ran)):.0f} seconds are left.', event)

    def keep_project(self, memory: Memory, event: Event) -> None:
        """The project lies in the folder; what it was is kept."""
        memory.base = memory.last_snapshot = str(event.data['snapshot'])

    def enter_executing(self, memory: Memory, event: Event) -> None:
        """The plan is carried out; a plan for a blocked step does not begin the phase anew."""
        memory.status, memory.stage = RunStatus.EXECUTING, 'executing'
        if memory.clock.phase != 'executing':
            memory.clock.begin_phase('executing', event.ran, memory.iteration)
            if memory.current_step and memory.step.status is State.IN_PROGRESS:
                memory.clock.begin_step(event.ran, self.step_seconds(memory, event))

    def look_at_plan(self, memory: Memory, event: Event) -> None:
        """Before each step, the time is looked at."""
        left = max(0.0, min(memory.clock.left(event.ran), memory.clock.phase_ends - event.ran))
        memory.log('time check', f'{left:.0f} seconds are left for steps.', event)

    def close_sub_plan(self, memory: Memory, event: Event) -> None:
        """The plan of a blocked step is over: so is the step."""
        plan = memory.plan
        failed = [name for name in plan.steps if memory.steps[name].status is not State.COMPLETED]
        plan.status = State.FAILED if failed else State.COMPLETED
        memory.plan_stack = memory.plan_stack[:-1]
        memory.current_step = plan.parent_step_id
        if failed:
            memory.finish_step(State.FAILED, event, f'of its own plan, {", ".join(failed)} failed')
        else:
            memory.finish_step(State.COMPLETED, event)
        memory.current_step = ''

    def close_plan(self, memory: Memory, event: Event) -> None:
        """No step is left: what became of them is verified."""
        self._close(memory)

    def escalate_failures(self, memory: Memory, event: Event) -> None:
        """Too many steps failed: the supervisor steps in, and the plan ends here."""
        memory.too_many_failures = True
        said = f'More than {self.parameters.max_failed_steps} steps failed: the plan is not gone on with.'
        result = VerificationResult(gate='goal', score=0, approved=False, conditions=(), level=Level.CRITICAL)
        memory.intervene(
            Level.CRITICAL, Party.ALL, said, result, ['Plan what is missing in another way.'], event
        )
        self._close(memory)

    def enter_verifying(self, memory: Memory, event: Event) -> None:
        """The goal is verified."""
        memory.status, memory.stage = RunStatus.VERIFYING, 'verifying'
        memory.clock.begin_phase('verifying', event.ran, memory.iteration)

    def take_final_tests(self, memory: Memory, event: Event) -> None:
        """What came of all tests together."""
        memory.final_tests, memory.final_pass = event.data['tests']['text'], event.data['tests']['passed']

    def stand_in_for_final_tests(self, memory: Memory, event: Event) -> None:
        """They could not be run: they do not pass."""
        memory.final_tests, memory.final_pass = f'They could not be run: {fallback.problem_of(event)}', False

    def take_goal_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor's answer."""
        self._judge_goal(memory, GoalVerdict.model_validate(event.data['output']), event)

    def stand_in_for_goal_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor failed: nobody confirms the goal."""
        verdict = fallback.verdict('goal', self._goal_facts(memory), fallback.problem_of(event))
        assert isinstance(verdict, GoalVerdict)
        self._judge_goal(memory, verdict, event, fallback.problem_of(event))

    def reach_goal(self, memory: Memory, event: Event) -> None:
        """All conditions hold."""
        memory.verified, memory.ending, memory.reason = True, RunStatus.COMPLETED, memory.verdict.summary
        memory.send(
            MessageType.GOAL_COMPLETE, Party.SUPERVISOR, Party.ORCHESTRATOR, memory.verdict.summary, event
        )
        self.end(memory, event)

    def skip_goal(self, memory: Memory, event: Event) -> None:
        """A person does not want the goal verified: the steps decide."""
        left = self._goal_facts(memory).left_over
        good = left <= self.parameters.max_failed_steps
        memory.ending = RunStatus.COMPLETED if good else RunStatus.FAILED
        memory.reason = (
            f'A person skipped the verification of the goal; {left or "no"} steps are not complete.'
        )
        if good:
            memory.send(
                MessageType.GOAL_COMPLETE, Party.ORCHESTRATOR, Party.ORCHESTRATOR, memory.reason, event
            )
        self.end(memory, event)

    def begin_round(self, memory: Memory, event: Event) -> None:
        """The goal is not reached: what is missing is planned, with the time that is left."""
        memory.findings = self._missing(memory)
        memory.iteration += 1
        memory.clock.end_phase(event.ran, memory.iteration - 1)
        memory.clock.begin_round(event.ran)
        memory.stage, memory.plan_stack, memory.current_step = 'planning', (), ''
        memory.too_many_failures = False
        memory.count(replan_count=1)

    def miss_goal(self, memory: Memory, event: Event) -> None:
        """The goal is not reached, and nothing is left to try."""
        said = memory.verdict.summary if memory.verifications else fallback.problem_of(event)
        memory.ending, memory.reason = RunStatus.FAILED, f'The goal is not reached: {said}'
        self.end(memory, event)

    def break_off(self, memory: Memory, event: Event) -> None:
        """Something went wrong that nothing is there for."""
        memory.ending, memory.reason = RunStatus.FAILED, fallback.problem_of(event)
        memory.log('error', memory.reason, event)
        self.end(memory, event)

    def abort(self, memory: Memory, event: Event) -> None:
        """The supervisor has ended the session."""
        memory.ending = RunStatus.ABORTED
        memory.reason = f'The supervisor ended the session after {memory.issues} issues in a row.'
        memory.send(MessageType.ABORT, Party.SUPERVISOR, Party.ALL, memory.reason, event)
        self.end(memory, event)

    def expire(self, memory: Memory, event: Event) -> None:
        """The time is over."""
        clock = memory.clock
        memory.ending, memory.resumable = RunStatus.TIME_EXPIRED, True
        share = clock.phase == 'executing' and event.ran < clock.ends
        of = f'{clock.limit:.0f} seconds'
        memory.reason = (
            f'The time for steps, out of {of}, is over.' if share else f'The time of {of} is over.'
        )
        self.end(memory, event)

    def expire_between_rounds(self, memory: Memory, event: Event) -> None:
        """The goal is not reached, and too little time is left for another round."""
        self.begin_round(memory, event)
        self.expire(memory, event)

    def run_out(self, memory: Memory, event: Event) -> None:
        """The run's budget of tokens, money or time is spent."""
        memory.ending, memory.reason = RunStatus.FAILED, fallback.problem_of(event)
        self.end(memory, event)

    def finish_early(self, memory: Memory, event: Event) -> None:
        """A person ends it now."""
        memory.ending, memory.resumable = RunStatus.TIME_EXPIRED, False
        memory.reason = 'A person ended it before its time was over.'
        memory.log('person', 'Finish now.', event)
        self.end(memory, event)

    def add_time(self, memory: Memory, event: Event) -> None:
        """A person gives more time while it runs."""
        seconds = float(event.data['seconds'])
        memory.clock.add(seconds, event.time, event.ran)
        memory.time_limit = memory.clock.limit
        memory.log('person', f'{seconds:.0f} seconds more.', event)

    def skip_verification(self, memory: Memory, event: Event) -> None:
        """A person does not want the goal verified."""
        memory.skip_verification = True
        memory.log('person', 'Skip the verification of the goal.', event)

    def resume(self, memory: Memory, event: Event) -> None:
        """More time after it was over: it goes on where it was."""
        seconds = float(event.data['seconds'])
        memory.clock.go_on(seconds, event.time, event.ran)
        memory.time_limit, memory.end_time, memory.report = memory.clock.limit, None, ''
        memory.ending = memory.reason = ''
        memory.resumable = False
        memory.log('person', f'It goes on, with {seconds:.0f} seconds.', event)

    def end(self, memory: Memory, event: Event) -> None:
        """Whatever the reason, the clock stops here."""
        memory.clock.stop(event.ran, memory.iteration)
        memory.status, memory.end_time = RunStatus(memory.ending), event.time
        memory.current_agent = ''
        memory.log('end', memory.reason, event)

    def write_report(self, memory: Memory, event: Event) -> None:
        """The final report."""
        memory.report = markdown(report_of(memory.model_dump(mode='json')))

    def _close(self, memory: Memory) -> None:
        """No step of any plan is under way any more."""
        for name in reversed(memory.plan_stack):
            plan = memory.plans[name]
            good = all(memory.steps[step].status is State.COMPLETED for step in plan.steps)
            plan.status = State.COMPLETED if good else State.FAILED
        memory.current_step = ''

    def _goal_facts(self, memory: Memory) -> Facts:
        outer = memory.plans[memory.plan_stack[0]] if memory.plan_stack else None
        left = [
            name
            for name in (outer.steps if outer else ())
            if memory.steps[name].status is not State.COMPLETED
        ]
        return Facts(
            threshold=self.parameters.goal_threshold,
            tests_pass=memory.final_pass,
            left_over=len(left),
            acceptable=self.parameters.max_failed_steps,
        )

    def _judge_goal(self, memory: Memory, verdict: GoalVerdict, event: Event, problem: str = '') -> None:
        result = VerificationResult(
            gate='goal', score=verdict.score, approved=verdict.approved,
            conditions=conditions('goal', self._goal_facts(memory), verdict), level=Level.NONE,
            issues=(*verdict.issues, *verdict.missing), summary=verdict.summary, evidence=verdict.evidence,
            degraded=bool(problem), threshold=self.parameters.goal_threshold,
        )  # fmt: skip
        memory.answer(Party.SUPERVISOR, MessageType.VERIFY_RESPONSE, verdict.summary, event, problem=problem)
        memory.judge(result, Party.CODER, 'the goal', event)

    def _missing(self, memory: Memory) -> tuple[str, ...]:
        """What the next plan is for."""
        failed = [
            f'step {step.id} ({step.description}): {step.fail_reason}'
            for step in memory.steps.values()
            if step.status is State.FAILED and not step.sub_steps
        ]
        return (*memory.verdict.issues, *failed) or (memory.verdict.summary,)
