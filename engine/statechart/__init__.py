"""The statechart: patterns, their charts and their memory. Only `chart` imports `transitions`."""

from engine.statechart.deliverables import AgentWork, Deliverables
from engine.statechart.lenient_reading import read_leniently
from engine.statechart.shape_builder import START, build_shape, guard_words

__all__ = [
    'START',
    'AgentWork',
    'Deliverables',
    'build_shape',
    'guard_words',
    'read_leniently',
]
