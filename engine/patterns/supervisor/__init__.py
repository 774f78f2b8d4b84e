"""The supervisor: one agent plans, workers carry out the tasks, one combines the results."""

from engine.patterns.supervisor.pattern import Supervisor

__all__ = ['Supervisor']
