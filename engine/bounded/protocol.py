"""The protocol of the time-bounded loop: who sends what to whom."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from engine.frozen import Record


class MessageType(StrEnum):
    """Every kind of message there is."""

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


class Party(StrEnum):
    """Who sends and receives: the four roles, the loop itself, and all of them together."""

    SUPERVISOR = 'supervisor'
    PLANNER = 'planner'
    CODER = 'coder'
    TESTER = 'tester'
    ORCHESTRATOR = 'orchestrator'
    ALL = 'all'


ROLES: Final = (Party.SUPERVISOR, Party.PLANNER, Party.CODER, Party.TESTER)

RESPONSES: Final = {
    MessageType.PLAN_RESPONSE: Party.PLANNER,
    MessageType.SUBPLAN_RESPONSE: Party.PLANNER,
    MessageType.CODE_RESPONSE: Party.CODER,
    MessageType.TEST_RESPONSE: Party.TESTER,
    MessageType.FIX_PLAN: Party.TESTER,
    MessageType.VERIFY_RESPONSE: Party.SUPERVISOR,
    MessageType.CORRECTION: Party.SUPERVISOR,
    MessageType.ESCALATION: Party.SUPERVISOR,
}
"""What only one role sends."""

REQUESTS: Final = {
    MessageType.PLAN_REQUEST: Party.PLANNER,
    MessageType.REPLAN_REQUEST: Party.PLANNER,
    MessageType.CODE_REQUEST: Party.CODER,
    MessageType.CODE_FIX_REQUEST: Party.CODER,
    MessageType.TEST_REQUEST: Party.TESTER,
    MessageType.VERIFY_REQUEST: Party.SUPERVISOR,
    MessageType.STEP_COMPLETE: Party.ORCHESTRATOR,
    MessageType.STEP_BLOCKED: Party.ORCHESTRATOR,
    MessageType.GOAL_COMPLETE: Party.ORCHESTRATOR,
    MessageType.ABORT: Party.ALL,
}
"""What goes to one party only."""


class ProtocolMessage(Record):
    """One message, as memory keeps it; its number is its place in the list."""

    type: MessageType
    sender: Party
    recipient: Party
    content: str
    time: float
    """Seconds since 1970."""
    ran: float
    """Seconds that the run had run by then, without pauses."""
    phase: str = ''
    step: str = ''
    """The id of the step it is about; '' where it is about none."""
    plan: str = ''
    iteration: int = 0
    degraded: bool = False
    """Whether it stands in for an answer that an agent did not give."""
