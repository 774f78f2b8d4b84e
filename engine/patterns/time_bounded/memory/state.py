"""A time-bounded run's memory: goal, plans, agents, messages, interventions, metrics and time."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal, Self

from pydantic import Field
from pydantic_core import to_jsonable_python

from engine.errors import InvalidInput
from engine.patterns.time_bounded.memory.escalation import (
    Escalation,
    Level,
    describe_subject,
    level_of,
    level_of_refusal,
    message_for,
)
from engine.patterns.time_bounded.memory.plan import (
    ExecutionPlan,
    PlanStep,
    StepStatus,
    TestResult,
    VerificationResult,
    build_checklist,
    next_ready_step,
    progress,
)
from engine.patterns.time_bounded.memory.protocol import (
    RESPONSES,
    ROLES,
    AgentRecord,
    MessageType,
    Participant,
)
from engine.patterns.time_bounded.memory.schedule import PhaseBudget
from engine.patterns.time_bounded.memory.schemas import CodeOutput, Fix, PlanDraft
from engine.records import Event
from engine.records.frozen import FrozenModel
from engine.records.products import PlanItem
from engine.statechart.decision_cache import CallbackContext
from engine.statechart.memory import Memory
from engine.statechart.pattern import restore_memory


class RunStatus(StrEnum):
    """The loop's current activity, or how it ended."""

    INITIALIZING = 'initializing'
    PLANNING = 'planning'
    EXECUTING = 'executing'
    TESTING = 'testing'
    VERIFYING = 'verifying'
    COMPLETED = 'completed'
    FAILED = 'failed'
    ABORTED = 'aborted'
    TIME_EXPIRED = 'time_expired'


class Metrics(FrozenModel):
    """Counts over the whole run."""

    total_steps: int = 0
    completed_steps: int = 0
    failed_steps: int = 0
    replan_count: int = 0
    """Plans after the first: after a rejection, for a blocked step, or for another round."""
    fix_cycles: int = 0
    verifications_passed: int = 0
    verifications_failed: int = 0


class LogEntry(FrozenModel):
    """An entry that is not a message: a time check, an agent's error, a decision of the loop."""

    kind: Literal['time check', 'phase', 'step', 'error', 'degraded', 'person', 'end']
    text: str
    time: float
    ran: float


Payload = PlanDraft | CodeOutput | TestResult | VerificationResult | Escalation | tuple[Fix, ...]
"""Payloads: the planner's, coder's, tester's and supervisor's answers, interventions and fix plans."""


class ProtocolMessage(FrozenModel):
    """One message, as stored in memory; its number is its position in the list."""

    type: MessageType
    sender: Participant
    recipient: Participant
    content: str
    time: float
    """Unix timestamp in seconds."""
    ran: float
    """Running time in seconds at that moment, without pauses."""
    phase: str = ''
    step: str = ''
    """The id of the step it concerns, or ''."""
    plan: str = ''
    iteration: int = 0
    degraded: bool = False
    """Whether it replaces an answer that an agent did not give."""
    payload: Payload | None = None
    """The payload as an object; None for requests."""


