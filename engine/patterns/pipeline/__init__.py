"""The pipeline: research, analyze, review, with a revision loop; its stages, and its orchestrator."""

from engine.patterns.pipeline.orchestrator import AgentOrchestrator
from engine.patterns.pipeline.pattern import Pipeline

__all__ = ['AgentOrchestrator', 'Pipeline']
