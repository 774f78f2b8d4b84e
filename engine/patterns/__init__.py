"""Workflow patterns, one per file."""

from engine.patterns.dynamic.dynamic_agent import DynamicAgent
from engine.patterns.dynamic.phases import Phase
from engine.patterns.dynamic.run_handle import Agent, BlogOrchestratorAgent
from engine.patterns.pipeline.audit_trail import audit_trail
from engine.patterns.pipeline.stage import Stage
from engine.patterns.supervisor.collaboration import (
    CollaborationResult,
    CollaborationState,
    DelegatedTask,
    SupervisorPlan,
    TaskResult,
)
from engine.patterns.supervisor.run_task import execute_plan
from engine.patterns.time_bounded.escalation import ACTIONS, TRIGGERS, Level
from engine.patterns.time_bounded.gates import GATE_TITLES
from engine.patterns.time_bounded.report import (
    Report,
    build_report,
    is_time_bounded,
    render_report,
    report_text,
)
from engine.patterns.time_bounded.schedule import BurnDown, PhaseBudget, burn_down

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
    'Phase',
    'PhaseBudget',
    'Report',
    'Stage',
    'SupervisorPlan',
    'TaskResult',
    'audit_trail',
    'build_report',
    'burn_down',
    'execute_plan',
    'is_time_bounded',
    'render_report',
    'report_text',
]
