"""The supervisor: one agent plans, workers carry out the tasks, another combines the results."""

from engine.patterns.supervisor.pattern import Supervisor

__all__ = ['Supervisor']
