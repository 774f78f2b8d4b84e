"""The pipeline: research, analyze and review in a revision loop, with its stages and orchestrator."""

from engine.patterns.pipeline.orchestrator import AgentOrchestrator
from engine.patterns.pipeline.pattern import AnalyzerAgent, Pipeline, ResearchAgent, ReviewerAgent

__all__ = ['AgentOrchestrator', 'AnalyzerAgent', 'Pipeline', 'ResearchAgent', 'ReviewerAgent']
