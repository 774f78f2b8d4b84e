"""What a time-bounded run remembers: goal, plans, agents, messages, interventions, metrics and time."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Any, Literal

from pydantic import Field

from engine.bounded.answers import PlanDraft
from engine.bounded.escalation import Escalation, Level, level_of, message_for
from engine.bounded.plan import ExecutionPlan, PlanStep, State, VerificationResult, checklist, progress
from engine.bounded.protocol import ROLES, MessageType, Party, ProtocolMessage
from engine.bounded.schedule import Clock
from engine.frozen import Record
from engine.memory import Memory
from engine.records import Event
from engine.steps import Step


class RunStatus(StrEnum):
    """What the loop is doing, and how it ended."""

    INITIALIZING = 'initializing'
    PLANNING = 'planning'
    EXECUTING = 'executing'
    TESTING = 'testing'
    VERIFYING = 'verifying'
    COMPLETED = 'completed'
    FAILED = 'failed'
    ABORTED = 'aborted'
    TIME_EXPIRED = 'time_expired'


class AgentMetrics(Record):
    """What one agent did."""

    requests: int = 0
    answers: int = 0
    degraded: int = 0
    """Answers that something had to stand in for."""
    passed: int = 0
    """Verifications of its work."""
    rejected: int = 0
    seconds: float = 0.0
    """Of running, from requests to answers."""


class AgentRecord(Memory):
    """One of the four agents."""

    status: Literal['idle', 'working', 'degraded'] = 'idle'
    last_output: str = ''
    since: float = 0.0
    """When it was asked last, in seconds of running."""
    guidance: str = ''
    """What the supervisor sent it last and it has not been asked since."""
    metrics: AgentMetrics = AgentMetrics()


class Metrics(Record):
    """Counts over the whole run."""

    total_steps: int = 0
    completed_steps: int = 0
    failed_steps: int = 0
    replan_count: int = 0
    """Plans after the first: written anew after a rejection, for a blocked step, or for another round."""
    fix_cycles: int = 0
    verifications_passed: int = 0
    verifications_failed: int = 0


class LogEntry(Record):
    """Something worth knowing that is no message: a time check, an agent's error, a decision of the loop."""

    kind: Literal['time check', 'phase', 'step', 'error', 'degraded', 'person', 'end']
    text: str
    time: float
    ran: float


