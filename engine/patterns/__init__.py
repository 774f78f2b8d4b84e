"""Workflow patterns, one folder each, and their shared parts."""

from engine.patterns.author.records import ChartDraft
from engine.patterns.competition.merging import Conflict
from engine.patterns.competition.records import Candidate, Ranking, Suite, Version
from engine.patterns.competition.vote import Ballot
from engine.patterns.debate.records import (
    Consensus,
    Debate,
    LineComment,
    Position,
    Utterance,
    Verdict,
    open_points,
)
from engine.patterns.dynamic.code_review import CodeReview
from engine.patterns.dynamic.dynamic_agent import DynamicAgent
from engine.patterns.dynamic.phases import Phase
from engine.patterns.dynamic.run_handle import Agent, BlogOrchestratorAgent
from engine.patterns.dynamic.triager import Triage
from engine.patterns.pipeline.audit_trail import audit_trail
from engine.patterns.pipeline.stage import Stage
from engine.patterns.pipeline.task_state import Draft, Review, TaskStatus
from engine.patterns.review.memory import Choice, Comment
from engine.patterns.supervisor.collaboration import (
    CollaborationResult,
    CollaborationState,
    DelegatedTask,
    SupervisorPlan,
    TaskResult,
)
from engine.patterns.supervisor.run_task import execute_plan
from engine.patterns.time_bounded.gates import GATE_TITLES
from engine.patterns.time_bounded.memory.escalation import ACTIONS, TRIGGERS, Escalation, Level
from engine.patterns.time_bounded.memory.plan import StepStatus, VerificationResult
from engine.patterns.time_bounded.memory.protocol import MessageType
from engine.patterns.time_bounded.memory.schedule import BurnDown, PhaseBudget, burn_down
from engine.patterns.time_bounded.memory.state import RunStatus
from engine.patterns.time_bounded.report import Report

__all__ = [
    'ACTIONS',
    'GATE_TITLES',
    'TRIGGERS',
    'Agent',
    'Ballot',
    'BlogOrchestratorAgent',
    'BurnDown',
    'Candidate',
    'ChartDraft',
    'Choice',
    'CodeReview',
    'CollaborationResult',
    'CollaborationState',
    'Comment',
    'Conflict',
    'Consensus',
    'Debate',
    'DelegatedTask',
    'Draft',
    'DynamicAgent',
    'Escalation',
    'Level',
    'LineComment',
    'MessageType',
    'Phase',
    'PhaseBudget',
    'Position',
    'Ranking',
    'Report',
    'Review',
    'RunStatus',
    'Stage',
    'StepStatus',
    'Suite',
    'SupervisorPlan',
    'TaskResult',
    'TaskStatus',
    'Triage',
    'Utterance',
    'Verdict',
    'VerificationResult',
    'Version',
    'audit_trail',
    'burn_down',
    'execute_plan',
    'open_points',
]
