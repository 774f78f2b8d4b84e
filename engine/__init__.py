"""Hemicycle's engine: the names needed to write and run workflows; the packages below hold the rest."""

from engine.agents.chart import agent
from engine.agents.spec import Role
from engine.configuration.catalog import Catalog
from engine.errors import EngineError, EventRefused, InvalidInput, PatternError
from engine.host.clock import SimulatedClock
from engine.host.syntax_trees import parse_in_turn
from engine.operations.conductor import Conductor, RunHandle, RunResult
from engine.operations.experiments import Case, Experiment, Score, ScorerSpec, Variant, scorer
from engine.operations.local_conductor import LocalConductor
from engine.patterns.pipeline.orchestrator import AgentOrchestrator
from engine.patterns.pipeline.stage import stage
from engine.patterns.pipeline.task_state import TaskState
from engine.patterns.supervisor.run_task import run_collaborative_task
from engine.records import Breakpoint, Budget, Event, Status, Transition
from engine.runtime.activity import Activity
from engine.statechart.memory import Memory
from engine.statechart.pattern import Pattern
from engine.statechart.retry import Retry
from engine.tools.protocol import ToolContext, tool

parse_in_turn()

# fmt: off
__all__ = [  # noqa: RUF022  (by theme, for a newcomer to read)
    # run workflows
    'Conductor',
    'LocalConductor',
    'RunHandle',
    'RunResult',
    'Catalog',
    'Budget',
    'Breakpoint',
    'Status',
    'SimulatedClock',
    # write patterns
    'Pattern',
    'Memory',
    'agent',
    'Role',
    'stage',
    'TaskState',
    'Activity',
    'Retry',
    'tool',
    'ToolContext',
    'Event',
    # read runs
    'Transition',
    # put agents to work in one call
    'AgentOrchestrator',
    'run_collaborative_task',
    # compare workflows
    'Experiment',
    'Variant',
    'ScorerSpec',
    'Case',
    'Score',
    'scorer',
    # common errors; the others are in `engine.errors`
    'EngineError',
    'EventRefused',
    'InvalidInput',
    'PatternError',
]
# fmt: on
