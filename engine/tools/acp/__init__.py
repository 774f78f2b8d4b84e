"""External agents: third-party coding agents as workers, over the Agent Client Protocol."""

from engine.tools.acp.agents import AGENT_PREFIX, AgentHealth, ExternalAgentInfo, ExternalAgents

__all__ = ['AGENT_PREFIX', 'AgentHealth', 'ExternalAgentInfo', 'ExternalAgents']
