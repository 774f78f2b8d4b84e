"""Operations: what callers may do, declared once; guards, routes, clients and audit derive from it."""

from engine.operations.charting import ChartCheck, Charting
from engine.operations.connections import Agents, Endpoints, McpServers
from engine.operations.experimenting import (
    Datasets,
    Experimenting,
    ExperimentResult,
    result_of,
    run_experiment,
)
from engine.operations.forking import Forking
from engine.operations.reading import Checking, Reading
from engine.operations.rehearsing import Rehearsing
from engine.operations.steering import NO_DATA, Steering
from engine.operations.table import (
    Operation,
    Role,
    Route,
    implement,
    operation,
    operations_of,
    parts_of,
)
from engine.operations.upkeep import Annotating, Retaining
from engine.operations.work import Files, Merging

__all__ = [
    'NO_DATA',
    'Agents',
    'Annotating',
    'ChartCheck',
    'Charting',
    'Checking',
    'Datasets',
    'Endpoints',
    'ExperimentResult',
    'Experimenting',
    'Files',
    'Forking',
    'McpServers',
    'Merging',
    'Operation',
    'Reading',
    'Rehearsing',
    'Retaining',
    'Role',
    'Route',
    'Steering',
    'implement',
    'operation',
    'operations_of',
    'parts_of',
    'result_of',
    'run_experiment',
]
