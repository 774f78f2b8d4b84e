"""Verdicts: the supervisor's, or those that need no agent, on the conditions of a gate."""

from __future__ import annotations

from collections.abc import Mapping

from engine.patterns.time_bounded import fallback, replanning
from engine.patterns.time_bounded.gates import FACTUAL, GateFacts, evaluate_gate
from engine.patterns.time_bounded.memory.escalation import Level
from engine.patterns.time_bounded.memory.plan import VerificationResult
from engine.patterns.time_bounded.memory.protocol import Participant
from engine.patterns.time_bounded.memory.schemas import (
    CodeVerdict,
    GoalVerdict,
    PlanVerdict,
    StepVerdict,
    Verdict,
)
from engine.patterns.time_bounded.memory.state import OrchestrationState, memory_of
from engine.patterns.time_bounded.parameters import parameters_of
from engine.records import Event
from engine.statechart.decision_cache import CallbackContext

VERDICTS: Mapping[str, type[Verdict]] = {
    'plan': PlanVerdict, 'code': CodeVerdict, 'tests': Verdict, 'step': StepVerdict, 'goal': GoalVerdict,
}  # fmt: skip
"""By gate: the record that the supervisor answers with."""
JUDGED: Mapping[str, tuple[Participant, str]] = {
    'plan': (Participant.PLANNER, 'the plan'),
    'code': (Participant.CODER, 'the code of step {}'),
    'tests': (Participant.TESTER, 'the findings on step {}'),
    'step': (Participant.CODER, 'the work on step {}'),
    'goal': (Participant.CODER, 'the goal'),
}
"""By gate: whose work is judged, and what it is."""


def store_verdict(gate: str, scope: CallbackContext, event: Event) -> None:
    """Store the supervisor's verdict."""
    memory, verdict = memory_of(scope), VERDICTS[gate].model_validate(event.data['output'])
    if isinstance(verdict, StepVerdict) and verdict.replan:
        memory.replan = verdict.replan
    _judge(scope, gate, verdict, event)


def use_fallback_verdict(gate: str, scope: CallbackContext, event: Event) -> None:
    """Stand in for the supervisor."""
    judge_without_supervisor(scope, gate, event, fallback.describe_failure(event))


def judge_without_supervisor(scope: CallbackContext, gate: str, event: Event, problem: str) -> None:
    """Judge by rules alone, because the supervisor gave no answer."""
    _judge(scope, gate, fallback.verdict(gate, _gate_facts(scope, gate), problem), event, problem)


def _judge(scope: CallbackContext, gate: str, verdict: Verdict, event: Event, problem: str = '') -> None:
    memory = memory_of(scope)
    facts = _gate_facts(scope, gate)
    conditions = evaluate_gate(gate, facts, verdict)
    result = VerificationResult(
        gate=gate, score=verdict.score, approved=verdict.approved, conditions=conditions, level=Level.NONE,
        refused=_has_work(memory, gate)
        and any(not holds for name, holds in conditions if name not in FACTUAL),
        issues=(*verdict.issues, *getattr(verdict, 'missing', ())),
        summary=verdict.summary, evidence=getattr(verdict, 'evidence', ''), degraded=bool(problem),
        threshold=facts.threshold if gate in ('plan', 'goal') else facts.threshold or None,
    )  # fmt: skip
    agent, subject = JUDGED[gate]
    memory.record_verdict(result, agent, subject.format(memory.current_step), event, problem)
    if gate in ('code', 'step'):
        memory.step.verification_result = memory.verdict


def _has_work(memory: OrchestrationState, gate: str) -> bool:
    """Whether there is work to refuse: not if the coder was silent, changed nothing or asks for a plan."""
    if gate not in ('code', 'step'):
        return True
    step = memory.step
    declines = step.code_output is not None and step.code_output.declines
    return bool(step.changed_files) and not step.problem and not declines


def _gate_facts(scope: CallbackContext, gate: str) -> GateFacts:
    memory, parameters = memory_of(scope), parameters_of(scope)
    if gate == 'plan':
        return GateFacts(
            threshold=parameters.plan_threshold,
            draft=memory.draft,
            min_steps=replanning.min_steps(memory),
        )
    if gate == 'goal':
        return GateFacts(
            threshold=parameters.goal_threshold,
            tests_pass=memory.final_pass,
            incomplete_steps=len(memory.unfinished_steps),
            max_incomplete_steps=parameters.max_failed_steps,
        )
    step, thresholds = memory.step, {'code': parameters.code_threshold, 'step': parameters.step_threshold}
    tests = step.test_results
    return GateFacts(
        threshold=thresholds.get(gate, 0),
        changed=step.changed_files,
        blocked=step.code_output is not None and step.code_output.declines,
        tests_pass=tests is not None and tests.passed,
    )
