"""Agents: their chart, nested in a workflow's chart, and the model and tool calls of its states."""

from engine.agents.chart import GUARD_PHRASES
from engine.agents.criteria import Check, Criteria
from engine.agents.directory import AgentInfo, agents_of
from engine.agents.spec import RoleAssignment
from engine.agents.tool_trial import ToolPlayground, ToolTrial

__all__ = [
    'GUARD_PHRASES',
    'AgentInfo',
    'Check',
    'Criteria',
    'RoleAssignment',
    'ToolPlayground',
    'ToolTrial',
    'agents_of',
]
