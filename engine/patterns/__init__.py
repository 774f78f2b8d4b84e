"""Workflow patterns, one folder each, and their shared parts."""

from engine.patterns.debate.records import Verdict
from engine.patterns.dynamic.dynamic_agent import DynamicAgent
from engine.patterns.dynamic.phases import Phase
from engine.patterns.dynamic.run_handle import Agent, BlogOrchestratorAgent
from engine.patterns.pipeline.audit_trail import audit_trail
from engine.patterns.pipeline.stage import Stage
from engine.patterns.pipeline.task_state import TaskStatus
from engine.patterns.supervisor.collaboration import (
    CollaborationResult,
    CollaborationState,
    DelegatedTask,
    SupervisorPlan,
    TaskResult,
)
from engine.patterns.supervisor.run_task import execute_plan
from engine.patterns.time_bounded.gates import GATE_TITLES
from engine.patterns.time_bounded.memory.escalation import ACTIONS, TRIGGERS, Level
from engine.patterns.time_bounded.memory.plan import StepStatus
from engine.patterns.time_bounded.memory.protocol import MessageType
from engine.patterns.time_bounded.memory.schedule import BurnDown, PhaseBudget, burn_down
from engine.patterns.time_bounded.memory.state import RunStatus
from engine.patterns.time_bounded.report import (
    Report,
)

__all__ = [
    'ACTIONS',
    'GATE_TITLES',
    'TRIGGERS',
    'Agent',
    'BlogOrchestratorAgent',
    'BurnDown',
    'CollaborationResult',
    'CollaborationState',
    'DelegatedTask',
    'DynamicAgent',
    'Level',
    'MessageType',
    'Phase',
    'PhaseBudget',
    'Report',
    'RunStatus',
    'Stage',
    'StepStatus',
    'SupervisorPlan',
    'TaskResult',
    'TaskStatus',
    'Verdict',
    'audit_trail',
    'burn_down',
    'execute_plan',
]