class OrchestrationState(Memory):
    """The loop's whole memory. Only actions write it."""

    primary_goal: str = ''
    status: RunStatus = RunStatus.INITIALIZING
    plans: dict[str, ExecutionPlan] = Field(default_factory=dict)
    steps: dict[str, PlanStep] = Field(default_factory=dict)
    plan_stack: tuple[str, ...] = ()
    """Ids from the goal's plan to the current one."""
    current_step: str = ''
    current_agent: str = ''
    iteration: int = 0
    """The round of planning, execution and verification, repeated until the goal is reached."""
    start_time: float = 0.0
    end_time: float | None = None
    time_limit: float = 0.0
    clock: PhaseBudget = Field(default_factory=PhaseBudget)
    agents: dict[str, AgentRecord] = Field(
        default_factory=lambda: {role.value: AgentRecord() for role in ROLES}
    )
    metrics: Metrics = Metrics()
    event_log: list[LogEntry] = Field(default_factory=list)
    messages: list[ProtocolMessage] = Field(default_factory=list)
    escalations: list[Escalation] = Field(default_factory=list)
    level: Level = Level.NONE
    issues: int = 0
    """Consecutive failed verifications."""
    verifications: list[VerificationResult] = Field(default_factory=list)
    checklist: list[PlanItem] = Field(default_factory=list)
    """All steps of all rounds, nested, for screens unaware of this pattern."""
    draft: PlanDraft | None = None
    """The plan awaiting approval."""
    draft_is_fallback: bool = False
    """Whether the draft stands in for one that the planner did not write, or that cannot be used."""
    problems: tuple[str, ...] = ()
    """What is wrong with the draft, found without asking an agent."""
    repairs: int = 0
    revisions: int = 0
    """How often this plan has been sent back."""
    findings: tuple[str, ...] = ()
    """Work that the last round left undone."""
    stage: str = 'planning'
    """Where to resume after a stop: `planning`, `executing` or `verifying`."""
    base: str = ''
    """Snapshot of the project as given."""
    last_snapshot: str = ''
    step_base: str = ''
    """Snapshot at the start of the current step."""
    diff: str = ''
    """The step's changes, for the supervisor to read."""
    changed_files: tuple[str, ...] = ()
    final_tests: str = ''
    final_pass: bool = False
    verified: bool = False
    skip_verification: bool = False
    too_many_failures: bool = False
    ending: str = ''
    """The status it is about to end with."""
    reason: str = ''
    resumable: bool = False
    """Whether it resumes where it was when given more time."""
    report: str = ''
    """The final report as Markdown."""
    caveat: str = ''
    """Why it ended short of its goal, in a sentence."""
    refusals: dict[str, int] = Field(default_factory=dict)
    """Consecutive rejections, by step of the goal's plan (or `goal`) and gate.

    A step's rejections add up; passing a gate resets the count for that gate alone."""
    id: str = ''
    """The run's id."""
    finishing: bool = False
    """Whether a person wants it to end after the work under way."""
    replan: str = ''
    """Why the plan's pending steps are to be replanned; '' if they are not."""
    replans: int = 0
    """How often this round's pending steps were replanned."""
    replanning: bool = False
    """Whether the plan that is being written is for the pending steps."""
    seats: tuple[str, ...] = ()
    """Agents in whose place a person answers: `planner` and `supervisor`."""
    superseded: tuple[str, ...] = ()
    """Failed steps replaced by newly planned ones; they no longer count as failed."""

    @property
    def current_plan(self) -> ExecutionPlan | None:
        """The plan being carried out; None before the first."""
        return self.plan if self.plan_stack else None

    def to_dict(self) -> dict[str, Any]:
        """The whole state as JSON values, plus the current plan."""
        return {**to_jsonable_python(self), 'current_plan': to_jsonable_python(self.current_plan)}

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Restore a state from `to_dict`. Raises `InvalidInput`, which names the field."""
        state = restore_memory(cls, data, derived='current_plan')
        if problems := state._dangling_names():
            raise InvalidInput(problems)
        return state

    def _dangling_names(self) -> dict[str, str]:
        """Return, by field, what names a plan, a step or an agent that the state does not hold."""
        inner = {name for plan in self.plans.values() for name in plan.steps}
        step = {self.current_step} - {''}
        missing = {
            'plan_stack': set(self.plan_stack) - self.plans.keys(),
            'current_step': step - self.steps.keys(),
            'plans': inner - self.steps.keys(),
            'agents': set(map(str, ROLES)) - self.agents.keys(),
        }
        return {field: f'there is no {min(names)!r}' for field, names in missing.items() if names}

    @property
    def plan(self) -> ExecutionPlan:
        """The plan being carried out. Raises `IndexError` before the first."""
        return self.plans[self.plan_stack[-1]]

    @property
    def failed_steps(self) -> tuple[str, ...]:
        """Failed steps of the round's own plan; those of sub-plans count through their blocked step."""
        names = self.plans[self.plan_stack[0]].steps
        return tuple(
            name for name in self._drop_superseded(names) if self.steps[name].status is StepStatus.FAILED
        )

    @property
    def unfinished_steps(self) -> tuple[str, ...]:
        """The steps of the round's own plan that are not complete."""
        names = self.plans[self.plan_stack[0]].steps if self.plan_stack else ()
        counted = self._drop_superseded(names)
        return tuple(name for name in counted if self.steps[name].status is not StepStatus.COMPLETED)

    def _drop_superseded(self, names: Sequence[str]) -> Sequence[str]:
        return [name for name in names if name not in self.superseded]

    def next_step(self, max_failed_steps: int) -> PlanStep | None:
        """The next step to start. After too many failures, only one that depends on no failed step."""
        independent = len(self.failed_steps) > max_failed_steps
        return next_ready_step(self.steps, self.plan, independent=independent)

    @property
    def step(self) -> PlanStep:
        """The step being carried out."""
        return self.steps[self.current_step]

    @property
    def verdict(self) -> VerificationResult:
        """The verdict given last, on any gate."""
        return self.verifications[-1]

    def send(  # noqa: PLR0913
        self,
        type: MessageType,
        sender: Participant,
        recipient: Participant,
        content: str,
        event: Event,
        *,
        degraded: bool = False,
        payload: Payload | None = None,
    ) -> None:
        """Add a message between two agents, at the time of `event`."""
        message = ProtocolMessage(
            type=type,
            sender=sender,
            recipient=recipient,
            content=content,
            time=event.time,
            ran=event.ran,
            phase=self.clock.phase,
            step=self.current_step,
            plan=self.plan_stack[-1] if self.plan_stack else '',
            iteration=self.iteration,
            degraded=degraded,
            payload=payload,
        )
        self.messages.append(message)

    def log(self, kind: Any, text: str, event: Event) -> None:
        """Add a line to the log."""
        self.event_log.append(LogEntry(kind=kind, text=text, time=event.time, ran=event.ran))

    def note_seat(self, seat: str, event: Event) -> None:
        """Log that a person has taken a seat, whose answer timeout no longer applies, or handed it back."""
        if seat not in self.seats:
            self.log('person', f'A person handed the seat back to the {seat}.', event)
            return
        if self.current_agent == seat:
            self.clock.call_ends = self.clock.ends
        self.log('person', f"A person took the {seat}'s seat.", event)

    def add_to_metrics(self, **more: int) -> None:
        """Increase each named metric by its number."""
        raised = {name: getattr(self.metrics, name) + number for name, number in more.items()}
        self.metrics = self.metrics.model_copy(update=raised)

    def record_request(self, agent: Participant, type: MessageType, content: str, event: Event) -> None:
        """Record that an agent is asked for something."""
        record = self.agents[agent]
        record.status, record.since = 'working', event.ran
        self.current_agent = agent
        self._add_to_agent_metrics(agent, requests=1)
        self.send(type, Participant.ORCHESTRATOR, agent, content, event)

    def record_answer(
        self,
        agent: Participant,
        content: str,
        event: Event,
        *,
        problem: str = '',
        payload: Payload | None = None,
    ) -> None:
        """Record an agent's answer or, given a problem, the fallback for it."""
        record = self.agents[agent]
        record.status, record.last_output = 'degraded' if problem else 'idle', content
        seconds = round(event.ran - record.since, 3)
        self._add_to_agent_metrics(
            agent, answers=0 if problem else 1, degraded=1 if problem else 0, seconds=seconds
        )
        if record.guidance and agent is not Participant.SUPERVISOR:
            record.guidance = ''
        if problem:
            self.log('degraded', f'A fallback replaces the {agent}: {problem}', event)
        self.current_agent = ''
        type = RESPONSES[agent]
        if agent is Participant.PLANNER and self.current_step:
            type = MessageType.SUBPLAN_RESPONSE
        self.send(
            type, agent, Participant.ORCHESTRATOR, content, event, degraded=bool(problem), payload=payload
        )

    def record_verdict(
        self,
        result: VerificationResult,
        agent: Participant,
        subject: str,
        event: Event,
        problem: str = '',
    ) -> None:
        """Record the supervisor's verdict on an agent's work, and intervene if the level calls for it."""
        rated = self._rate(result, agent)
        self.record_answer(Participant.SUPERVISOR, result.summary, event, problem=problem, payload=rated)
        if self.level is not Level.NONE and not rated.degraded and (rated.passed or rated.refused):
            self._intervene(agent, subject, rated, event)

    def _rate(self, result: VerificationResult, agent: Participant) -> VerificationResult:
        if result.degraded:  # Nobody judged the work: the supervisor failed, not the agent.
            rated = result.model_copy(update={'level': self.level})
            self.verifications.append(rated)
            return rated
        about = f'{self._outer_step() or "goal"}:'
        key = f'{about}{result.gate}'
        if result.passed or result.refused:
            self.refusals[key] = self.refusals.get(key, 0) + 1 if result.refused else 0
        self.issues = sum(number for name, number in self.refusals.items() if name.startswith(about))
        if result.refused:
            levels = (level_of(result.score, self.issues), level_of_refusal(len(result.issues)))
            self.level = max(levels, key=lambda level: level.severity)
        elif result.passed:
            self.level = level_of(result.score, 0)
        rated = result.model_copy(update={'level': self.level})
        self.verifications.append(rated)
        self.add_to_metrics(**{'verifications_passed' if rated.passed else 'verifications_failed': 1})
        if rated.passed or rated.refused:
            self._add_to_agent_metrics(agent, **{'passed' if rated.passed else 'rejected': 1})
        return rated

    def _outer_step(self) -> str:
        """The step of the goal's plan being worked on, even from within a sub-plan."""
        step_id = self.current_step
        while step_id and self.steps[step_id].parent_step_id:
            step_id = self.steps[step_id].parent_step_id
        return step_id

    def warn(self, message: str, event: Event) -> None:
        """Send everyone a final warning, which becomes guidance for the next planning and coding."""
        self.level = Level.CRITICAL
        warning = Escalation(
            level=Level.CRITICAL, score=0, issues=self.issues, agent=Participant.ALL, gate='goal',
            message=message, time=event.time, ran=event.ran,
        )  # fmt: skip
        self.escalations.append(warning)
        for agent in (Participant.PLANNER, Participant.CODER):
            self.agents[agent].guidance = message
        self.send(
            MessageType.ESCALATION, Participant.SUPERVISOR, Participant.ALL, message, event, payload=warning
        )

    def _intervene(self, agent: Participant, subject: str, result: VerificationResult, event: Event) -> None:
        """Send an agent the message its level calls for, and record it."""
        about = describe_subject(subject, result.score, self.issues)
        demands = [*result.issues, *(f'not met: {name.replace("_", " ")}' for name in result.unmet)]
        self.level = level = result.level
        message = message_for(level, about, demands)
        sent = Escalation(
            level=level, score=result.score, issues=self.issues, agent=agent, gate=result.gate,
            message=message, time=event.time, ran=event.ran, step=self.current_step,
        )  # fmt: skip
        self.escalations.append(sent)
        if agent in self.agents:
            self.agents[agent].guidance = message
        kind = MessageType.ESCALATION if level.severity >= Level.CRITICAL.severity else MessageType.CORRECTION
        self.send(kind, Participant.SUPERVISOR, agent, message, event, payload=sent)

    def finish_step(self, state: StepStatus, event: Event, reason: str = '') -> None:
        """End the current step."""
        step = self.step
        step.status, step.ended, step.fail_reason = state, event.ran, reason
        self.add_to_metrics(**{'completed_steps' if state is StepStatus.COMPLETED else 'failed_steps': 1})
        text = (
            f'Step {step.id} is complete.'
            if state is StepStatus.COMPLETED
            else f'Step {step.id} failed: {reason}'
        )
        if state is StepStatus.COMPLETED:
            self.send(
                MessageType.STEP_COMPLETE, Participant.SUPERVISOR, Participant.ORCHESTRATOR, text, event
            )
        self.log('step', text, event)
        self.update_checklist()

    def update_checklist(self) -> None:
        """Rebuild the checklist and the counts of steps from the plans."""
        self.checklist = list(build_checklist(self.plans, self.steps))
        self.clock.done, self.clock.steps = progress(self.plans, self.steps, self.plan_stack)

    def end(self, event: Event) -> None:
        """End the loop and stop the clock; `ending` and `reason` must be set."""
        if not self.resumable:
            self.close_unfinished(event)
        if self.clock.stopped < 0:  # Waiting for more time uses no time.
            self.clock.stop(event.ran)
        self.status, self.end_time = RunStatus(self.ending), event.time
        self.current_agent = ''
        self.log('end', self.reason, event)
        if caveat := self._shortfall():
            self.caveat = caveat

    def close_unfinished(self, event: Event) -> None:
        """Fail the steps under way and close the plans under way."""
        for step in self.steps.values():
            if step.status in (StepStatus.IN_PROGRESS, StepStatus.BLOCKED):
                step.status, step.ended = StepStatus.FAILED, event.ran
                step.fail_reason = step.fail_reason or f'the run ended first: {self.reason}'
                self.add_to_metrics(failed_steps=1)
        for plan in self.plans.values():
            if plan.status is StepStatus.IN_PROGRESS:
                good = self.is_complete(plan)
                plan.status = StepStatus.COMPLETED if good else StepStatus.FAILED
        self.update_checklist()

    def is_complete(self, plan: ExecutionPlan) -> bool:
        """Whether all steps of a plan are complete."""
        return all(
            self.steps[name].status is StepStatus.COMPLETED for name in self._drop_superseded(plan.steps)
        )

    def refusals_by_gate(self) -> dict[str, int]:
        """Return how often in a row each gate refused the current step or, without one, the goal."""
        about = f'{self._outer_step() or "goal"}:'
        return {key.removeprefix(about): n for key, n in self.refusals.items() if key.startswith(about) and n}

    def _shortfall(self) -> str:
        if self.status is not RunStatus.COMPLETED or not self.verified:
            return self.reason
        outer = self.plans[self.plan_stack[0]].steps if self.plan_stack else ()
        incomplete = len(self.unfinished_steps)
        verb = 'is' if incomplete == 1 else 'are'
        return f'{incomplete} of {len(outer)} steps {verb} not complete' if incomplete else ''

    def _add_to_agent_metrics(self, agent: Participant, **more: float) -> None:
        record = self.agents[agent]
        raised = {name: getattr(record.metrics, name) + number for name, number in more.items()}
        record.metrics = record.metrics.model_copy(update=raised)


def memory_of(scope: CallbackContext) -> OrchestrationState:
    """Return the run's memory as an `OrchestrationState`."""
    memory = scope.state.memory
    assert isinstance(memory, OrchestrationState)
    return memory