class OrchestrationState(Memory):
    """All of it. Only actions write it."""

    primary_goal: str = ''
    status: RunStatus = RunStatus.INITIALIZING
    plans: dict[str, ExecutionPlan] = Field(default_factory=dict)
    steps: dict[str, PlanStep] = Field(default_factory=dict)
    plan_stack: tuple[str, ...] = ()
    """Ids from the plan of the goal to the one under way."""
    current_step: str = ''
    current_agent: str = ''
    iteration: int = 0
    """The round: planning, execution and verification, again as long as the goal is not reached."""
    start_time: float = 0.0
    end_time: float | None = None
    time_limit: float = 0.0
    clock: Clock = Field(default_factory=Clock)
    agents: dict[str, AgentRecord] = Field(
        default_factory=lambda: {role.value: AgentRecord() for role in ROLES}
    )
    metrics: Metrics = Metrics()
    event_log: list[LogEntry] = Field(default_factory=list)
    messages: list[ProtocolMessage] = Field(default_factory=list)
    escalations: list[Escalation] = Field(default_factory=list)
    level: Level = Level.NONE
    issues: int = 0
    """Verifications in a row that did not pass."""
    verifications: list[VerificationResult] = Field(default_factory=list)
    checklist: list[Step] = Field(default_factory=list)
    """All steps of all rounds, nested, for screens that know nothing of this pattern."""
    draft: PlanDraft | None = None
    """The plan that waits for its approval."""
    problems: tuple[str, ...] = ()
    """What is wrong with it, found without asking anybody."""
    repairs: int = 0
    revisions: int = 0
    """How often this plan has been sent back."""
    findings: tuple[str, ...] = ()
    """What the last round left to be done."""
    stage: str = 'planning'
    """Where it goes on after a stop: `planning`, `executing` or `verifying`."""
    base: str = ''
    """The snapshot of the project as it was given."""
    last_snapshot: str = ''
    step_base: str = ''
    """And as it was when the step under way began."""
    diff: str = ''
    """What the step has changed, for the supervisor to read."""
    changed_files: tuple[str, ...] = ()
    """By the whole run."""
    final_tests: str = ''
    final_pass: bool = False
    verified: bool = False
    skip_verification: bool = False
    too_many_failures: bool = False
    ending: str = ''
    """How it is about to end; a status."""
    reason: str = ''
    resumable: bool = False
    """Whether it goes on where it was when it is given more time."""
    report: str = ''
    """The final report, as Markdown."""

    @property
    def plan(self) -> ExecutionPlan:
        """The plan under way."""
        return self.plans[self.plan_stack[-1]]

    @property
    def step(self) -> PlanStep:
        """The step under way."""
        return self.steps[self.current_step]

    @property
    def verdict(self) -> VerificationResult:
        """The last one."""
        return self.verifications[-1]

    def send(  # noqa: PLR0913
        self,
        type: MessageType,
        sender: Party,
        recipient: Party,
        content: str,
        event: Event,
        *,
        degraded: bool = False,
    ) -> None:
        """Add a message."""
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
        )
        self.messages.append(message)

    def log(self, kind: Any, text: str, event: Event) -> None:
        """Add a line to the log."""
        self.event_log.append(LogEntry(kind=kind, text=text, time=event.time, ran=event.ran))

    def count(self, **more: int) -> None:
        """Raise counts of the metrics."""
        raised = {name: getattr(self.metrics, name) + number for name, number in more.items()}
        self.metrics = self.metrics.model_copy(update=raised)

    def ask(
        self,
        agent: Party,
        type: MessageType,
        content: str,
        event: Event,
        *,
        sender: Party = Party.ORCHESTRATOR,
    ) -> None:
        """An agent is asked for something."""
        record = self.agents[agent]
        record.status, record.since = 'working', event.ran
        self.current_agent = agent
        self._tally(agent, requests=1)
        self.send(type, sender, agent, content, event)

    def answer(
        self, agent: Party, type: MessageType, content: str, event: Event, *, problem: str = ''
    ) -> None:
        """An agent has answered; or, with a problem, something stands in for its answer."""
        record = self.agents[agent]
        record.status, record.last_output = 'degraded' if problem else 'idle', content
        seconds = round(event.ran - record.since, 3)
        self._tally(agent, answers=0 if problem else 1, degraded=1 if problem else 0, seconds=seconds)
        if record.guidance and agent is not Party.SUPERVISOR:
            record.guidance = ''
        if problem:
            self.log(
                'degraded', f'The {agent} gave no answer, and a fallback stands in for it: {problem}', event
            )
        self.current_agent = ''
        self.send(type, agent, Party.ORCHESTRATOR, content, event, degraded=bool(problem))

    def judge(self, result: VerificationResult, agent: Party, subject: str, event: Event) -> None:
        """Keep what the supervisor said of an agent's work, and intervene where the table says so."""
        self.issues = 0 if result.passed else self.issues + 1
        self.level = level_of(result.score, self.issues)
        kept = result.model_copy(update={'level': self.level})
        self.verifications.append(kept)
        self.count(**{'verifications_passed' if kept.passed else 'verifications_failed': 1})
        self._tally(agent, **{'passed' if kept.passed else 'rejected': 1})
        demands = [*kept.issues, *(f'not met: {name.replace("_", " ")}' for name in kept.held_back)]
        if self.level is not Level.NONE:
            self.intervene(self.level, agent, subject, kept, demands, event)

    def intervene(  # noqa: PLR0913
        self,
        level: Level,
        agent: Party,
        subject: str,
        result: VerificationResult,
        demands: Sequence[str],
        event: Event,
    ) -> None:
        """Send an agent what its level asks for, and keep it."""
        message = message_for(level, subject, result.score, self.issues, demands)
        self.level = level
        self.escalations.append(
            Escalation(
                level=level,
                score=result.score,
                issues=self.issues,
                agent=agent,
                gate=result.gate,
                message=message,
                time=event.time,
                ran=event.ran,
                step=self.current_step,
            )
        )
        if agent in self.agents:
            self.agents[agent].guidance = message
        kind = MessageType.ESCALATION if level.severity >= Level.CRITICAL.severity else MessageType.CORRECTION
        self.send(kind, Party.SUPERVISOR, agent, message, event)

    def finish_step(self, state: State, event: Event, reason: str = '') -> None:
        """The step under way is over."""
        step = self.step
        step.status, step.ended, step.fail_reason = state, event.ran, reason
        self.count(**{'completed_steps' if state is State.COMPLETED else 'failed_steps': 1})
        kind = MessageType.STEP_COMPLETE if state is State.COMPLETED else MessageType.STEP_BLOCKED
        said = (
            f'Step {step.id} is complete.' if state is State.COMPLETED else f'Step {step.id} failed: {reason}'
        )
        self.send(kind, Party.SUPERVISOR, Party.ORCHESTRATOR, said, event)
        self.log('step', said, event)
        self.tick()

    def tick(self) -> None:
        """Bring the checklist up to date."""
        self.checklist = list(checklist(self.plans, self.steps))
        self.clock.done, self.clock.steps = progress(self.plans, self.steps, self.plan_stack)

    def _tally(self, agent: Party, **more: float) -> None:
        record = self.agents[agent]
        raised = {name: getattr(record.metrics, name) + number for name, number in more.items()}
        record.metrics = record.metrics.model_copy(update=raised)
