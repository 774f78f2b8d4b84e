"""The time-bounded loop's message protocol: message types, participants and agents' metrics."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal

from engine.records.frozen import FrozenModel
from engine.statechart.memory import Memory


class MessageType(StrEnum):
    """All message types."""

    PLAN_REQUEST = 'PLAN_REQUEST'
    PLAN_RESPONSE = 'PLAN_RESPONSE'
    REPLAN_REQUEST = 'REPLAN_REQUEST'
    SUBPLAN_RESPONSE = 'SUBPLAN_RESPONSE'
    CODE_REQUEST = 'CODE_REQUEST'
    CODE_RESPONSE = 'CODE_RESPONSE'
    CODE_FIX_REQUEST = 'CODE_FIX_REQUEST'
    TEST_REQUEST = 'TEST_REQUEST'
    TEST_RESPONSE = 'TEST_RESPONSE'
    FIX_PLAN = 'FIX_PLAN'
    VERIFY_REQUEST = 'VERIFY_REQUEST'
    VERIFY_RESPONSE = 'VERIFY_RESPONSE'
    CORRECTION = 'CORRECTION'
    ESCALATION = 'ESCALATION'
    STEP_COMPLETE = 'STEP_COMPLETE'
    STEP_BLOCKED = 'STEP_BLOCKED'
    GOAL_COMPLETE = 'GOAL_COMPLETE'
    ABORT = 'ABORT'


class Participant(StrEnum):
    """Senders and recipients: the four roles, the loop itself, and everyone."""

    SUPERVISOR = 'supervisor'
    PLANNER = 'planner'
    CODER = 'coder'
    TESTER = 'tester'
    ORCHESTRATOR = 'orchestrator'
    ALL = 'all'


ROLES: Final = (Participant.SUPERVISOR, Participant.PLANNER, Participant.CODER, Participant.TESTER)


RESPONSES: Final = {
    Participant.PLANNER: MessageType.PLAN_RESPONSE,
    Participant.CODER: MessageType.CODE_RESPONSE,
    Participant.TESTER: MessageType.TEST_RESPONSE,
    Participant.SUPERVISOR: MessageType.VERIFY_RESPONSE,
}


class AgentMetrics(FrozenModel):
    """Counts of one agent's work."""

    requests: int = 0
    answers: int = 0
    degraded: int = 0
    """Answers replaced by a fallback."""
    passed: int = 0
    """Verifications of its work that passed."""
    rejected: int = 0
    seconds: float = 0.0
    """Running time from requests to answers."""


class AgentRecord(Memory):
    """What one of the four agents is doing."""

    status: Literal['idle', 'working', 'degraded'] = 'idle'
    last_output: str = ''
    since: float = 0.0
    """When it was last asked, in seconds of running time."""
    guidance: str = ''
    """The supervisor's latest message to it, until it is asked again."""
    metrics: AgentMetrics = AgentMetrics()
