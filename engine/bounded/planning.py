"""The actions of planning: a plan is taken, examined, judged, sent back, and adopted."""

from __future__ import annotations

from typing import Any

from engine.bounded import fallback
from engine.bounded.answers import PlanDraft, PlanVerdict
from engine.bounded.ending import Ending
from engine.bounded.escalation import Level
from engine.bounded.gates import Facts, conditions
from engine.bounded.plan import ExecutionPlan, PlanStep, State, VerificationResult, faults
from engine.bounded.protocol import MessageType, Party
from engine.bounded.state import OrchestrationState as Memory
from engine.bounded.state import RunStatus
from engine.records import Event


class Planning(Ending):
    """Actions; a sub-plan goes the same way as the plan of the goal."""

    parameters: Any

    def begin_planning(self, memory: Memory, event: Event) -> None:
        """A round begins with its plan."""
        memory.status = RunStatus.PLANNING
        memory.clock.begin_phase('planning', event.ran, memory.iteration)

    def take_plan(self, memory: Memory, event: Event) -> None:
        """The planner's answer."""
        self._draft(memory, PlanDraft.model_validate(event.data['output']), event)

    def stand_in_for_plan(self, memory: Memory, event: Event) -> None:
        """The planner failed or was too slow: the plainest plan, for the goal; none, for a step."""
        problem = fallback.problem_of(event)
        if memory.current_step:
            memory.draft = None
            memory.answer(Party.PLANNER, MessageType.SUBPLAN_RESPONSE, 'No plan.', event, problem=problem)
        else:
            self._draft(memory, fallback.plan(memory.primary_goal), event, problem)

    def examine_plan(self, memory: Memory, event: Event) -> None:
        """Look for what is wrong with its form; the planner is told once."""
        memory.problems = tuple(faults(memory.draft)) if memory.draft else ('there is no plan',)
        if memory.problems and memory.repairs:
            memory.log('error', f'The plan cannot be used: {"; ".join(memory.problems)}', event)

    def settle_for_plainest(self, memory: Memory, event: Event) -> None:
        """A plan that is still unsound is replaced."""
        problem = f'its plan cannot be used: {"; ".join(memory.problems)}'
        self._draft(memory, fallback.plan(memory.primary_goal), event, problem)

    def take_plan_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor's answer."""
        self._judge_plan(memory, PlanVerdict.model_validate(event.data['output']), event)

    def stand_in_for_plan_verdict(self, memory: Memory, event: Event) -> None:
        """The supervisor failed: the form of the plan decides."""
        problem = fallback.problem_of(event)
        verdict = fallback.verdict('plan', self._plan_facts(memory), problem)
        assert isinstance(verdict, PlanVerdict)
        self._judge_plan(memory, verdict, event, problem)

    def revise_plan(self, memory: Memory, event: Event) -> None:
        """The plan goes back to the planner, with what must change."""
        memory.revisions += 1
        memory.repairs = 0
        memory.problems = tuple(memory.verdict.issues) or memory.verdict.held_back
        memory.count(replan_count=1)

    def adopt_plan(self, memory: Memory, event: Event) -> None:
        """The plan is approved: its steps are those of the goal, or of the step that is blocked."""
        draft = memory.draft
        assert draft is not None
        blocked = memory.step if memory.current_step else None
        depth = blocked.depth + 1 if blocked else 0
        number = len(memory.plans) + 1
        prefix = f'{blocked.id}.' if blocked else f'r{memory.iteration}.' if memory.iteration > 1 else ''
        names = tuple(f'{prefix}{index}' for index in range(1, len(draft.steps) + 1))
        plan = ExecutionPlan(
            id=f'plan-{number}',
            goal=blocked.description if blocked else memory.primary_goal,
            analysis=draft.analysis,
            steps=names,
            depth=depth,
            parent_plan_id=blocked.plan_id if blocked else '',
            parent_step_id=blocked.id if blocked else '',
            status=State.IN_PROGRESS,
            degraded=memory.verdict.degraded if memory.verifications else True,
        )
        for index, (name, step) in enumerate(zip(names, draft.steps, strict=True), start=1):
            memory.steps[name] = PlanStep(
                id=name,
                number=index,
                description=step.description,
                complexity=step.complexity,
                depends_on=step.depends_on,
                depth=depth,
                plan_id=plan.id,
                parent_step_id=blocked.id if blocked else '',
                max_attempts=self.parameters.max_attempts,
            )
        memory.plans[plan.id] = plan
        memory.plan_stack = (*memory.plan_stack, plan.id) if blocked else (plan.id,)
        memory.count(total_steps=len(names))
        if blocked:
            blocked.sub_steps = names
        memory.current_step, memory.stage = '', 'executing'
        memory.tick()
        self._clear(memory)

    def settle_for_plan(self, memory: Memory, event: Event) -> None:
        """The time for planning is over: the plan as it is, if its form is sound, or the plainest one."""
        if memory.draft is None or faults(memory.draft):
            self._draft(memory, fallback.plan(memory.primary_goal), event, 'the time for planning is over')
        problem = 'the time for planning is over'
        verdict = fallback.verdict('plan', self._plan_facts(memory), problem)
        assert isinstance(verdict, PlanVerdict)
        self._judge_plan(memory, verdict, event, problem)
        self.adopt_plan(memory, event)

    def drop_sub_plan(self, memory: Memory, event: Event) -> None:
        """There is no good plan for the blocked step: it is failed, and the others go on."""
        reason = memory.step.fail_reason
        memory.finish_step(State.FAILED, event, f'{reason}; and no plan for it was approved')
        memory.current_step = ''
        self._clear(memory)

    def fail_plan(self, memory: Memory, event: Event) -> None:
        """No plan for the goal was approved."""
        memory.ending = RunStatus.FAILED
        memory.reason = f'No plan was approved: {memory.verdict.summary}'
        self.end(memory, event)

    def _draft(self, memory: Memory, draft: PlanDraft, event: Event, problem: str = '') -> None:
        if memory.problems and memory.draft is not None:
            memory.repairs += 1
        memory.draft = draft
        kind = MessageType.SUBPLAN_RESPONSE if memory.current_step else MessageType.PLAN_RESPONSE
        listed = '\n'.join(
            f'{number}. {step.description}' for number, step in enumerate(draft.steps, start=1)
        )
        memory.answer(Party.PLANNER, kind, f'{draft.analysis}\n{listed}', event, problem=problem)

    def _plan_facts(self, memory: Memory) -> Facts:
        return Facts(threshold=self.parameters.plan_threshold, draft=memory.draft)

    def _judge_plan(self, memory: Memory, verdict: PlanVerdict, event: Event, problem: str = '') -> None:
        held = conditions('plan', self._plan_facts(memory), verdict)
        result = VerificationResult(
            gate='plan', score=verdict.score, approved=verdict.approved, conditions=held, level=Level.NONE,
            issues=verdict.issues, summary=verdict.summary, degraded=bool(problem),
            threshold=self.parameters.plan_threshold,
        )  # fmt: skip
        memory.answer(Party.SUPERVISOR, MessageType.VERIFY_RESPONSE, verdict.summary, event, problem=problem)
        memory.judge(result, Party.PLANNER, 'the plan', event)

    def _clear(self, memory: Memory) -> None:
        memory.draft, memory.problems = None, ()
        memory.repairs = memory.revisions = 0
