"""Simulator: a walk through a pattern's chart, on real memory, without models and a journal."""

from engine.operations.rehearsal.simulator.choices import Choice, Kind
from engine.operations.rehearsal.simulator.moment import Moment
from engine.operations.rehearsal.simulator.simulator import Simulator, with_examples

__all__ = [
    'Choice',
    'Kind',
    'Moment',
    'Simulator',
    'with_examples',
]
